"""The least time over borders: the shortest path by ways to run the stretches between them.

For each border, and each set of tracked tensors that are in SharedMemory there, a function says how early
the border can be reached with at least so many DMA cycles moved *ahead*: more than what the runs before load
and store; negative where stores are still to come. Such a function never falls. It also need not grow by more
than one cycle a cycle: where there is no room for more, the next runs may wait for it. So between two points
of a grid it is at least what either end says, and the best amount before some runs is known: just what they
cannot hide.

All numbers are integers, rounded so that the result is a lower bound.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from solvers.columns.kernel import COLUMNS, BorderTimes, ListedColumns, reach, take_ways
from solvers.columns.moves import border_of
from solvers.core.deadline import NO_DEADLINE, Deadline
from solvers.fluid.amounts import FluidAmounts
from solvers.fluid.problem import FluidProblem

Cycles = NDArray[np.int64]
NEVER = 1 << 60
LEVELS = 128
"""Points of the grid (assumed)."""


class Leg(NamedTuple):
    """Runs ``[start, stop)`` of a fastest path, on their own or as a cascade."""

    start: int
    stop: int
    cycles: int
    """From the end of the runs before to their own end."""
    computed: int
    """NPU cycles, with those in which it waits for the stretch's own transfers."""
    full: bool
    """Whether more could not be moved ahead because SharedMemory had no room."""


class PathTime(NamedTuple):
    """The least cycles of a run, the legs of one that takes hardly more, and how many ways were looked at."""

    cycles: int
    legs: tuple[Leg, ...]
    ways: int


def least_time(
    problem: FluidProblem, columns: ListedColumns, levels: int = LEVELS, deadline: Deadline = NO_DEADLINE
) -> PathTime:
    """Return the least cycles of a run whose stretches run in the ways that ``columns`` list.

    Parameters
    ----------
    levels : int
        More points of the grid give a higher bound, and take longer.

    Raises
    ------
    TimeIsOver
        Where the deadline comes first.
    """
    return _PathSearch(problem, columns, levels).answer(deadline)


class _BorderWays(NamedTuple):
    """Ways between two borders: rows of ``solvers.columns.kernel.take_ways``."""

    start: int
    table: Cycles


