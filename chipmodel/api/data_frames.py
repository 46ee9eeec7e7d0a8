"""Rows as a table of pandas or of another library that the user has; narwhals makes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Any, Literal, get_args

from chipmodel.errors import BadInput

Backend = Literal["pandas", "polars", "pyarrow"]
BACKENDS: tuple[Backend, ...] = get_args(Backend)


def data_frame(rows: Sequence[Mapping[str, object]], backend: Backend) -> Any:
    """The ``rows``, which all have the same keys, as a table of ``backend``.

    Raises BadInput for another backend and one that is not installed.
    """
    import narwhals

    if backend not in BACKENDS:
        raise BadInput(f"backend {backend!r} is not known", hint=f"one of {', '.join(BACKENDS)}")
    if find_spec(backend) is None:
        raise BadInput(f"{backend} is not installed", hint=f"pip install {backend}; pandas is installed")
    keys = list(rows[0]) if rows else []
    columns: dict[str, Any] = {key: [row[key] for row in rows] for key in keys}
    return narwhals.from_dict(columns, backend=backend).to_native()


def same_columns(
    rows: Sequence[Mapping[str, object]], leave_out: Sequence[str] = ()
) -> list[dict[str, object]]:
    """The rows with every column that one of them has, but those to leave out; None where a row has none."""
    columns = [key for key in dict.fromkeys(key for row in rows for key in row) if key not in leave_out]
    return [{column: row.get(column) for column in columns} for row in rows]
