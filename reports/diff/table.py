"""A difference on the terminal: the settings, the answer, and tables of totals, causes and ops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from reports.diff.difference import OpChange, RunDifference
from reports.diff.words import DOING, sentences, time_words
from reports.words import count, percent

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

MOST_OPS = 12
"""Ops that are listed."""
NAME_WIDTH = 40
"""Characters of a name."""
MINUS = "\N{MINUS SIGN}"


def signed(number: int) -> str:
    """``1234`` as ``+1,234``."""
    return f"{'+' if number > 0 else MINUS if number < 0 else ''}{abs(number):,}"


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
    from rich.text import Text

    table = _table("Settings that differ", ">A", ">B")
    for one in diff.settings:
        table.add_row(Text(f"  {one.name}"), Text(one.a or "-"), Text(one.b or "-"))
    return table


def _totals_table(diff: RunDifference) -> Table:
    from rich.text import Text

    table = _table("Totals", ">A", ">B", ">change", ">", "")
    for total in (*diff.changed_totals, *(t for t in diff.moved if t.change)):
        share = percent(total.change / total.a) if total.a else ""
        name = total.name.removesuffix("_cycles").removesuffix("_bytes").replace("_", " ")
        name = name.replace("psram", "Psram used").replace("executed macs", "MACs done")
        table.add_row(
            Text(f"  {name}"),
            count(total.a),
            count(total.b),
            signed(total.change),
            share.replace("-", MINUS),
            total.unit,
        )
    return table


def _causes_table(diff: RunDifference) -> Table:
    """The waterfall from A's cycles to B's."""
    table = _table("From A to B, in cycles of the run", ">change", ">sum")
    running = diff.a.cycles
    table.add_row("  A", "", count(running))
    for part in diff.causes:
        running += part.cycles
        doing = DOING.get(part.cause, f"waiting ({part.cause})")
        table.add_row(f"  {doing}", signed(part.cycles), count(running))
    table.add_row("  B", "", count(diff.b.cycles))
    return table


def _ops_table(diff: RunDifference) -> Table:
    from rich.text import Text

    table = _table("Change by op", ">cycles", "mainly", ">loaded B", ">stored B")
    for op in diff.ops[:MOST_OPS]:
        table.add_row(
            Text(f"  {op.op}"),
            signed(op.cycles),
            Text(_mostly(op)),
            signed(op.loaded.change) if op.loaded.change else "",
            signed(op.stored.change) if op.stored.change else "",
        )
    if diff.rest:
        table.add_row("  (no op)", signed(diff.rest))
    return table


def _mostly(op: OpChange) -> str:
    if op.presence != "both":
        return op.presence
    return DOING.get(op.parts[0].cause, op.parts[0].cause) if op.parts else ""


def _ops_left_out(ops: Sequence[OpChange]) -> str:
    return f"  and {count(len(ops))} more ops, together {signed(sum(op.cycles for op in ops))} cycles"


def _table(title: str, *heads: str) -> Table:
    from rich.text import Text

    from reports.narrow_table import NarrowTable

    table = NarrowTable(box=None, padding=(0, 2, 0, 0), header_style="")
    for head in (f"{title}", *heads):
        right = head.startswith(">")
        table.add_column(
            Text(head.lstrip(">"), "bold" if head == title else ""),
            justify="right" if right else "left",
            no_wrap=right,
            overflow="fold",
            max_width=None if right else NAME_WIDTH,
        )
    return table
