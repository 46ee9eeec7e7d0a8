"""The live buffers of one memory at an allocation, and the places for the next buffer."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from typing import NamedTuple

from chipmodel.geometry.interval import hull
from chipmodel.geometry.rounding import round_up
from chipmodel.model.live_sets import external_fragmentation
from chipmodel.model.plan import Problem

LiveBlocks = tuple[tuple[int, int, int], ...]
"""Live buffers by rising offset: first byte, end, and position at which it is released."""


class AllocationRequest(NamedTuple):
    """A request for a buffer (by its number in the problem): its bytes, alignment and lifetime, and the kind
    of op that makes it, where that is known."""

    number: int
    size: int
    alignment: int
    start: int
    stop: int
    kind: str = ""


class CandidatePlace(NamedTuple):
    """A place adjacent to a live buffer or a border of the memory."""

    offset: int
    scattered: int
    """External fragmentation with the buffer there, in bytes."""


def requests(problem: Problem, kinds: Mapping[str, str] | None = None) -> list[AllocationRequest]:
    """Requests for all non-empty buffers by start of lifetime, those with the longest lifetime first. Holes
    of a lifetime are ignored. ``kinds``: the kinds of ops by the buffers that they make."""
    found = [(b, hull(b.live), i) for i, b in enumerate(problem.buffers) if b.bytes]
    made = [
        AllocationRequest(i, b.bytes, b.alignment, life.start, life.stop, (kinds or {}).get(b.name, ""))
        for b, life, i in found
        if len(life)
    ]
    return sorted(made, key=lambda r: (r.start, -r.stop))


def alive(blocks: LiveBlocks, position: int) -> LiveBlocks:
    """Those of ``blocks`` that are not yet released at ``position``."""
    return tuple([block for block in blocks if block[2] > position])


def free_blocks(blocks: LiveBlocks, memory: int) -> list[tuple[int, int]]:
    """First byte and end of the free blocks below, between and above ``blocks``, some of them empty.

    ``blocks`` end within ``memory`` bytes; the last free block extends to its end.
    """
    edges = [0]
    for low, high, _ in blocks:
        edges += (low, high)
    edges.append(memory)
    return list(zip(edges[::2], edges[1::2], strict=True))


def places(blocks: LiveBlocks, memory: int, request: AllocationRequest) -> list[CandidatePlace]:
    """At the bottom and at the top of each free block of ``memory`` bytes that is large enough, by rising
    offset; where none is, the lowest place above all ``blocks``, for which the memory has to grow.
    """
    free = free_blocks(blocks, memory)
    sizes = [high - low for low, high in free]
    size, step = request.size, request.alignment
    found: list[CandidatePlace] = []
    for number, (low, high) in enumerate(free):
        if high - low < size:
            continue
        lowest, highest = round_up(low, step), (high - size) // step * step
        if lowest <= highest:
            found.append(_placed(lowest, size, free, sizes, number))
            if lowest < highest:
                found.append(_placed(highest, size, free, sizes, number))
    if not found:
        low = round_up(free[-1][0], step)
        found.append(CandidatePlace(low, external_fragmentation([*sizes[:-1], low - free[-1][0]])))
    return found


def _placed(
    offset: int, size: int, free: list[tuple[int, int]], sizes: list[int], number: int
) -> CandidatePlace:
    """The place at ``offset`` in free block ``number``; ``sizes`` is changed only temporarily."""
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
