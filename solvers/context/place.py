"""Place buffers in order of allocation, with look-ahead over those allocated next.

Combinations of places for a buffer and the next ones are formed, in which each is adjacent to a neighbour or
a border; of those that fit the memory, the one with the least external fragmentation decides the buffer's
place. The source, of which only part is public, takes all; here the best ``width``, in a core's memory so
many that a few buffers have all.

Source: the many-core patent (CN, 2023), heuristic (docs/references.md).
"""

from __future__ import annotations

from typing import NamedTuple

from chipmodel.errors import TimeIsOver
from chipmodel.model.plan import Plan, Problem
from solvers.context.live_blocks import (
    AllocationRequest,
    CandidatePlace,
    LiveBlocks,
    alive,
    places,
    put,
    requests,
)
from solvers.context.look_ahead import WeighedPlace, look_ahead
from solvers.core.bounds import contention
from solvers.core.deadline import NO_DEADLINE, Deadline

LOOK_AHEAD = 16
"""Buffers looked ahead: 8 are enough for the zoo, 16 help tight packings (bench/results/packing.md)."""
MAX_COMBINATIONS = 16
"""Combinations kept (measured: more gain little)."""
MAX_TRIES = 5
"""Memory sizes tried."""
MAX_PLACEMENTS = 40_000
"""Placements in all, each of a buffer in a combination: large problems get fewer tries, then fewer of it. In
a core's memory one try gets all, and every combination counts that differs in its live buffers (a problem of
8 buffers may have 5,000 of them at each); beyond that the best are kept, and a plan may be missed."""


def context_fit(
    problem: Problem,
    context: int = LOOK_AHEAD,
    in_core: bool = False,
    deadline: Deadline = NO_DEADLINE,
) -> Plan:
    """Offsets within the smallest memory of those tried, each buffer looking ``context`` buffers ahead.

    Claim 6 of the source takes every combination with all later buffers that fits the core's memory, which is
    the problem's capacity (``in_core``, where it has one), up to ``MAX_PLACEMENTS``. Of an ample memory that
    uses all, so otherwise smaller ones are tried.

    The first size is the largest live set. Where not everything fits, the memory grows, and the size halfway
    between the largest that was too small and the lowest peak so far is tried next; at last the capacity, if
    it lies between them. Holes of lifetimes are ignored. At the ``deadline`` the best so far is returned;
    raises TimeIsOver where there is none.
    """
    order = requests(problem)
    count = max(1, len(order))
    if in_core and problem.capacity is not None:
        return in_memory(problem, order, problem.capacity, count, max(1, MAX_PLACEMENTS // count), deadline)
    width = max(1, min(MAX_COMBINATIONS, MAX_PLACEMENTS // count))
    tries = max(1, min(MAX_TRIES, MAX_PLACEMENTS // (width * count)))
    low = contention(problem)
    best = in_memory(problem, order, low, context, width, deadline)
    peak = best.peak(problem)
    for left in range(tries - 1, 0, -1):
        if peak <= low + 1:
            break
        size = (low + peak) // 2
        if left == 1 and problem.capacity is not None and low < problem.capacity < peak:
            size = problem.capacity
        try:
            tried = in_memory(problem, order, size, context, width, deadline)
        except TimeIsOver:
            break
        if tried.peak(problem) < peak:
            best, peak = tried, tried.peak(problem)
        if peak > size:
            low = size
    return best


def in_memory(
    problem: Problem,
    order: list[AllocationRequest],
    memory: int,
    context: int,
    width: int | None = MAX_COMBINATIONS,
    deadline: Deadline = NO_DEADLINE,
) -> Plan:
    """One try: a memory of ``memory`` bytes, which grows as little as possible where no combination fits."""
    chosen = look_ahead(order, _CoreMemory(memory, ()), _options, _after, context, width, deadline)
    offsets = {request.number: place.offset for request, place in zip(order, chosen, strict=True)}
    return Plan({b.name: offsets.get(i, 0) for i, b in enumerate(problem.buffers)})


class _CoreMemory(NamedTuple):
    """A core's memory: its bytes, with all growth so far, and the live buffers."""

    memory: int
    blocks: LiveBlocks


def _options(core: _CoreMemory, request: AllocationRequest) -> list[WeighedPlace[CandidatePlace]]:
    """For each place the memory it needs and the external fragmentation it leaves."""
    found = places(alive(core.blocks, request.start), core.memory, request)
    return [(max(core.memory, p.offset + request.size), p.scattered, p) for p in found]


def _after(core: _CoreMemory, request: AllocationRequest, place: CandidatePlace) -> _CoreMemory:
    blocks = put(alive(core.blocks, request.start), request, place.offset)
    return _CoreMemory(max(core.memory, place.offset + request.size), blocks)
