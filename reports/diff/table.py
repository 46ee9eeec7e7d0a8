"""A difference on the terminal: the settings, the answer, and tables of totals, causes and ops."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from reports.diff.difference import OpChange, RunDifference
from reports.diff.words import cause_rows, op_row, sentences, setting_rows, signed, time_words, total_rows
from reports.words import count

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

MOST_OPS = 12
"""Ops that are listed."""
NAME_WIDTH = 40
"""Characters of a name."""


def print_diff(diff: RunDifference, console: Console) -> None:
    """Print the differing settings, the answer and the tables to ``console``, the largest changes first."""
    from rich.text import Text

    for letter, answer in (("A", diff.a), ("B", diff.b)):
        run = f"{answer.settings['workload']} on {answer.settings['chip']}, {time_words(answer.milliseconds)}"
        text = Text.assemble((letter, "bold"), f"  {answer.file}: {run}")
        console.print(text, highlight=False, soft_wrap=True)
    if diff.settings:
        console.print()
        console.print(_settings_table(diff))
    console.print()
    for sentence in sentences(diff):
        console.print(Text(sentence), highlight=False)
    if diff.same:
        return
    for table, wanted in ((_totals_table, True), (_causes_table, diff.causes), (_ops_table, diff.ops)):
        if wanted:
            console.print()
            console.print(table(diff))
    if len(diff.ops) > MOST_OPS:
        console.print(_ops_left_out(diff.ops[MOST_OPS:]), highlight=False)


def _settings_table(diff: RunDifference) -> Table:
    return _table("Settings that differ", (">A", ">B"), setting_rows(diff))


def _totals_table(diff: RunDifference) -> Table:
    return _table("Totals", (">A", ">B", ">change", ">", ""), total_rows(diff))


def _causes_table(diff: RunDifference) -> Table:
    """The waterfall from A's cycles to B's."""
    return _table("From A to B, in cycles of the run", (">change", ">sum"), cause_rows(diff))


def _ops_table(diff: RunDifference) -> Table:
    rest = [("(no op)", signed(diff.rest))] if diff.rest else []
    rows = [op_row(op) for op in diff.ops[:MOST_OPS]]
    return _table("Change by op", (">cycles", "mainly", ">loaded B", ">stored B"), [*rows, *rest])


def _ops_left_out(ops: Sequence[OpChange]) -> str:
    return f"  and {count(len(ops))} more ops, together {signed(sum(op.cycles for op in ops))} cycles"


def _table(title: str, heads: Iterable[str], rows: Iterable[Sequence[str]]) -> Table:
    from rich.text import Text

    from reports.narrow_table import NarrowTable

    table = NarrowTable(box=None, padding=(0, 2, 0, 0), header_style="")
    for head in (title, *heads):
        right = head.startswith(">")
        table.add_column(
            Text(head.lstrip(">"), "bold" if head == title else ""),
            justify="right" if right else "left",
            no_wrap=right,
            overflow="fold",
            max_width=None if right else NAME_WIDTH,
        )
    for name, *cells in rows:
        table.add_row(*map(Text, (f"  {name}", *cells)))
    return table
