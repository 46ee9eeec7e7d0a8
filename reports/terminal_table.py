"""Tables for the terminal: readable at 80 columns and without colour."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table


def ruled_table(
    heads: Iterable[str], rows: Iterable[Iterable[str]] = (), title: str = "", unbroken: Collection[str] = ()
) -> Table:
    """A table with a line below its heads.

    Heads that begin with ``>`` are of numbers, set flush right and never wrapped, as are the columns whose
    heads are in ``unbroken``; all others fold. Cells are plain text: brackets in them are no markup.
    """
    from rich import box
    from rich.text import Text

    from reports.narrow_table import NarrowTable

    table = NarrowTable(
        box=box.SIMPLE_HEAD, title=title or None, title_justify="left", title_style="", pad_edge=False
    )
    for head in heads:
        right = head.startswith(">")
        table.add_column(
            head.lstrip(">"),
            justify="right" if right else "left",
            no_wrap=right or head in unbroken,
            overflow="fold",
        )
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    return table
