"""The least time over borders: the shortest path by ways to run the stretches between them.

``solvers.fluid.borders`` says what a border knows of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import accumulate
from operator import add
from typing import NamedTuple

import numpy as np

from solvers.columns.kernel import (
    COLUMNS,
    Border,
    BorderRests,
    BorderTimes,
    Limit,
    ListedColumns,
    listed_ways,
    reach,
    reach_back,
)
from solvers.columns.moves import border_of, moves
from solvers.core.deadline import NO_DEADLINE, Deadline
from solvers.fluid.amounts import FluidAmounts
from solvers.fluid.borders import (
    LEVELS,
    NEVER,
    BorderFunctions,
    Cycles,
    FluidLeg,
    FluidTime,
    Levels,
    Repeats,
    grid,
)
from solvers.fluid.problem import FluidProblem

LOOK = 16
"""Borders that are reached between two looks at the clock."""


LESS_MEMORY = 100
"""The part of its cycles by which a path in little less memory likely takes no longer: one that is found
within so many more serves that search, too (assumed)."""
ALONE = (34, 40, 56)
"""How many parts of 32 of what NPU and weights take alone a path of single ops may take that is looked for
first (assumed): a lower limit leaves fewer ways to look at. Its cycles are the limit of one with cascades."""
CASCADED = (33, 34, 40, 56)
"""The same of paths with cascades: the first, and the others where no path of single ops is so fast."""
APART = 1.04
"""How many times a limit the one after it is at least, for which it pays to look first (assumed)."""


def least_time(
    problem: FluidProblem,
    columns: ListedColumns,
    levels: int = LEVELS,
    deadline: Deadline = NO_DEADLINE,
    most: int = NEVER,
) -> FluidTime:
    """Return the least cycles of a run whose stretches run in the ways that ``columns`` list.

    Parameters
    ----------
    levels : int
        More points of the grid give a higher bound, and take longer.
    most : int
        Cycles beyond which the answer is known to be too high: any number that is more then.

    Raises
    ------
    TimeIsOver
        Where the deadline comes first.
    """
    return PathSearch(problem, columns, levels).answer(deadline, most)


class PathProof(NamedTuple):
    """What proves the cycles of ``least_time``: times of each border, which no way of ``ways`` beats.

    ``arrived`` are the functions of ``solvers.fluid.borders`` before repeats and kept loads are counted;
    ``kept`` are DMA cycles. ``repeats`` have start, stop, times, and the least cycles of one.
    """

    cycles: int
    grid: Levels
    arrived: list[Cycles]
    kept: list[int]
    repeats: list[tuple[int, int, int, int]]
    ways: list[tuple[int, int, Cycles]]
    tracked: list[list[int]]
    """The numbers of the tensors of each bit of a state, by border: ``Residents.tracked``, then
    ``Residents.written``. The first one is the lowest bit."""


def prove(
    problem: FluidProblem, columns: ListedColumns, levels: int = LEVELS, deadline: Deadline = NO_DEADLINE
) -> PathProof:
    """Return a proof of what ``least_time`` answers. Raises TimeIsOver."""
    search = PathSearch(problem, columns, levels)
    arrived: list[Cycles] = []
    cycles = search.run(deadline, arrived)
    least = search.repeats.least_cycles
    repeats = [(start, stop, times, least(start, stop)) for start, stop, times in problem.repeats]
    ways = [(w.start, stop, w.table) for stop, found in enumerate(search.links) for w in found]
    numbers = {id(tensor): number for number, tensor in enumerate(problem.tensors)}
    residents = search.amounts.residents
    sets = map(add, residents.tracked, residents.written)
    tracked = [[numbers[id(each)] for each in border] for border in sets]
    return PathProof(cycles, search.grid, arrived, search.kept, repeats, ways, tracked)


class PathWay(NamedTuple):
    """The way of the runs ``[start, stop)`` on a fastest path."""

    start: int
    stop: int
    before: int
    """The tracked tensors that are in SharedMemory before, as bits."""
    after: int
    bytes: int
    """Bytes at its fullest, with the tracked tensors that stay."""
    made_by: tuple[int, int, int, int] | None
    """The four numbers by which the way was chosen (``solvers.columns.kernel.COLUMNS``); None for any way."""


class FastestPath(NamedTuple):
    """A path over all borders."""

    cycles: int
    ways: tuple[PathWay, ...]
    """In order."""
    search: PathSearch | None = None
    """What found it, if another search may begin with what it knows."""

    @property
    def alone(self) -> int:
        """Cycles of a path of single ops; without an end where none was sought."""
        return self.search.alone if self.search else NEVER


class PathLimits(NamedTuple):
    """Cycles beyond which no path is sought."""

    likely: tuple[int, ...] = ()
    """A path that takes no more than one of these is found sooner."""
    most: int = NEVER
    """Those of a path."""
    alone: int = NEVER
    """Those of a path of single ops: where it takes more, there is likely no good one with cascades."""


NO_LIMITS = PathLimits()


def fastest_path(
    problem: FluidProblem,
    columns: ListedColumns,
    levels: int = LEVELS,
    deadline: Deadline = NO_DEADLINE,
    limits: PathLimits = NO_LIMITS,
    larger: FastestPath | None = None,
) -> FastestPath | None:
    """Return a path that takes ``least_time``; None where there is none within ``limits``.

    Parameters
    ----------
    larger : FastestPath | None
        That of the same problem with more memory: no path with less is faster.

    Raises
    ------
    TimeIsOver
        Where the deadline comes first.
    """
    search = PathSearch(problem, columns, levels)
    search.known = larger.search.rest_of_paths(search) if larger and larger.search else None
    likely = sorted(limit for limit in limits.likely if limit < limits.most)
    if limits.alone < NEVER:
        if not search.reaches_alone(deadline, [limits.alone], limits.most):
            return None
    elif likely and search.known is None:
        search.reaches_alone(deadline, likely[:1], likely[-1])
    if search.within(deadline, likely) < NEVER:
        return search.found()
    if limits.most < NEVER:
        return search.found() if search.run(deadline, most=limits.most) <= limits.most else None
    least = search.rest.least
    near = [least * part // 32 for part in CASCADED]
    search.alone = search.within(deadline, [least * part // 32 for part in ALONE], longest=1)
    known = search.alone < NEVER
    if not known and columns.longest > 1 and search.within(deadline, near) < NEVER:
        return search.found()
    search.alone = search.alone if known else search.run(deadline, longest=1)
    if columns.longest > 1:
        most = search.alone + search.alone // LESS_MEMORY
        rests = search.rests_alone(most) if known else None
        first = near[:1] if known and near[0] * APART < most else []
        if search.within(deadline, first) < NEVER:
            return search.found()
        search.known = rests or search.known
        search.within(deadline, (most, NEVER))
    return search.found()


class BorderWays(NamedTuple):
    """Ways of the runs ``[start, stop)``: rows of ``solvers.columns.kernel.listed_ways``."""

    start: int
    stop: int
    table: Cycles
    listed: bool

    def way(self, number: int) -> PathWay:
        """A way by its number."""
        before, after = self.table[number, :2].tolist()
        heights, again, groups, buffers, size = self.table[number, COLUMNS:].tolist()
        made_by = (heights, again, groups, buffers) if self.listed else None
        return PathWay(self.start, self.stop, before, after, size, made_by)


class _PathStep(NamedTuple):
    """A way of a path, and its times."""

    link: BorderWays
    step: int
    time: int
    before: int
    """DMA cycles ahead at the border before."""
    after: int


class PathSearch:
    """The times of all borders, and the ways that lead there."""

    def __init__(self, problem: FluidProblem, columns: ListedColumns, levels: int) -> None:
        self.amounts, self.columns = FluidAmounts(problem), columns
        self.grid = grid(self.amounts.most, levels)
        self.kept = [self.amounts.loaded(op.kept) for op in problem.ops]
        """DMA cycles of what has been kept at each border."""
        self.rest = _Rests(self.amounts, columns, self.kept, self.grid)
        self.known: PathRests | None = None
        self.alone = NEVER
        self.stretches: dict[tuple[int, int], Border | None] = {}
        self.fitting: dict[int, bool] = {}
        self._begin(NEVER)

    def _begin(self, most: int) -> None:
        residents, borders = self.amounts.residents, range(self.amounts.count + 1)
        self.most = most
        self.borders = [BorderFunctions(residents.sets(border), self.grid.levels) for border in borders]
        self.links: list[list[BorderWays]] = [[] for _ in borders]
        """Ways by the border where they lead."""
        self.repeats = Repeats(self.amounts, self.columns.least_cycles)
        self.ways = 0

    def within(self, deadline: Deadline, limits: Sequence[int], longest: int | None = None) -> int:
        """Return the cycles of a path within the first of ``limits`` that has one; NEVER for none. Where runs
        repeat, more ways may take longer."""
        for limit in limits:
            cycles = self.run(deadline, most=limit, longest=longest)
            if cycles <= limit:
                return cycles
        return NEVER

    def reaches_alone(self, deadline: Deadline, limits: Sequence[int], most: int) -> bool:
        """Whether single ops have a path within one of ``limits``; then it guides those within ``most``."""
        self.alone = self.within(deadline, limits, longest=1)
        if self.alone < NEVER:
            self.known = self.rests_alone(most)
        return self.alone < NEVER

    def answer(self, deadline: Deadline, most: int) -> FluidTime:
        cycles = self.run(deadline, most=most)
        return FluidTime(cycles, tuple(self._legs()) if cycles <= most else (), self.ways)

    def run(
        self,
        deadline: Deadline,
        arrived: list[Cycles] | None = None,
        most: int = NEVER,
        longest: int | None = None,
    ) -> int:
        """Reach all borders by stretches of so many ops; return the least cycles to the last one, or any
        number beyond ``most``. ``arrived`` receives the times of every border."""
        self._begin(most)
        longest = self.columns.longest if longest is None else longest
        points, last = self.grid.points, self.amounts.count
        self.borders[0].times[0] = np.where(points <= 0, 0, NEVER)
        for start in range(last):
            if start % LOOK == 0:
                deadline.require("the shortest path over borders")
            self.borders[start].close(points)
            if arrived is not None:
                arrived.append(self.borders[start].times.copy())
            self.repeats.count(start, self.borders[start].times)
            self.borders[start].times = self.grid.kept(self.borders[start].times, self.kept[start])
            if self._is_beyond(start):
                continue
            for stop in self._stops(start, longest):
                self._take(start, stop)
        self.borders[last].close(points)
        if arrived is not None:
            arrived.append(self.borders[last].times)
        return int(self.borders[last].times[0, points == 0][0])

    def _is_beyond(self, start: int) -> bool:
        """Whether every path through a border takes more than the limit. What is ahead may be more than a
        point says, up to the next one."""
        times, rest = self.borders[start].times, self._rests()[start]
        between = np.maximum(times[:, :-1] + rest[..., 1:], times[:, 1:] + rest[..., :-1] - self.grid.width)
        least = min(between.min(), (times[:, -1] + rest[..., -1]).min())
        return int(least) > min(self.most, NEVER - 1)

    def _rests(self) -> Sequence[Cycles]:
        """The least times from each border on of a path within the limit."""
        return self.known.times if self.known and self.most <= self.known.most else self.rest.times

    def _stops(self, start: int, longest: int) -> Iterator[int]:
        ops = self.amounts.problem.ops
        known = self.known if self.known and self.most <= self.known.most else None
        for stop in range(start + 1, min(self.amounts.count, start + longest) + 1):
            if stop > start + 1 and not ops[stop - 1].joins:
                return
            if known is None or known.through is None or known.through.get((start, stop), NEVER) <= self.most:
                yield stop

    def _take(self, start: int, stop: int) -> None:
        """Reach border ``stop`` by any way of the stretch. An op that fits in no listed way may have any, but
        where a plan is sought."""
        reached = BorderTimes(
            self.grid.points, self.grid.width, self.borders[start].times, self.borders[stop].times
        )
        stretch = self.columns.stretch(start, stop)
        if (start, stop) not in self.stretches:
            asked = start, stop, self.columns.for_plan
            border = None if stretch is None else border_of(self.amounts, stretch, *asked)
            self.stretches[start, stop] = border
        border, found = self.stretches[start, stop], 0
        if stretch is not None and border is not None:
            self.ways += len(stretch.choices) * len(border.room)
            limit = Limit(self.most, self._rests()[stop])
            table = listed_ways(self.columns, stretch, border, reached, limit)
            reach(table, reached)
            found = self.link(start, stop, table, True)
        alone = stop == start + 1 and not self.columns.for_plan and not found
        if self.columns.any_way(start, stop) or (alone and not self._fits(start)):
            table = _any_way(self.amounts, self.columns, start, stop)
            reach(table, reached)
            self.link(start, stop, table, False)

    def _fits(self, run: int) -> bool:
        """Whether an op fits in a listed way, one that takes more than the limit too."""
        if self.most >= NEVER:
            return False
        if run not in self.fitting:
            stretch, border = self.columns.stretch(run, run + 1), self.stretches[run, run + 1]
            self.fitting[run] = bool(stretch and border and len(listed_ways(self.columns, stretch, border)))
        return self.fitting[run]

    def link(self, start: int, stop: int, table: Cycles, listed: bool) -> int:
        """Keep the ways from one border to another, and return how many they are."""
        if len(table):
            self.links[stop].append(BorderWays(start, stop, table, listed))
        return len(table)

    def _legs(self) -> list[FluidLeg]:
        ends: list[tuple[int, FluidLeg]] = []
        for link, step, time, before, ahead in self.path():
            computed, most, room = link.table[step, [3, 5, 6]].tolist()
            ends.append((time, FluidLeg(link.start, link.stop, 0, computed, before >= most or ahead > room)))
        return self.repeats.legs(ends)

    def found(self) -> FastestPath | None:
        """A path of the least cycles; None where the last border has not been reached."""
        least = int(self.borders[-1].times[0, self.grid.points == 0][0])
        if least >= NEVER:
            return None
        steps = reversed([*self.path()])
        return FastestPath(least, tuple(step.link.way(step.step) for step in steps), self)

    def rest_of_paths(self, other: PathSearch) -> PathRests | None:
        """The least that paths take from each border on, for a search with less memory; None where runs
        repeat or keep weights, or other tensors are followed."""
        tracked = self.amounts.residents.tracked
        if self.amounts.problem.repeats or any(self.kept) or tracked != other.amounts.residents.tracked:
            return None
        times, through = self._rest_of_paths
        return PathRests(self.most, [self.grid.rest_at(each, other.grid.points) for each in times], through)

    def rests_alone(self, most: int) -> PathRests:
        """What likely comes after each border of a path within ``most``: what single ops take from there, in
        the last run. So paths are left out that begin with much slower cascades than single ops, and make up
        for it later. Where no single ops go on, anything may come."""
        less = max(0, self.alone + self.alone // LESS_MEMORY - most)
        each = zip(self._backwards()[0], self.rest.times, strict=True)
        rests = [np.where(alone < NEVER, np.maximum(alone - less, any_), any_) for alone, any_ in each]
        return PathRests(most, rests, None)

    @cached_property
    def _rest_of_paths(self) -> tuple[list[Cycles], dict[tuple[int, int], int]]:
        """The least times from each border on, and of paths with each stretch, of the run that found one."""
        return self._backwards()

    def _backwards(self) -> tuple[list[Cycles], dict[tuple[int, int], int]]:
        """The same of the last run."""
        times = [np.full_like(border.times, NEVER) for border in self.borders]
        times[-1][0] = np.maximum(0, -self.grid.points)
        through: dict[tuple[int, int], int] = {}
        for stop in range(self.amounts.count, 0, -1):
            times[stop] = self.grid.closed_rest(times[stop])
            for link in self.links[stop]:
                asked = link.table, self.grid.points, self.grid.width, self.borders[link.start].times
                least = reach_back(*asked, BorderRests(times[stop], times[link.start]))
                through[link.start, stop] = min(least, through.get((link.start, stop), NEVER))
        times[0] = self.grid.closed_rest(times[0])
        return times, through

    def path(self) -> Iterator[_PathStep]:
        """Yield a fastest path, from its end on: the times of borders say what leads there."""
        place, row, ahead = self.amounts.count, 0, 0
        while place:
            step = min(self._steps_to(place, row, ahead), key=lambda step: step.time)
            yield step
            place, row = step.link.start, int(step.link.table[step.step, 0])
            ahead = max(step.before - self.kept[place], int(self.grid.points[0]))

    def _steps_to(self, place: int, row: int, ahead: int) -> Iterator[_PathStep]:
        """The fastest way from each border to a set of tensors at one. Beyond what has room, the next step
        waits."""
        for link in self.links[place]:
            _, _, needed, cycles, moved, most_before, most_after, least, beyond = link.table.T[:COLUMNS]
            point = np.maximum(np.minimum(ahead, most_after), least)
            cycles = np.maximum(cycles, beyond + point)
            before = np.maximum(
                np.minimum(np.maximum(needed, point + moved - cycles), most_before), self.grid.points[0]
            )
            begun = self.grid.before(self.borders[link.start].times, link.table[:, 0], before[:, None])[:, 0]
            times = begun + np.maximum(np.maximum(needed - before, 0) + cycles, point - before + moved)
            times += ahead - np.minimum(ahead, most_after)
            times[link.table[:, 1] != row] = NEVER
            number = int(times.argmin())
            yield _PathStep(link, number, int(times[number]), int(before[number]), ahead)


class PathRests(NamedTuple):
    """The least times from each border on of paths that take at most so many cycles, and what they take with
    each stretch."""

    most: int
    times: list[Cycles]
    through: dict[tuple[int, int], int] | None
    """The same by the borders of a stretch; None where any stretch may be on such a path."""


class _Rests:
    """What comes after each border, in any way: cycles of the NPU, and DMA cycles of weights."""

    def __init__(
        self, amounts: FluidAmounts, columns: ListedColumns, kept: Sequence[int], levels: Levels
    ) -> None:
        least = map(columns.least_cycles, reversed(range(amounts.count)))
        weights = [
            amounts.loaded(op.weights) - kept for op, kept in zip(amounts.problem.ops, kept, strict=True)
        ]
        computes = [*accumulate(least, initial=0)][::-1]
        loads = [*accumulate(reversed(weights), initial=0)][::-1]
        ahead = (cycles - levels.points for cycles in loads)
        self.times = [np.maximum(*each) for each in zip(computes, ahead, strict=True)]
        """Cycles by point, for all sets of tensors."""
        each = (n * columns.least_cycles(run) for run, n in enumerate(amounts.times))
        self.least = max(sum(each), loads[0])
        """The least cycles of a path."""


def _any_way(amounts: FluidAmounts, columns: ListedColumns, start: int, stop: int) -> Cycles:
    """A row for each move of runs whose ways are not listed: their least cycles and transfers, with room for
    what stays and nothing else."""
    capacity, later = amounts.problem.capacity, amounts.loads_after[stop]
    weights = sum(amounts.weights_alone(run) for run in range(start, stop))
    cycles = sum(map(columns.least_cycles, range(start, stop)))
    rows: list[tuple[int, ...]] = []
    for move in moves(amounts.residents, start, stop):
        before, after = np.array(capacity - move.before_bytes), np.array(capacity - move.after_bytes)
        if min(before, after) < 0:
            continue
        behind = min(move.behind, int(amounts.behind_in(before, start)))
        least = -min(move.behind_after, int(amounts.behind_in(after, stop)))
        loads = weights + move.loads
        ahead = min(int(amounts.ahead_in(before, start)), loads + later) + move.early
        ahead_after = min(int(amounts.ahead_in(after, stop)), later) + move.early_after
        moved = loads + move.stores + move.leaving
        ends = min(ahead, amounts.most), min(ahead_after, amounts.most)
        waits = cycles + (move.at_once if columns.for_plan else 0)
        rows.append((move.before, move.after, -behind, waits, moved, *ends, least, -NEVER, 0, 0, 0, 0, 0))
    return np.array(rows, np.int64).reshape(-1, COLUMNS + 5)
