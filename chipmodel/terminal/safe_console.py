"""rich's console without its dangers. Imports rich, so it is imported where something is drawn."""

from __future__ import annotations

import re
from collections.abc import Iterable
from copy import copy
from dataclasses import replace

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from chipmodel.terminal.escapes import printable, printable_line


class SafeConsole(Console):
    """A console whose texts are shown as they are.

    A ``Text`` is one line: cells and sentences hold names, and a name may hold a line feed. Layout that needs
    more lines uses plain strings. Nothing is taken for markup or emoji, and nothing is highlighted.
    """

    def __init__(self, stderr: bool = False) -> None:
        super().__init__(stderr=stderr, markup=False, emoji=False, highlight=False)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """What ``renderable`` is on the terminal, without a control character that is not rich's own."""
        safe = _safe_table(renderable) if isinstance(renderable, Table) else _safe(renderable)
        for segment in _trimmed(super().render(safe, options)):
            if segment.control or segment.text == printable(segment.text):
                yield segment
            else:
                yield Segment(printable(segment.text), segment.style)


def _trimmed(segments: Iterable[Segment]) -> Iterable[Segment]:
    """The segments without the blanks by which tables and wrapped lines reach the width of the terminal."""
    blanks: list[Segment] = []
    for segment in segments:
        whole = re.sub(" +\n", "\n", segment.text)
        text = whole.rstrip(" ")
        if text and text != "\n":
            yield from blanks
        if text:
            blanks.clear()
            yield Segment(text, segment.style, segment.control)
        if text != whole:
            blanks.append(Segment(whole[len(text) :], segment.style))


def _safe_table(table: Table) -> Table:
    """``table`` with safe cells, so that its columns are as wide as what they show."""
    safe = copy(table)
    safe.columns = [
        replace(
            column,
            header=_safe(column.header),
            _cells=[_safe(cell) for cell in column.cells],  # dataclasses.replace names fields as they are
        )
        for column in table.columns
    ]
    return safe


def _safe(renderable: RenderableType) -> RenderableType:
    """A text without its dangers; if it had any, then also without its styles, which count characters."""
    if isinstance(renderable, str):
        return printable(renderable)
    if not isinstance(renderable, Text):
        return renderable
    shown = printable_line(renderable.plain)
    if shown == renderable.plain:
        return renderable
    safe = renderable.blank_copy()
    safe.append(shown)
    return safe
