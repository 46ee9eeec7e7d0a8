"""A page of sentences, key figures and tables, for answers without a chart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reports.page_parts import SummaryTile
from reports.template import PLAIN, render


@dataclass(frozen=True, slots=True)
class PageTable:
    """A table with its title. A head that begins with ``>`` is of numbers; ``good`` says of each row whether
    its last cell is good news, where that is a verdict."""

    id: str
    title: str
    heads: tuple[str, ...]
    rows: Sequence[Sequence[str]]
    hint: str = ""
    good: Sequence[bool] = ()


@dataclass(frozen=True, slots=True)
class TablePage:
    """What the page says: ``name`` after the command, large, and ``on`` after it."""

    command: str
    name: str
    on: str
    sentences: tuple[str, ...]
    tiles: tuple[SummaryTile, ...]
    tables: tuple[PageTable, ...]


def render_tables(page: TablePage) -> str:
    """The page as text; a table without rows is left out."""
    return render("tables.html.j2", {"page": page}, PLAIN)
