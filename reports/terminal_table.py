"""Tables for the terminal: readable at 80 columns and without colour.

Heads that begin with ``>`` are of numbers, set flush right. Cells are plain text: brackets in them are no
markup.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console as Console
    from rich.table import Table as Table
else:
    # For annotations of other modules: rich is imported where something is drawn.
    Console = Table = object

MOST_WIDE = 6
"""Columns that have a blank more between them."""
FigureRow = tuple[str, str, str, str]
"""Label, number, unit, remark."""


def print_line(console: Console, *parts: str | tuple[str, str]) -> None:
    """Print texts on one line, some of them with a style; nothing in them is markup."""
    from rich.text import Text

    console.print(Text.assemble(*parts), highlight=False)


def ruled_table(heads: Sequence[str], rows: Iterable[Iterable[str]], unbroken: Collection[str] = ()) -> Table:
    """A table with a line below its heads. Numbers are never wrapped, nor are the columns whose heads are in
    ``unbroken``: where a terminal is too narrow for them, an ellipsis says so. All others fold."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    left = 0 if len(heads) > MOST_WIDE else 1
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, left), pad_edge=False)
    for head in heads:
        whole = head.startswith(">") or head in unbroken
        table.add_column(
            head.lstrip(">"),
            justify="right" if head.startswith(">") else "left",
            no_wrap=whole,
            overflow="ellipsis" if whole else "fold",
        )
    for row in rows:
        table.add_row(*map(Text, row))
    return table


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
