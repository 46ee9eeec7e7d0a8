"""What pages share: tables, charts, and pages of these."""

from __future__ import annotations

from collections.abc import Sequence

from chipmodel.records import dataclass
from reports.chart import Chart


@dataclass(frozen=True, slots=True)
class PageTable:
    """A table with its title. A head that begins with ``>`` is of numbers; ``good`` says of each row whether
    its last cell is good news, where that is a verdict, None where it is neither. The ``hint`` is for the
    page, where there is room; a ``remark`` stands below the table on the terminal as well."""

    id: str
    title: str
    heads: tuple[str, ...]
    rows: Sequence[Sequence[str]]
    hint: str = ""
    good: Sequence[bool | None] = ()
    remark: str = ""
    most: int | None = None
    """Rows on the terminal; None for all."""
    unbroken: tuple[str, ...] = ()
    """Heads of columns that a terminal never wraps."""
    wide: tuple[str, ...] = ()
    """Heads of columns that a terminal has no room for."""

    @property
    def narrow(self) -> tuple[list[str], list[list[str]]]:
        """Heads and rows, as many as there is room for on a terminal."""
        kept = [number for number, head in enumerate(self.heads) if head not in self.wide]
        rows = self.rows[: self.most]
        return [self.heads[number] for number in kept], [[row[number] for number in kept] for row in rows]


@dataclass(frozen=True, slots=True)
class PageChart:
    """A chart with its title and a hint; it is left out where it has no traces."""

    id: str
    title: str
    hint: str
    chart: Chart


@dataclass(frozen=True, slots=True)
class TablePage:
    """What the page says: ``name`` after the command, large, and ``on`` after it. The terminal has the same
    sentences, and the same tables as far as there is room, but no charts."""

    command: str
    name: str
    on: str
    sentences: tuple[str, ...]
    tables: tuple[PageTable, ...]
    charts: tuple[PageChart, ...] = ()
