"""Rows as a table of whichever library the user has; narwhals makes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Any, Literal, get_args

from chipmodel.errors import BadInput

Backend = Literal["pandas", "polars", "pyarrow"]
BACKENDS: tuple[Backend, ...] = get_args(Backend)


def data_frame(rows: Sequence[Mapping[str, object]], backend: Backend | None = None) -> Any:
    """The ``rows``, which all have the same keys, as a table of ``backend`` or the first one installed.

    Raises BadInput for another backend and one that is not installed.
    """
    import narwhals

    name = _installed(backend)
    keys = list(rows[0]) if rows else []
    columns: dict[str, Any] = {key: [row[key] for row in rows] for key in keys}
    return narwhals.from_dict(columns, backend=name).to_native()


def same_columns(
    rows: Sequence[Mapping[str, object]], leave_out: Sequence[str] = ()
) -> list[dict[str, object]]:
    """The rows with every column that one of them has, but those to leave out; None where a row has none."""
    columns = [key for key in dict.fromkeys(key for row in rows for key in row) if key not in leave_out]
    return [{column: row.get(column) for column in columns} for row in rows]


def _installed(backend: Backend | None) -> Backend:
    if backend is not None and backend not in BACKENDS:
        raise BadInput(f"backend {backend!r} is not known", hint=f"one of {', '.join(BACKENDS)}")
    wanted = BACKENDS if backend is None else (backend,)
    for name in wanted:
        if find_spec(name):
            return name
    what = "no library of tables is installed" if backend is None else f"{backend} is not installed"
    raise BadInput(what, hint=f"pip install {wanted[0]}; rows() needs none")
