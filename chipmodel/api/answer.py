"""What all answers can do: become values, text, a page, a table."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from html import escape
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar, Generic, Literal, TypeVar, get_args

from chipmodel.errors import BadInput
from chipmodel.files.atomic_write import write_atomically
from chipmodel.files.document import document
from chipmodel.files.text_file import json_text
from chipmodel.records import dataclass
from reports.page_parts import TablePage
from reports.pictures import figure_of
from reports.table_page import render_tables
from reports.terminal_page import print_tables
from reports.terminal_table import Console

T = TypeVar("T")
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


class Answer(ABC):
    """An answer of a call: frozen, checked, the same for the same question."""

    __slots__ = ()

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """The document that the command line writes with ``--json``."""

    @abstractmethod
    def rows(self) -> Sequence[Mapping[str, Any]]:
        """The rows of ``to_dataframe``: every one has the same keys."""

    @abstractmethod
    def headline(self) -> str:
        """The answer in a sentence."""

    def to_json(self) -> str:
        """``to_dict`` as JSON text, the same bytes for the same answer."""
        return json_text(self.to_dict())

    def to_dataframe(self, backend: Backend = "pandas") -> Any:
        """The rows as a table of pandas, polars or pyarrow. Raises BadInput where that is not installed."""
        return data_frame(self.rows(), backend)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.headline()}>"

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return f"<p>{escape(self.headline())}</p>"

    @abstractmethod
    def to_html(self) -> str:
        """One self-contained page, as the command line writes it with ``--html``."""

    def write_html(self, path: str | Path) -> None:
        """Write ``to_html`` to a file, whole or not at all. Raises BadInput where that cannot be."""
        write_atomically(Path(path), self.to_html())


class TableAnswer(Answer):
    """An answer whose page is sentences, tables and charts; a terminal shows as much as it has room for."""

    __slots__ = ()

    @abstractmethod
    def table_page(self) -> TablePage:
        """What the page says."""

    def to_html(self) -> str:
        """One self-contained page, as the command line writes it with ``--html``."""
        return render_tables(self.table_page())

    def figures(self) -> dict[str, Any]:
        """The charts of the page by their names, each a ``plotly.graph_objects.Figure``."""
        return {chart.id: figure_of(chart.chart) for chart in self.table_page().charts if chart.chart.traces}

    def print_on(self, console: Console) -> None:
        """Print sentences and tables on a console of rich, as the command line does."""
        print_tables(self.table_page(), console)


@dataclass(frozen=True, slots=True)
class Telling(Generic[T]):
    """How ``reports`` tells a value: in a sentence, as sentences and tables."""

    headline: Callable[[T], str]
    page: Callable[[T], TablePage]


class ToldAnswer(TableAnswer):
    """An answer that is told from its first field, a value of the model."""

    __slots__ = ()
    telling: ClassVar[Telling[Any]]

    @property
    def _told(self) -> Any:
        return getattr(self, fields(self)[0].name)  # type: ignore[arg-type]

    def headline(self) -> str:
        """The answer in a sentence or two."""
        return self.telling.headline(self._told)

    def to_dict(self) -> dict[str, Any]:
        """The document that the command line writes with ``--json``."""
        return document(self._told)

    def table_page(self) -> TablePage:
        """What the page says."""
        return self.telling.page(self._told)
