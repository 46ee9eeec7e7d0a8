"""The tables of a difference as texts, for the terminal and the page alike."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate

from reports.diff.difference import OpChange, RunDifference, TotalPair
from reports.diff.words import DOING, MINUS, doing, signed
from reports.words import count, percent


def setting_rows(diff: RunDifference) -> list[tuple[str, ...]]:
    """The settings that differ, with their values in A and B."""
    return [(one.name, one.a or "-", one.b or "-") for one in diff.settings]


def total_rows(diff: RunDifference) -> list[tuple[str, ...]]:
    """The totals that differ: A, B, change, share of A, unit."""
    changed = (*diff.changed_totals, *(total for total in diff.moved if total.change))
    return [_total(total) for total in changed]


def _total(total: TotalPair) -> tuple[str, ...]:
    share = percent(total.change / total.a) if total.a else ""
    name = total.name.removesuffix("_cycles").removesuffix("_bytes").replace("_", " ")
    name = name.replace("psram", "Psram used").replace("executed macs", "MACs done")
    numbers = (count(total.a), count(total.b), signed(total.change))
    return name, *numbers, share.replace("-", MINUS), total.unit


def cause_rows(diff: RunDifference) -> Iterator[tuple[str, str, str]]:
    """The way from A's cycles to B's: each cause, its change, and the sum so far."""
    sums = accumulate((part.cycles for part in diff.causes), initial=diff.a.cycles)
    yield "A", "", count(next(sums))
    for part, running in zip(diff.causes, sums, strict=True):
        yield doing(part.cause), signed(part.cycles), count(running)
    yield "B", "", count(diff.b.cycles)


def op_row(op: OpChange) -> tuple[str, ...]:
    """An op: its change in cycles, what makes most of it, and the changes of bytes loaded and stored."""
    bytes_ = (signed(total.change) if total.change else "" for total in (op.loaded, op.stored))
    return op.op, signed(op.cycles), _mostly(op), *bytes_


def _mostly(op: OpChange) -> str:
    if op.presence != "both":
        return op.presence
    return DOING.get(op.parts[0].cause, op.parts[0].cause) if op.parts else ""
