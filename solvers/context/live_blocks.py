"""What is alive in one memory at the moment of an allocation, and where the next buffer may be put beside
it."""

from __future__ import annotations

from bisect import bisect_left
from typing import NamedTuple

from chipmodel.model.fragmentation import external_fragmentation
from chipmodel.model.interval import hull
from chipmodel.model.plan import Problem
from solvers.core.alignment import align

LiveBlocks = tuple[tuple[int, int, int], ...]
"""Live buffers by rising offset: first byte, end, and the position at which they are released."""


class AllocationRequest(NamedTuple):
    """A buffer (by its number in the problem) in allocation-time order: its bytes, and the positions of
    its life."""

    number: int
    size: int
    alignment: int
    start: int
    stop: int


class CandidatePlace(NamedTuple):
    """A place that touches a live buffer or a border of the memory."""

    offset: int
    scattered: int
    """External fragmentation after it is taken, in bytes."""


def requests(problem: Problem) -> list[AllocationRequest]:
    """The buffers that have bytes and are alive at some time, by when they are first alive; of those that
    begin together the one that lives longest first. In the holes of a lifetime its bytes stay taken."""
    found = [(b, hull(b.live), i) for i, b in enumerate(problem.buffers) if b.bytes]
    made = [
        AllocationRequest(i, b.bytes, b.alignment, life.start, life.stop) for b, life, i in found if len(life)
    ]
    return sorted(made, key=lambda r: (r.start, -r.stop))


def alive(blocks: LiveBlocks, position: int) -> LiveBlocks:
    """Those of ``blocks`` that are not released by ``position``."""
    return tuple([block for block in blocks if block[2] > position])


def free_blocks(blocks: LiveBlocks, memory: int) -> list[tuple[int, int]]:
    """First byte and end of what is free below, between and above ``blocks``, some of it empty.

    ``blocks`` end within ``memory`` bytes; the last free block is all that is left of it.
    """
    edges = [0]
    for low, high, _ in blocks:
        edges += (low, high)
    edges.append(memory)
    return list(zip(edges[::2], edges[1::2], strict=True))


def places(blocks: LiveBlocks, memory: int, request: AllocationRequest) -> list[CandidatePlace]:
    """At the bottom and at the top of each free block of ``memory`` bytes that is large enough, by rising
    offset; where none is, the lowest place above all ``blocks``, to which the memory has to grow.

    The released place of an earlier buffer is free again, so whoever reuses it lies against the same
    neighbours.
    """
    free = free_blocks(blocks, memory)
    sizes = [high - low for low, high in free]
    size, step = request.size, request.alignment
    found: list[CandidatePlace] = []
    for number, (low, high) in enumerate(free):
        if high - low < size:
            continue
        lowest, highest = align(low, step), (high - size) // step * step
        if lowest <= highest:
            found.append(_placed(lowest, size, free, sizes, number))
            if lowest < highest:
                found.append(_placed(highest, size, free, sizes, number))
    if not found:
        low = align(free[-1][0], step)
        found.append(CandidatePlace(low, external_fragmentation([*sizes[:-1], low - free[-1][0]])))
    return found


def _placed(
    offset: int, size: int, free: list[tuple[int, int]], sizes: list[int], number: int
) -> CandidatePlace:
    """Cuts free block ``number``, in ``sizes`` only for as long as it is looked at."""
    low, high = free[number]
    sizes[number] = offset - low
    sizes.append(high - offset - size)
    scattered = external_fragmentation(sizes)
    sizes.pop()
    sizes[number] = high - low
    return CandidatePlace(offset, scattered)


def put(blocks: LiveBlocks, request: AllocationRequest, offset: int) -> LiveBlocks:
    """``blocks`` with ``request`` at ``offset``."""
    block = (offset, offset + request.size, request.stop)
    at = bisect_left(blocks, block)
    return (*blocks[:at], block, *blocks[at:])
