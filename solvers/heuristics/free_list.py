"""Static offsets by simulating an allocator with a free list over the execution order.

Best fit among coalesced free blocks; where none is large enough the largest one is enlarged, and everything
beyond it moves up by as much.

Source: the free-list patent (CN, 2022) (docs/references.md).
"""

from __future__ import annotations

from bisect import bisect_left
from math import lcm
from typing import Any

import numpy as np

from chipmodel.geometry.interval import hull
from chipmodel.geometry.rounding import round_up
from chipmodel.model.plan import Plan, Problem
from solvers.core.conflicts import Ints
from solvers.core.deadline import NO_DEADLINE, Deadline


def free_list(problem: Problem, deadline: Deadline = NO_DEADLINE) -> Plan:
    """Buffers by start of lifetime; in the holes of a lifetime its bytes stay allocated.

    All sizes are rounded up to a multiple of every alignment, so that what moves stays aligned, and so is the
    arena; only the padding of a buffer that ends it is not counted. The arena is all that was ever allocated:
    what was freed before the rest moved up may have ended there, so it can be more than any buffer ends at.
    Guarantee: the peak is at most the sum of these sizes, and optimal for buffers of one size without holes.
    After the ``deadline`` nothing is freed any more.
    """
    step = lcm(*{b.alignment for b in problem.buffers})
    lives = [hull(b.live) for b in problem.buffers]
    starts, stops = [life.start for life in lives], [life.stop for life in lives]
    sizes = [round_up(b.bytes, step) for b in problem.buffers]
    solid = [i for i, size in enumerate(sizes) if size and starts[i] < stops[i]]
    arena = _FreeListArena(sizes)
    ends = sorted(solid, key=stops.__getitem__)
    ended = 0
    for index in sorted(solid, key=starts.__getitem__):
        if deadline.over:
            arena.append(index)
            continue
        while stops[ends[ended]] <= starts[index]:  # The last end is after every start.
            arena.free(ends[ended])
            ended += 1
        arena.take(index)
    offsets: list[int] = arena.offsets.tolist()
    ends_below = all(offsets[i] + sizes[i] < arena.next_offset for i in solid)
    names = (b.name for b in problem.buffers)
    return Plan(dict(zip(names, offsets, strict=True)), arena.next_offset if ends_below else 0)


class _FreeListArena:
    """Allocated offsets, and the free blocks between them, sorted by offset and never adjacent."""

    def __init__(self, sizes: list[int]) -> None:
        kind: type = object if sum(sizes) >= 1 << 62 else np.int64
        self.sizes = sizes
        self.offsets: Ints = np.zeros(len(sizes), dtype=kind)
        self.places: Any = self.offsets.data if kind is np.int64 else self.offsets
        """The same memory, of which a single number is read and written several times as fast."""
        self.starts: list[int] = []
        self.blocks: list[int] = []
        """The size of the free block at each of ``starts``."""
        self.next_offset = 0

    def take(self, index: int) -> None:
        """Allocate the bytes of buffer ``index``."""
        size = self.sizes[index]
        large = [block for block in self.blocks if block >= size]
        if large:
            self._cut(index, self.blocks.index(min(large)), size)
        elif self.blocks:
            at = self.blocks.index(max(self.blocks))
            self._enlarge(at, size)
            self._cut(index, at, size)
        else:
            self.append(index)

    def append(self, index: int) -> None:
        """Allocate the bytes of buffer ``index`` at the end."""
        self.places[index] = self.next_offset
        self.next_offset += self.sizes[index]

    def _cut(self, index: int, at: int, size: int) -> None:
        self.places[index] = self.starts[at]
        self.starts[at] += size
        self.blocks[at] -= size
        if not self.blocks[at]:
            del self.starts[at], self.blocks[at]

    def _enlarge(self, at: int, size: int) -> None:
        """Make block ``at`` as large as ``size``; what lies at or beyond its end moves up."""
        end, more = self.starts[at] + self.blocks[at], size - self.blocks[at]
        self.offsets[self.offsets >= end] += more
        self.starts[at + 1 :] = [start + more for start in self.starts[at + 1 :]]
        self.blocks[at] = size
        self.next_offset += more

    def free(self, index: int) -> None:
        """Free buffer ``index``'s bytes, joined with adjacent free blocks."""
        start, size = int(self.places[index]), self.sizes[index]
        at = bisect_left(self.starts, start)
        if at < len(self.starts) and start + size == self.starts[at]:
            size += self.blocks[at]
            del self.starts[at], self.blocks[at]
        if at and self.starts[at - 1] + self.blocks[at - 1] == start:
            self.blocks[at - 1] += size
        else:
            self.starts.insert(at, start)
            self.blocks.insert(at, size)
