"""Markdown: tables, and text that is no markup."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from chipmodel.terminal.escapes import visible


def escaped(text: str) -> str:
    """``text`` with nothing in it that Markdown or a terminal would take for more than text."""
    plain = visible(text)
    for sign in "\\|<>*_`[]":
        plain = plain.replace(sign, f"\\{sign}")
    return plain


def markdown_table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of these texts; a column whose head begins with ``>`` is aligned to the right."""
    rules = ["---:" if head.startswith(">") else "---" for head in heads]
    texts = [[escaped(cell) for cell in line] for line in ([head.removeprefix(">") for head in heads], *rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in (texts[0], rules, *texts[1:]))
