"""A difference in a few sentences, and as rows of tables for the terminal and the page."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from itertools import accumulate
from typing import NamedTuple

from reports.diff.difference import SHARING, DifferenceShare, OpChange, RunDifference, TotalPair
from reports.words import AWAITED, CAUSES, MINUS, count, percent, size

DOING = {
    "compute": "computing",
    **{cause: f"waiting for {awaited}" for cause, awaited in AWAITED.items()},
    "bank": CAUSES["bank"],
    "refresh": "waiting for Psram refreshes",
    "nothing issued": "idle, no transfer issued",
    "finished": "idle after the last op",
    SHARING: "sharing the work",
}
"""What an NPU spends cycles on, after the words "more" or "less"."""
EXPLAINED_SHARE = 0.8
"""Reasons are added to the sentence until they explain this share of the change."""
MOST_REASONS = 3
"""Reasons in a sentence."""
NEGLIGIBLE_SHARE = 0.02
"""A rest below this share of the change is left out of the sentence."""


def signed(number: int) -> str:
    """``1234`` as ``+1,234``."""
    return f"{'+' if number > 0 else MINUS if number < 0 else ''}{abs(number):,}"


def doing(cause: str) -> str:
    """What an NPU spends the cycles of a cause on."""
    return DOING.get(cause, f"waiting ({cause})")


def sentences(diff: RunDifference) -> list[str]:
    """Which run is faster, by how much and why; then fit, peak and Psram traffic, if they differ."""
    said = [_time_sentence(diff)]
    if diff.a.fits != diff.b.fits:
        said.append(f"{'B' if diff.b.fits else 'A'} fits the chip, {'A' if diff.b.fits else 'B'} does not.")
    changed = {total.name: total for total in diff.changed_totals}
    if "peak_bytes" in changed:
        peak = changed["peak_bytes"]
        said.append(f"The peak of B is {_amount(peak)} {'higher' if peak.change > 0 else 'lower'}.")
    moved = TotalPair("", "B", *(sum(getattr(t, side) for t in diff.moved) for side in ("a", "b")))
    if moved.change:
        said.append(f"B moves {_amount(moved)} {'more' if moved.change > 0 else 'less'} to and from Psram.")
    return said


def headline(diff: RunDifference) -> str:
    """What changed and why, in a sentence or two."""
    return " ".join(sentences(diff))


def _time_sentence(diff: RunDifference) -> str:
    if diff.same:
        return "A and B are the same run: the same settings, cycles, bytes and ops."
    change = diff.milliseconds
    share = percent(float(abs(change) / diff.a.milliseconds)) if diff.a.milliseconds else ""
    if not change:
        return f"B takes as long as A{': ' + _because(diff) if diff.causes else ''}."
    word = "slower" if change > 0 else "faster"
    of = f" ({share})" if share else ""
    return f"B is {time_words(abs(change))}{of} {word}: {_because(diff)}."


class _Reason(NamedTuple):
    words: str
    milliseconds: Fraction


def _because(diff: RunDifference) -> str:
    """The largest reasons for the change, and the rest, so that parts add up."""
    sign = 1 if diff.milliseconds >= 0 else -1
    named = (_clock_reason(diff, sign) + _reasons(diff, sign))[:MOST_REASONS]
    words = ", ".join(reason.words for reason in named)
    rest = diff.milliseconds - sum(reason.milliseconds for reason in named)
    if abs(rest) > NEGLIGIBLE_SHARE * abs(diff.milliseconds):
        words += f"; {time_words(abs(rest))} {'more' if rest > 0 else 'less'} by all other causes"
    return words


def _clock_reason(diff: RunDifference, sign: int) -> list[_Reason]:
    clock = diff.clock_milliseconds
    if not clock * sign > 0:
        return []
    word = "slower" if clock > 0 else "faster"
    return [_Reason(f"{time_words(abs(clock))} by the {word} clock", clock)]


def _reasons(diff: RunDifference, sign: int) -> list[_Reason]:
    """The largest causes in one direction, until most of it is explained."""
    pulling = [part for part in diff.causes if part.cycles * sign > 0]
    total = sum(abs(part.cycles) for part in pulling)
    reasons: list[_Reason] = []
    explained = 0
    for part in pulling:
        if reasons and explained >= EXPLAINED_SHARE * total:
            break
        reasons.append(_Reason(_reason(diff, part), part.cycles / (diff.b.core_mhz * 1000)))
        explained += abs(part.cycles)
    return reasons


def _reason(diff: RunDifference, part: DifferenceShare) -> str:
    time = time_words(abs(part.cycles) / (diff.b.core_mhz * 1000))
    if part.cause == SHARING:
        return f"{time} {'less' if part.cycles < 0 else 'more'} as {part.b} cores share the work of {part.a}"
    more = "more" if part.cycles > 0 else "less"
    return f"{time} {more} {doing(part.cause)}{_mostly_at(diff, part)}"


def _mostly_at(diff: RunDifference, cause: DifferenceShare) -> str:
    """The op with the largest share of a cause, and how large that is."""
    of_cause = [p for p in diff.parts if p.cause == cause.cause and p.op and p.cycles * cause.cycles > 0]
    if not of_cause:
        return ""
    worst = of_cause[0]
    share = abs(worst.cycles / cause.cycles)
    if share > 1:
        return f", {worst.op} alone {time_words(abs(worst.cycles) / (diff.b.core_mhz * 1000))}"
    how = "all of it" if len(of_cause) == 1 and share == 1 else "mostly" if share > 0.5 else "mainly"
    return f", {how} at {worst.op}"


def time_words(milliseconds: Fraction) -> str:
    """Wall time with three digits: ``3.10 ms``, ``840 µs``, ``12.3 µs``, ``0.00 ns``."""
    for unit, factor in (("ms", 1), ("µs", 1000), ("ns", 1_000_000)):
        value = float(milliseconds * factor)
        if value >= 1 or unit == "ns":
            return f"{value:,.{0 if value >= 99.95 else 1 if value >= 9.995 else 2}f} {unit}"
    raise AssertionError


def _amount(total: TotalPair) -> str:
    share = f" ({percent(abs(total.change) / total.a)})" if total.a else ""
    return size(abs(total.change)) + share


def setting_rows(diff: RunDifference) -> list[tuple[str, ...]]:
    """The settings that differ, with their values in A and B; ``1MiB`` as ``1 MiB``."""
    spaced = re.compile(r"(?<=\d)(?=[KMG]iB$)")
    return [(one.name, *(spaced.sub(" ", value or "-") for value in (one.a, one.b))) for one in diff.settings]


def total_rows(diff: RunDifference) -> list[tuple[str, ...]]:
    """The totals that differ: A, B, change, share of A, unit."""
    changed = (*diff.changed_totals, *(total for total in diff.moved if total.change))
    return [_total(total) for total in changed]


def _total(total: TotalPair) -> tuple[str, ...]:
    share = percent(total.change / total.a) if total.a else ""
    name = total.name.removesuffix("_bytes").replace("_", " ")
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
    bytes_ = (signed(change) if change else "" for change in (op.loaded_bytes, op.stored_bytes))
    return op.op, signed(op.cycles), _mostly(op), *bytes_


def _mostly(op: OpChange) -> str:
    if op.presence != "both":
        return op.presence
    return DOING.get(op.parts[0].cause, op.parts[0].cause) if op.parts else ""
