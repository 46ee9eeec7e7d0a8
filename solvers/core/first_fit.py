"""Algorithm 1 of the control-flow paper (S2): place buffers one by one, each at its lowest fit.

The planners differ only in the order in which buffers are placed; ties keep execution order.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from chipmodel.model.interval import merged
from chipmodel.model.plan import Buffer, Plan, Problem

Order = Callable[[Buffer], int]
ORDERS: dict[str, Order] = {
    "sequential": lambda buffer: 0,
    "large-first": lambda buffer: -buffer.bytes,
    "short-first": lambda buffer: sum(map(len, buffer.live)),
}
SEGMENT_STARTS = 128
"""Fewest lifetimes that begin in one stretch of time."""
MAX_SEGMENTS = 4
"""A lifetime that meets more stretches than these is looked up among all."""
Ints = npt.NDArray[np.int64]


def first_fit(problem: Problem, key: Order) -> Plan:
    """Offsets (bytes) for ``problem``, buffers placed by ascending ``key``.

    A buffer starts at offset 0 and slides up past every placed buffer that it conflicts with and
    would collide with; the first gap that is large enough is the lowest fit.
    """
    order = sorted(range(len(problem.buffers)), key=lambda i: key(problem.buffers[i]))
    placed = PlacedByTime(problem)
    offsets: dict[str, int] = {}
    for index in order:
        buffer = problem.buffers[index]
        lows, highs = placed.rivals(index)
        offset = lowest_fit(buffer, lows, highs)
        offsets[buffer.name] = offset
        placed.add(index, offset)
    return Plan({b.name: offsets[b.name] for b in problem.buffers})


class PlacedByTime:
    """Placed buffers, found by when they are alive: time is cut into stretches in which as many begin.

    A stretch has a row for every lifetime interval that meets it, but for those that meet many stretches:
    these have rows of their own. Positions are ranks, so that any integers may be times.
    """

    def __init__(self, problem: Problem, stretch: int | None = None) -> None:
        lives = [merged(b.live) if b.bytes else () for b in problem.buffers]
        edges = sorted({edge for live in lives for i in live for edge in (i.start, i.stop)})
        rank = {edge: number for number, edge in enumerate(edges)}
        self.sizes = [b.bytes for b in problem.buffers]
        self.lives = [[(rank[i.start], rank[i.stop] - 1) for i in live] for live in lives]
        starts = sorted(start for live in self.lives for start, _ in live)
        self.cuts = starts[:: stretch or self._stretch(starts)][1:]
        large = sum(b.bytes + b.alignment for b in problem.buffers) >= 1 << 62
        kind: type = object if large else np.int64
        self.all, self.long = _Rows(kind), _Rows(kind)
        self.rows = [_Rows(kind) for _ in range(len(self.cuts) + 1)]

    def _stretch(self, starts: list[int]) -> int:
        """So many that nine lifetimes out of ten span two or three stretches."""
        spans = [(start, stop) for live in self.lives for start, stop in live]
        begun = sorted(bisect_right(starts, stop) - bisect_right(starts, start) for start, stop in spans)
        return max(SEGMENT_STARTS, begun[len(begun) * 9 // 10] if begun else 0)

    def _meets(self, start: int, stop: int) -> range:
        return range(bisect_right(self.cuts, start), bisect_right(self.cuts, stop) + 1)

    def rivals(self, index: int) -> tuple[Ints, Ints]:
        """Lows and highs of the placed buffers that are alive at some position where ``index`` is."""
        found: list[Ints] = []
        for start, stop in self.lives[index]:
            meets = self._meets(start, stop)
            if len(meets) > MAX_SEGMENTS:
                found.append(self.all.within(start, stop))
            else:
                found += [self.rows[at].within(start, stop) for at in meets]
                found.append(self.long.within(start, stop))
        if not found:
            return self.all.table[0, :0], self.all.table[1, :0]
        table = np.concatenate(found, axis=1)
        return table[0], table[1]

    def add(self, index: int, offset: int) -> None:
        """Puts buffer ``index`` at ``offset``."""
        for start, stop in self.lives[index]:
            row = (offset, offset + self.sizes[index], start, stop)
            self.all.add(row)
            meets = self._meets(start, stop)
            for rows in [self.long] if len(meets) > MAX_SEGMENTS else [self.rows[at] for at in meets]:
                rows.add(row)


class _Rows:
    """A growing table of (low, high, first position, last position)."""

    def __init__(self, kind: type) -> None:
        self.table: Ints = np.empty((4, 8), dtype=kind)
        self.count = 0

    def add(self, row: tuple[int, int, int, int]) -> None:
        if self.count == self.table.shape[1]:
            self.table = np.concatenate([self.table, np.empty_like(self.table)], axis=1)
        self.table[:, self.count] = row
        self.count += 1

    def within(self, start: int, stop: int) -> Ints:
        """The lows and highs of what is alive at some position of ``start`` to ``stop``."""
        rows = self.table[:, : self.count]
        meets = np.flatnonzero((rows[2] <= stop) & (rows[3] >= start))
        return rows[:2].take(meets, axis=1)


def lowest_fit(buffer: Buffer, lows: Ints, highs: Ints) -> int:
    """The lowest aligned offset from which ``buffer.bytes`` bytes meet none of ``[lows, highs)``."""
    if not len(lows) or not buffer.bytes:
        return 0
    by_low = np.argsort(lows)
    lows = lows[by_low]
    above: Ints = np.maximum.accumulate(highs[by_low])
    if buffer.alignment > 1:
        above = -(-above // buffer.alignment) * buffer.alignment
    if lows[0] >= buffer.bytes:
        return 0
    gaps = lows[1:] - above[:-1] >= buffer.bytes
    first = int(gaps.argmax()) if len(gaps) else 0
    return int(above[first]) if len(gaps) and gaps[first] else int(above[-1])
