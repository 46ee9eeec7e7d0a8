"""What sets the lower bound on the time, and how full Psram is, in words."""

from __future__ import annotations

from collections import Counter

from chipmodel.answers.result import ExactProof
from chipmodel.model.schedule import Schedule
from chipmodel.model.time_bound import Binding, TimeBound
from reports.words import count, percent, ratio, shortened

UNITS = {"npu": "the NPU", "dma": "the DMA engine"}
MOST_SHOWN = 4
"""Segments that are listed one by one."""


def bound_words(bound: TimeBound) -> str:
    """Which unit is busy at least how long in which segments of the run: all segments where there are few,
    else the sums and the largest. Empty for a bound of 0."""
    bindings = bound.bindings
    if len(bindings) <= MOST_SHOWN:
        return "; ".join(map(_segment, bindings))
    sums = [
        f"{UNITS[unit]} {count(sum(b.cycles for b in of_unit))} cycles in {len(of_unit)} segments"
        for unit in UNITS
        if (of_unit := [b for b in bindings if b.unit == unit])
    ]
    largest = max(bindings, key=lambda b: b.cycles)
    return f"{', '.join(sums)}; most of it: {_segment(largest)}"


def space_words(bound: TimeBound) -> str:
    """The plans that a bound holds for, with how many ways to run neighbours were compared."""
    return f"{count(bound.ways)} {bound.space}" if bound.ways else bound.space


def proof_words(proof: ExactProof, cycles: int) -> str:
    """What CP-SAT proved of the listed ways, and of a plan of so many cycles."""
    bound = f"no plan of these {count(proof.listed)} ways takes fewer than {count(proof.bound)} cycles"
    if cycles <= proof.bound:
        return f"{bound}, so the plan is the best of them"
    more = "" if proof.model == "optimal" else ", in the time that it had"
    gap = percent(ratio(cycles - proof.bound, proof.bound))
    built = f"the plan is {gap} above, the best of {count(proof.tried)} built"
    return f"{bound}, transfers as a fluid{more}; {built}"


def _segment(binding: Binding) -> str:
    where = (
        f"from {binding.first} to {binding.last}" if binding.first != binding.last else f"at {binding.last}"
    )
    full = ", because memory has no room to load more before" if binding.full else ""
    return f"{UNITS[binding.unit]} {where}, {count(binding.cycles)} cycles{full}"


def late_ops(schedule: Schedule) -> tuple[tuple[str, int], ...]:
    """The ops whose weights come too late, with the cycles that one execution waits, the most first."""
    late_cycles = Counter[str]()
    for late in schedule.late:
        late_cycles[late.op] += late.cycles
    return tuple(sorted(late_cycles.items(), key=lambda late: (-late[1], late[0])))


def lateness(late: tuple[tuple[str, int], ...]) -> str:
    """The worst ops in words."""
    return shortened([f"{op} by {count(cycles)} cycles" for op, cycles in late], 4)
