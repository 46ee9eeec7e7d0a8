"""Tables for the terminal: readable at 80 columns and without colour.

Heads that begin with ``>`` are of numbers, set flush right. Cells are plain text: brackets in them are no
markup.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console as Console
    from rich.table import Table as Table
else:
    # For annotations of other modules: rich is imported where something is drawn.
    Console = Table = object

MOST_WIDE, MOST_APART = 7, 6
"""Columns that have a blank more between them: of tables with a line below their heads, and without."""
WIDTHS: Mapping[str, int] = {
    "if or loop": 18,
    "arm": 18,
    "waited for": 34,
    "in op": 21,
    "cascade": 30,
    "op": 24,
    "kind": 14,
    "step": 24,
    "transfer": 28,
}
"""Characters of columns of names in tables without lines, at most."""
NO_WIDTHS: Mapping[str, int] = {}
FigureRow = tuple[str, str, str, str]
"""Label, number, unit, remark."""


def print_line(console: Console, *parts: str | tuple[str, str]) -> None:
    """Print texts on one line, some of them with a style; nothing in them is markup."""
    from rich.text import Text

    console.print(Text.assemble(*parts), highlight=False)


def ruled_table(
    heads: Iterable[str], rows: Iterable[Iterable[str]] = (), title: str = "", unbroken: Collection[str] = ()
) -> Table:
    """A table with a line below its heads. Numbers are never wrapped, nor are the columns whose heads are in
    ``unbroken``: where a terminal is too narrow for them, an ellipsis says so. All others fold."""
    from rich import box
    from rich.table import Table

    heads = list(heads)
    left = 0 if len(heads) > MOST_WIDE else 1
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, left), pad_edge=False)
    table.title, table.title_justify, table.title_style = title or None, "left", ""
    whole = {head for head in heads if head.startswith(">") or head in unbroken}
    return _filled(table, heads, rows, whole)


def _filled(
    table: Table,
    heads: Iterable[str],
    rows: Iterable[Iterable[str]],
    whole: Collection[str],
    widths: Mapping[str, int] = NO_WIDTHS,
) -> Table:
    """``table`` with columns and rows; the columns in ``whole`` are never wrapped."""
    from rich.text import Text

    for head in heads:
        table.add_column(
            head.lstrip(">"),
            justify="right" if head.startswith(">") else "left",
            no_wrap=head in whole,
            overflow="ellipsis" if head in whole else "fold",
            max_width=widths.get(head),
        )
    for row in rows:
        table.add_row(*map(Text, row))
    return table


def plain_table(title: str, heads: Collection[str], rows: Iterable[Iterable[str]]) -> Table:
    """A table without lines below a bold title, no cell wrapped."""
    from rich.table import Table
    from rich.text import Text

    bold, gap = Text(f"\n{title}", "bold"), 1 if len(heads) > MOST_APART else 2
    plain = Table(title=bold, title_justify="left", box=None, padding=(0, gap, 0, 0), header_style="")
    return _filled(plain, heads, rows, heads, WIDTHS)


def figures_table(sections: Mapping[str, Iterable[FigureRow]]) -> Table:
    """The figures of each section below its title; one without a title has none."""
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 1))
    table.add_column(no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for title, rows in sections.items():
        if title:
            table.add_row(Text(f"\n{title}", "bold"))
        for label, *cells in rows:
            table.add_row(*map(Text, (f"  {label}", *cells)))
    return table
