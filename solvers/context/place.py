"""S3: buffers in allocation-time order, each placed with a look-ahead over those that are allocated after it.

A buffer's context are the next buffers in that order. Combinations of places for it and its context are
formed, in which each lies against a neighbour or a border, often in the place that an earlier one released;
of those that fit the memory, the one that leaves the least external fragmentation decides where the buffer
goes. The source (a patent publication of which only part is public) does not say how many combinations are
formed; here the best ``width``.
"""

from __future__ import annotations

from typing import NamedTuple

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

LOOK_AHEAD = 16
"""Buffers of the context: 8 are enough for the zoo, 16 gain where packings are tight (bench/RESULTS.md)."""
MAX_COMBINATIONS = 16
"""Combinations that are kept."""
MAX_TRIES = 5
"""Sizes of the memory that are tried."""
MAX_PLACEMENTS = 40_000
"""Placements, one buffer in one combination each: large problems have fewer tries, then fewer
combinations."""


def context_fit(problem: Problem, context: int = LOOK_AHEAD) -> Plan:
    """Offsets within the smallest memory of those tried, each buffer looking ``context`` buffers ahead.

    First the memory has as many bytes as are alive at once; where not everything fits it grows, and the sizes
    between what was too small and the lowest peak so far are halved, the capacity being tried too if it is in
    there. Lifetimes count from their first position to their last.
    """
    order = requests(problem)
    count = max(1, len(order))
    width = max(1, min(MAX_COMBINATIONS, MAX_PLACEMENTS // count))
    tries = max(1, min(MAX_TRIES, MAX_PLACEMENTS // (width * count)))
    low = contention(problem)
    best = in_memory(problem, order, low, context, width)
    peak = best.peak(problem)
    for left in range(tries - 1, 0, -1):
        if peak <= low + 1:
            break
        size = (low + peak) // 2
        if left == 1 and problem.capacity is not None and low < problem.capacity < peak:
            size = problem.capacity
        tried = in_memory(problem, order, size, context, width)
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
) -> Plan:
    """One try: a memory of ``memory`` bytes that grows by as little as possible where no combination fits
    it."""
    chosen = look_ahead(order, _CoreMemory(memory, ()), _options, _after, context, width)
    offsets = {request.number: place.offset for request, place in zip(order, chosen, strict=True)}
    return Plan({b.name: offsets.get(i, 0) for i, b in enumerate(problem.buffers)})


class _CoreMemory(NamedTuple):
    """A core's memory: its bytes, grown as far as was needed, and who is alive."""

    memory: int
    blocks: LiveBlocks


def _options(core: _CoreMemory, request: AllocationRequest) -> list[WeighedPlace[CandidatePlace]]:
    """The memory that each place needs, which is all there is where it fits, and how scattered it leaves
    that."""
    found = places(alive(core.blocks, request.start), core.memory, request)
    return [(max(core.memory, p.offset + request.size), p.scattered, p) for p in found]


def _after(core: _CoreMemory, request: AllocationRequest, place: CandidatePlace) -> _CoreMemory:
    blocks = put(alive(core.blocks, request.start), request, place.offset)
    return _CoreMemory(max(core.memory, place.offset + request.size), blocks)
