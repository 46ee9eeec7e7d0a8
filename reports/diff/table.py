"""A difference on the terminal: the settings, the answer, and tables of totals, causes and ops."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from reports.diff.difference import RunDifference
from reports.diff.words import cause_rows, op_row, sentences, setting_rows, signed, time_words, total_rows
from reports.terminal_table import Console, Table, print_line
from reports.words import count

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
        console.print(_table("Settings that differ", (">A", ">B"), setting_rows(diff)))
    console.print()
    for sentence in sentences(diff):
        print_line(console, sentence)
    if diff.same:
        return
    tables = [_table("Totals", (">A", ">B", ">change", ">", ""), total_rows(diff))]
    if diff.causes:
        # The waterfall from A's cycles to B's.
        tables.append(_table("From A to B, in cycles of the run", (">change", ">sum"), cause_rows(diff)))
    if diff.ops:
        rows = [*map(op_row, diff.ops[:MOST_OPS]), *([("(no op)", signed(diff.rest))] if diff.rest else [])]
        tables.append(_table("Change by op", (">cycles", "mainly", ">loaded B", ">stored B"), rows))
    for table in tables:
        console.print()
        console.print(table)
    if left_out := diff.ops[MOST_OPS:]:
        together = signed(sum(op.cycles for op in left_out))
        console.print(f"  and {count(len(left_out))} more ops, together {together} cycles", highlight=False)


def _table(title: str, heads: Iterable[str], rows: Iterable[Sequence[str]]) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, padding=(0, 2, 0, 0), header_style="")
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