class _PathSearch:
    def __init__(self, problem: FluidProblem, columns: ListedColumns, levels: int) -> None:
        self.amounts, self.columns = FluidAmounts(problem), columns
        self.width = max(1, -(-2 * self.amounts.most // levels))
        half = -(-self.amounts.most // self.width)
        self.points = np.arange(-half, half + 1, dtype=np.int64) * self.width
        tracked = self.amounts.residents.tracked
        self.times = [np.full((1 << len(each), len(self.points)), NEVER, np.int64) for each in tracked]
        """Times by border, set of tensors and point."""
        self.links: list[list[_BorderWays]] = [[] for _ in tracked]
        """Ways by the border where they lead."""
        self.kept = [self._levels_of(op.kept) for op in problem.ops]
        """Levels of each border that what has been kept counts."""
        self.begun: dict[int, Cycles] = {}
        """The function of each border where runs begin that repeat."""
        self.further: dict[int, int] = {}
        """Cycles that they take beyond their first time, by the border where they end."""
        self.ways = 0

    def _levels_of(self, size: int) -> int:
        return min(int(-(-self.amounts.loaded(size) // self.width)), len(self.points) - 1)

    def answer(self, deadline: Deadline) -> PathTime:
        last = self.amounts.count
        self.times[0][0] = np.where(self.points <= 0, 0, NEVER)
        for start in range(last):
            deadline.require("the shortest path over borders")
            self._close(start)
            self._repeat(start)
            self._keep(start, self.kept[start])
            for stop in self._stops(start):
                self._take(start, stop)
        self._close(last)
        cycles = int(self.times[last][0, self.points == 0][0])
        return PathTime(cycles, tuple(self._legs()), self.ways)

    def _stops(self, start: int) -> Iterator[int]:
        ops = self.amounts.problem.ops
        yield start + 1
        for stop in range(start + 2, min(self.amounts.count, start + self.columns.longest) + 1):
            if not ops[stop - 1].joins:
                return
            yield stop

    def _close(self, border: int) -> None:
        """Let whoever has moved more count as having moved less, and wait to move more."""
        times = np.minimum.accumulate(self.times[border][:, ::-1], axis=1)[:, ::-1]
        waited = np.minimum.accumulate(times - self.points, axis=1) + self.points
        self.times[border] = np.ascontiguousarray(np.minimum(waited, NEVER))

    def _keep(self, border: int, levels: int) -> None:
        """Count so many levels as moved ahead that nobody has moved: what they would load is still there."""
        if levels:
            times = self.times[border]
            before = times.copy()
            times[:] = before[:, :1]
            times[:, levels:] = before[:, :-levels]

    def _repeat(self, border: int) -> None:
        """Count runs that end at ``border`` as often as they come.

        Their ways make of the function ``f`` of the border before them a function ``F(f)``. A later ``f``
        makes no earlier one, and one that is later by a constant makes one that is later by it. So if
        ``F(f)`` is later than ``f`` by ``c`` at least, ``F(F(f))`` is later than ``F(f)`` by ``c`` at least.
        Nothing is later by less than what the NPU takes than the earliest of all before.
        """
        times = self.times[border]
        for start, stop, count in self.amounts.problem.repeats:
            if stop == border:
                later, earliest = int((times - self.begun[start])[times < NEVER].min()), int(times.min())
                computed = earliest + (count - 1) * self.amounts.least_cycles(start, stop)
                np.maximum(times + min(later * (count - 1), NEVER >> 1), computed, out=times)
                np.minimum(times, NEVER, out=times)
                self.further[border] = int(times.min()) - earliest
            elif start == border:
                self.begun[start] = times.copy()

    def _take(self, start: int, stop: int) -> None:
        """Reach border ``stop`` by any way of the stretch. An op that fits in no listed way may have any."""
        reached = BorderTimes(self.points, self.width, self.times[start], self.times[stop])
        stretch = self.columns.stretch(start, stop)
        border = None if stretch is None else border_of(self.amounts, stretch, start, stop)
        found = 0
        if stretch is not None and border is not None:
            found = self._link(start, stop, take_ways(self.columns, stretch, border, reached))
        if self.columns.any_way(start, stop) or (not found and stop == start + 1):
            table = _any_way(self.amounts, start, stop)
            reach(table, reached)
            self._link(start, stop, table)

    def _link(self, start: int, stop: int, table: Cycles) -> int:
        self.ways += len(table)
        if len(table):
            self.links[stop].append(_BorderWays(start, table))
        return len(table)

    def _legs(self) -> list[Leg]:
        """A fastest path, from its end on."""
        place, row, ahead = self.amounts.count, 0, 0
        ends: list[tuple[int, Leg]] = []
        while place:
            found = [(*self._fastest(link, row, ahead), link) for link in self.links[place]]
            time, before, step, link = min(found, key=lambda each: each[0])
            computed, most, room = link.table[step, [3, 5, 6]].tolist()
            time -= sum(cycles for stop, cycles in self.further.items() if stop <= link.start)
            ends.append((time, Leg(link.start, place, 0, computed, before >= most or ahead > room)))
            place, row = link.start, int(link.table[step, 0])
            ahead = max(before - self.kept[place] * self.width, int(self.points[0]))
        ends.reverse()
        begins = [0, *(time for time, _ in ends)]
        return [
            leg._replace(cycles=max(0, time - begin) * times, computed=leg.computed * times)
            for begin, (time, leg) in zip(begins, ends, strict=False)
            for times in (self.amounts.times[leg.start],)
        ]

    def _fastest(self, link: _BorderWays, row: int, ahead: int) -> tuple[int, int, int]:
        """The time of the fastest way of a link to a set of tensors, what was ahead at its begin, and its
        number. Beyond what has room there, the next step waits."""
        _, _, needed, cycles, moved, most_before, most_after, least = link.table.T[:COLUMNS]
        point = np.maximum(np.minimum(ahead, most_after), least)
        before = np.maximum(
            np.minimum(np.maximum(needed, point + moved - cycles), most_before), self.points[0]
        )
        times = self._before(link, before) + np.maximum(
            np.maximum(needed - before, 0) + cycles, point - before + moved
        )
        times += ahead - np.minimum(ahead, most_after)
        times[link.table[:, 1] != row] = NEVER + 1
        step = int(times.argmin())
        return int(times[step]), int(before[step]), step

    def _before(self, link: _BorderWays, ahead: Cycles) -> Cycles:
        """The least that the functions at the begin of each way may have at the points ``ahead``."""
        times, rows = self.times[link.start], link.table[:, 0]
        place = np.clip((ahead - self.points[1]) // self.width + 1, 0, len(self.points) - 1)
        next_ = np.minimum(place + 1, len(self.points) - 1)
        low, high = times[rows, place], times[rows, next_]
        least: Cycles = np.maximum(low, high - np.maximum(self.points[next_] - ahead, 0))
        return least


def _any_way(amounts: FluidAmounts, start: int, stop: int) -> Cycles:
    """A row for each move of runs whose ways are not listed: their least cycles and transfers, with room for
    what stays and nothing else."""
    capacity, later = amounts.problem.capacity, amounts.loads_after[stop]
    weights = sum(amounts.weights_alone(run) for run in range(start, stop))
    cycles = sum(op.cycles + min(0, op.alone) for op in amounts.problem.ops[start:stop])
    rows: list[tuple[int, ...]] = []
    for move in amounts.residents.moves(start, stop):
        before, after = np.array(capacity - move.before_bytes), np.array(capacity - move.after_bytes)
        if min(before, after) < 0:
            continue
        behind = min(move.behind, int(amounts.behind_in(before, start)))
        least = -min(move.behind_after, int(amounts.behind_in(after, stop)))
        loads = weights + move.loads
        ahead = min(int(amounts.ahead_in(before, start)), loads + later) + move.early
        ahead_after = min(int(amounts.ahead_in(after, stop)), later) + move.early_after
        moved = loads + move.stores
        ends = min(ahead, amounts.most), min(ahead_after, amounts.most)
        rows.append((move.before, move.after, -behind, cycles, moved, *ends, least, 0, 0, 0, 0))
    return np.array(rows, np.int64).reshape(-1, COLUMNS + 4)
