"""Tables that stay readable on narrow terminals: where the columns have no room, each row is a few lines.

A row of a table with heads becomes its first cell and a line ``head: value`` for each other one; a row
without heads becomes its label with its number, and the remark in its last column below.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.measure import Measurement
from rich.padding import Padding
from rich.table import Column, Table
from rich.text import Text

WIDE_COLUMNS = 60
"""On terminals at least so wide, tables shorten and fold their cells instead."""
GAP = 3
"""Characters between two columns, at most."""
INDENT = 2


class NarrowTable(Table):
    """A rich ``Table`` that writes its rows one below the other where its columns need more characters than a
    narrow terminal has."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        room = options.max_width
        if room >= WIDE_COLUMNS or needed_columns(self, console, options) <= room:
            yield from super().__rich_console__(console, options)
            return
        if self.title:
            yield _text(console, self.title)
        cells = [[_text(console, cell) for cell in column.cells] for column in self.columns]
        heads = [_text(console, column.header) for column in self.columns]
        titled = [" ".join(head.plain.split()) for head in heads]
        if any(titled):
            yield _folded(heads[0], 0)
        for row in zip(*cells, strict=True):
            yield from _labelled(titled, row) if any(titled) else _unlabelled(row)


def needed_columns(table: Table, console: Console, options: ConsoleOptions) -> int:
    """Characters for which no column is shortened or splits a word."""
    wide = options.update(max_width=1 << 16)
    widths = [_needed_column(column, console, wide) for column in table.columns]
    return sum(widths) + GAP * (len(widths) - 1)


def _needed_column(column: Column, console: Console, options: ConsoleOptions) -> int:
    widest = 0
    for cell in (column.header, *column.cells):
        measured = Measurement.get(console, options, cell)
        widest = max(widest, measured.maximum if column.no_wrap else measured.minimum)
    return widest if column.max_width is None else min(widest, column.max_width)


def _labelled(heads: Sequence[str], row: Sequence[Text]) -> Iterator[RenderableType]:
    """``conv1``, and below it ``cycles: 1,521``."""
    first, *rest = row
    yield _folded(first, 0)
    for head, cell in zip(heads[1:], rest, strict=True):
        if cell.plain.strip():
            yield _folded(Text.assemble(f"{head}: " if head else "", _stripped(cell)), INDENT)


def _unlabelled(row: Sequence[Text]) -> Iterator[RenderableType]:
    """``peak  54,400 B``, and below it ``13.8% of 393,216 B``; a row of one cell is a title."""
    label, *rest = row
    remarks = rest[2:]
    indent = len(label.plain) - len(label.plain.lstrip(" "))
    brief = [_stripped(cell) for cell in rest[:2] if cell.plain.strip()]
    yield _folded(Text(" ").join([_stripped(label) if brief else label, *brief]), indent if brief else 0)
    for remark in remarks:
        if remark.plain.strip():
            yield _folded(_stripped(remark), indent + INDENT)


def _folded(text: Text, indent: int) -> RenderableType:
    copied = text.copy()
    copied.no_wrap, copied.overflow, copied.justify = False, "fold", "left"
    return Padding(copied, (0, 0, 0, indent), expand=False)


def _text(console: Console, cell: RenderableType) -> Text:
    """A cell as rich would print it: a string may hold markup."""
    return cell if isinstance(cell, Text) else console.render_str(str(cell), highlight=False)


def _stripped(text: Text) -> Text:
    """A copy without blanks around it."""
    copied = text.copy()
    copied.rstrip()
    return copied[len(copied.plain) - len(copied.plain.lstrip()) :]
