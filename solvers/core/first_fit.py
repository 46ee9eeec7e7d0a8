"""Place buffers one by one, each at its lowest free offset (first fit), in a given order.

Source: Wang et al. 2025, Algorithm 1 (docs/references.md).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from math import lcm

import numpy as np

from chipmodel.geometry.interval import merged
from chipmodel.geometry.rounding import round_up
from chipmodel.model.plan import Buffer, Plan, Problem
from solvers.core.bounds import rigid
from solvers.core.conflicts import Ints
from solvers.core.deadline import NO_DEADLINE, Deadline
from solvers.core.decode import Decoder, lowest, small_decoder

Order = Callable[[Buffer], int]
ORDERS: dict[str, Order] = {
    "sequential": lambda buffer: 0,
    "large-first": lambda buffer: -buffer.bytes,
    "short-first": lambda buffer: sum(map(len, buffer.live)),
}
SEGMENT_STARTS = 128
"""Fewest lifetimes that begin in one segment of time."""
MAX_SEGMENTS = 4
"""A lifetime that spans more segments than these is searched among all."""


def first_fit(problem: Problem, key: Order, deadline: Deadline = NO_DEADLINE) -> Plan:
    """Offsets (bytes) for ``problem``, buffers placed by ascending ``key``.

    Each buffer takes the lowest gap between placed buffers alive with it that holds it; a group of colocated
    buffers the lowest offset at which each of them has such a gap, in the turn of its first. Ties of ``key``
    keep execution order. From the ``deadline`` on each is placed above all others, which takes no time.
    """
    buffers = problem.buffers
    order = sorted(rigid(problem), key=lambda group: min(key(buffers[i]) for i in group))
    if deadline.over:
        return stacked(problem, {}, order)
    few = small_decoder(problem)
    if few and key in few.plans:
        return few.plans[key]
    placed = _Few(few) if few else PlacedByTime(problem)
    offsets: dict[str, int] = {}
    for number, group in enumerate(order):
        if deadline.over:
            return stacked(problem, offsets, order[number:])
        box = _box([buffers[i] for i in group])
        offset = placed.lowest(group, box)
        for index in group:
            offsets[buffers[index].name] = offset
            placed.add(index, offset)
    plan = Plan({b.name: offsets[b.name] for b in buffers})
    if few:
        few.plans[key] = plan
    return plan


def _box(members: Sequence[Buffer]) -> Buffer:
    """The largest of colocated buffers, with an alignment for all of them."""
    if len(members) == 1:
        return members[0]
    return replace(max(members, key=lambda b: b.bytes), alignment=lcm(*(b.alignment for b in members)))


def stacked(problem: Problem, offsets: dict[str, int], rest: Iterable[Sequence[int]]) -> Plan:
    """Return the plan with all groups of ``rest`` above the ``offsets``, and above one another."""
    top = Plan(offsets).peak(Problem(tuple(b for b in problem.buffers if b.name in offsets)))
    for group in rest:
        box = _box([problem.buffers[i] for i in group])
        offset = round_up(top, box.alignment) if box.bytes else 0
        offsets |= {problem.buffers[i].name: offset for i in group}
        top = max(top, offset + box.bytes)
    return Plan({b.name: offsets[b.name] for b in problem.buffers})


def placed_in_turn(
    problem: Problem, order: Sequence[int], offset: Callable[[Buffer, Ints, Ints], int], deadline: Deadline
) -> Plan:
    """Return the plan of buffers in an ``order``, each at its ``offset`` for the first bytes and ends of
    those placed before that are alive with it. From the ``deadline`` on each is placed above all others."""
    placed = PlacedByTime(problem)
    offsets: dict[str, int] = {}
    for turn, index in enumerate(order):
        if deadline.over:
            return stacked(problem, offsets, ((each,) for each in order[turn:]))
        buffer = problem.buffers[index]
        offsets[buffer.name] = offset(buffer, *placed.rivals(index))
        placed.add(index, offsets[buffer.name])
    return Plan({b.name: offsets[b.name] for b in problem.buffers})


class _Few:
    """Placed buffers of a problem whose pairs of buffers alive together are known."""

    def __init__(self, decoder: Decoder) -> None:
        self.sizes, self.near = decoder.sizes, decoder.near
        self.spans: dict[int, tuple[int, int]] = {}
        """First byte and end."""

    def lowest(self, group: Sequence[int], box: Buffer) -> int:
        """The lowest offset of ``box``, as ``PlacedByTime.lowest`` finds it."""
        spans, found = self.spans, list[tuple[int, int]]()
        for index in group:
            rivals = [spans[other] for other in self.near[index] if other in spans]
            more = box.bytes - self.sizes[index]
            found += ((low + more, high) for low, high in rivals) if more else rivals
        found.sort()
        return lowest(found, box.bytes, box.alignment)

    def add(self, index: int, offset: int) -> None:
        """Record that buffer ``index`` is at ``offset``."""
        self.spans[index] = offset, offset + self.sizes[index]


class PlacedByTime:
    """Placed buffers, indexed by lifetime: time is cut into segments in which equally many lifetimes begin.

    A segment has a row for every lifetime interval that overlaps it, except for those that overlap many
    segments, which are kept separately. Positions are ranks, so any integers may be times.
    """

    def __init__(self, problem: Problem, segment_starts: int | None = None) -> None:
        lives = [merged(b.live) if b.bytes else () for b in problem.buffers]
        edges = sorted({edge for live in lives for i in live for edge in (i.start, i.stop)})
        rank = {edge: number for number, edge in enumerate(edges)}
        self.sizes = [b.bytes for b in problem.buffers]
        self.lives = [[(rank[i.start], rank[i.stop] - 1) for i in live] for live in lives]
        starts = sorted(start for live in self.lives for start, _ in live)
        self.cuts = starts[:: segment_starts or self._segment_starts(starts)][1:]
        large = sum(b.bytes + b.alignment for b in problem.buffers) >= 1 << 62
        kind: type = object if large else np.int64
        self.all, self.long = _Rows(kind), _Rows(kind)
        self.rows = [_Rows(kind) for _ in range(len(self.cuts) + 1)]

    def _segment_starts(self, starts: list[int]) -> int:
        """Lifetimes that begin in one segment, so that nine out of ten span two or three segments."""
        spans = [(start, stop) for live in self.lives for start, stop in live]
        begun = sorted(bisect_right(starts, stop) - bisect_right(starts, start) for start, stop in spans)
        return max(SEGMENT_STARTS, begun[len(begun) * 9 // 10] if begun else 0)

    def _segments(self, start: int, stop: int) -> range:
        """The segments that positions ``start`` to ``stop`` overlap."""
        return range(bisect_right(self.cuts, start), bisect_right(self.cuts, stop) + 1)

    def rivals(self, index: int) -> tuple[Ints, Ints]:
        """First bytes and ends of the placed buffers that are alive together with buffer ``index``."""
        found: list[Ints] = []
        for start, stop in self.lives[index]:
            spanned = self._segments(start, stop)
            if len(spanned) > MAX_SEGMENTS:
                found.append(self.all.within(start, stop))
            else:
                found += [self.rows[at].within(start, stop) for at in spanned]
                found.append(self.long.within(start, stop))
        if not found:
            return self.all.table[0, :0], self.all.table[1, :0]
        table = np.concatenate(found, axis=1)
        return table[0], table[1]

    def lowest(self, group: Sequence[int], box: Buffer) -> int:
        """The lowest offset of ``box``, the largest buffer of a ``group``, at which nothing placed is in the
        way. A smaller member leaves the last bytes to what begins above it."""
        found = [(self.rivals(index), box.bytes - self.sizes[index]) for index in group]
        lows = np.concatenate([lows + later for (lows, _), later in found])
        return int(free_gaps(box, lows, np.concatenate([highs for (_, highs), _ in found]))[0][0])

    def add(self, index: int, offset: int) -> None:
        """Record that buffer ``index`` is at ``offset``."""
        for start, stop in self.lives[index]:
            row = (offset, offset + self.sizes[index], start, stop)
            self.all.add(row)
            spanned = self._segments(start, stop)
            for rows in [self.long] if len(spanned) > MAX_SEGMENTS else [self.rows[at] for at in spanned]:
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
        """First bytes and ends of what is alive at some position of ``start`` to ``stop``, both included."""
        rows = self.table[:, : self.count]
        alive = np.flatnonzero((rows[2] <= stop) & (rows[3] >= start))
        return rows[:2].take(alive, axis=1)


def free_gaps(buffer: Buffer, lows: Ints, highs: Ints) -> tuple[Ints, Ints]:
    """Return the aligned starts of the gaps between ``[lows, highs)`` that hold ``buffer``, from the lowest
    to the one above them all, and the sizes of all but that."""
    by_low = np.argsort(lows)
    ends = np.concatenate((np.zeros(1, lows.dtype), np.maximum.accumulate(highs[by_low])))
    starts: Ints = -(-ends // buffer.alignment) * buffer.alignment
    sizes: Ints = lows[by_low] - starts[:-1]
    holds = np.flatnonzero(sizes >= buffer.bytes)
    return np.append(starts[holds], starts[-1]), sizes[holds]
