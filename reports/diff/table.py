"""A difference on the terminal: the settings, the answer, and tables of totals, causes and ops."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

from reports.diff.difference import OpChange, RunDifference, TotalPair
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
    rows = [(one.name, one.a or "-", one.b or "-") for one in diff.settings]
    return _table("Settings that differ", (">A", ">B"), rows)


def _totals_table(diff: RunDifference) -> Table:
    changed = (*diff.changed_totals, *(total for total in diff.moved if total.change))
    return _table("Totals", (">A", ">B", ">change", ">", ""), map(_total, changed))


def _total(total: TotalPair) -> tuple[str, ...]:
    share = percent(total.change / total.a) if total.a else ""
    name = total.name.removesuffix("_cycles").removesuffix("_bytes").replace("_", " ")
    name = name.replace("psram", "Psram used").replace("executed macs", "MACs done")
    numbers = (count(total.a), count(total.b), signed(total.change))
    return name, *numbers, share.replace("-", MINUS), total.unit


def _causes_table(diff: RunDifference) -> Table:
    """The waterfall from A's cycles to B's."""
    sums = accumulate((part.cycles for part in diff.causes), initial=diff.a.cycles)
    rows = [("A", "", count(next(sums)))]
    rows += [
        (DOING.get(part.cause, f"waiting ({part.cause})"), signed(part.cycles), count(running))
        for part, running in zip(diff.causes, sums, strict=True)
    ]
    heads = (">change", ">sum")
    return _table("From A to B, in cycles of the run", heads, [*rows, ("B", "", count(diff.b.cycles))])


def _ops_table(diff: RunDifference) -> Table:
    rows: list[tuple[str, ...]] = [
        (
            *(op.op, signed(op.cycles), _mostly(op)),
            *(signed(total.change) if total.change else "" for total in (op.loaded, op.stored)),
        )
        for op in diff.ops[:MOST_OPS]
    ]
    rest = [("(no op)", signed(diff.rest))] if diff.rest else []
    return _table("Change by op", (">cycles", "mainly", ">loaded B", ">stored B"), [*rows, *rest])


def _mostly(op: OpChange) -> str:
    if op.presence != "both":
        return op.presence
    return DOING.get(op.parts[0].cause, op.parts[0].cause) if op.parts else ""


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
