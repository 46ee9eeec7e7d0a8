"""The memory planner of TensorFlow Lite Micro, step by step, with offsets that are given beforehand.

Buffers with an offset come first, in their order; then the others, largest first, of equal ones the one that
was added last. Each takes the lowest gap between the buffers so far that are alive with it, in the order of
their offsets.

Source: tensorflow/lite/micro/memory_planner/greedy_memory_planner.cc.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Sequence

ONLINE = -1
"""The offset of a buffer that the planner is to place."""
Lifetime = tuple[int, int]
"""First and last time, both included."""


def greedy_offsets(sizes: Sequence[int], lives: Sequence[Lifetime], given: Sequence[int]) -> list[int]:
    """Return the offset of every buffer; ``given`` are those that are known, ``ONLINE`` for the others."""
    offsets = list(given)
    last_first = range(len(given) - 1, -1, -1)
    online = [index for index in last_first if given[index] == ONLINE]
    placed: list[tuple[int, int, int]] = []
    for rank, index in enumerate(number for number, offset in enumerate(given) if offset != ONLINE):
        insort(placed, (offsets[index], rank, index))
    for index in sorted(online, key=lambda each: -sizes[each]):
        offsets[index] = _lowest_gap(placed, offsets, sizes, lives, index)
        insort(placed, (offsets[index], len(placed), index))
    return offsets


def _lowest_gap(
    placed: Sequence[tuple[int, int, int]],
    offsets: Sequence[int],
    sizes: Sequence[int],
    lives: Sequence[Lifetime],
    index: int,
) -> int:
    """Where ``index`` fits below, between or above the buffers that are alive with it."""
    first, last = lives[index]
    end = 0
    for offset, _, other in placed:
        if lives[other][0] > last or lives[other][1] < first:
            continue
        if offset - end >= sizes[index]:
            break
        end = max(end, offset + sizes[other])
    return end


def peak(sizes: Sequence[int], offsets: Sequence[int]) -> int:
    """Return the end of the highest buffer."""
    return max((size + offset for size, offset in zip(sizes, offsets, strict=True)), default=0)
