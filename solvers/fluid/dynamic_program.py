"""The least time of a run as a fluid, by dynamic programming over borders.

The ways over runs are closed forms, which hold for any plan whatever; ``solvers.fluid.borders`` says
what a border knows of them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from solvers.fluid.alone import run_alone
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
from solvers.fluid.groups import (
    ANY_AMOUNT,
    HELD_LEVELS,
    LONGEST_GROUP,
    group,
    into_long_group,
    may_be_group,
    through_long_group,
)
from solvers.fluid.problem import FluidProblem
from solvers.fluid.table import Table

INSIDE_TIMES = 8
"""The grid inside of long groups is so many times as large (assumed)."""


def least_time(problem: FluidProblem, levels: int = LEVELS) -> FluidTime:
    """Return the least cycles of a run.

    Parameters
    ----------
    levels : int
        More points of the grid give a higher bound, and take longer.
    """
    return _FluidSearch(problem, levels).answer()


class _Passage(NamedTuple):
    """Ways from a place to another one: a border, or with True a place inside a long group, where the weights
    that it holds are known instead of tensors."""

    start: tuple[int, bool]
    stop: tuple[int, bool]
    table: Table


class _FluidSearch:
    def __init__(self, problem: FluidProblem, levels: int) -> None:
        self.amounts = FluidAmounts(problem)
        self.grid = grid(self.amounts.most, levels)
        self.inside = grid(INSIDE_TIMES * self.amounts.most, INSIDE_TIMES * levels)
        self.inside.points[0] = -2 * ANY_AMOUNT
        sets = [1 << len(tracked) for tracked in self.amounts.residents.tracked]
        self.places = {(at, False): BorderFunctions(each, self.grid.levels) for at, each in enumerate(sets)}
        self.places |= {
            (at, True): BorderFunctions(HELD_LEVELS + 1, self.inside.levels) for at in range(len(sets))
        }
        self.links: dict[tuple[int, bool], list[_Passage]] = {place: [] for place in self.places}
        """Passages by where they lead."""
        self.kept = [int(self.amounts.loaded(op.kept)) for op in problem.ops]
        """DMA cycles of what has been kept at each border."""
        self.repeats = Repeats(self.amounts)

    def answer(self) -> FluidTime:
        points, last = self.grid.points, self.amounts.count
        self.places[0, False].times[0] = np.where(points <= 0, 0, NEVER)
        for start in range(last):
            self.places[start, False].close(points)
            self.places[start, True].close(self.inside.points)
            self.repeats.count(start, self.places[start, False].times)
            at_border = self.places[start, False]
            at_border.times = self.grid.kept(at_border.times, self.kept[start])
            self._take_from_border(start)
            self._take_long(start)
        self.places[last, False].close(points)
        cycles = int(self.places[last, False].times[0, points == 0][0])
        return FluidTime(cycles, tuple(self._legs()))

    def _take_from_border(self, start: int) -> None:
        """Take the ways over one run and over groups."""
        ops = self.amounts.problem.ops
        self._take(_Passage((start, False), (start + 1, False), run_alone(self.amounts, start)))
        for stop in range(start + 2, min(self.amounts.count, start + LONGEST_GROUP) + 1):
            if not ops[stop - 1].joins:
                return
            if may_be_group(self.amounts, start, stop):
                self._take(_Passage((start, False), (stop, False), group(self.amounts, start, stop)))

    def _take_long(self, start: int) -> None:
        """Take the ways of groups longer than ``LONGEST_GROUP``: into one, through it, and out of it."""
        stop = start + LONGEST_GROUP
        if self._goes_on(start, stop):
            self._take(_Passage((start, False), (stop, True), into_long_group(self.amounts, start)))
        levels = np.flatnonzero(self.places[start, True].times[:, 0] < NEVER).tolist()
        if not levels:
            return
        if self._goes_on(start, start + 1):
            through = through_long_group(self.amounts, start, levels, 0)
            self._take(_Passage((start, True), (start + 1, True), through))
        # What it makes at last is read by it, too.
        if may_be_group(self.amounts, start + 1 - LONGEST_GROUP, start + 1):
            sets = len(self.places[start + 1, False].times)
            out = through_long_group(self.amounts, start, levels, sets)
            self._take(_Passage((start, True), (start + 1, False), out))

    def _goes_on(self, start: int, stop: int) -> bool:
        """Whether a group may have all runs from ``start`` to ``stop``, that one as well."""
        ops = self.amounts.problem.ops
        return stop < self.amounts.count and all(op.joins for op in ops[start + 1 : stop + 1])

    def _take(self, link: _Passage) -> None:
        """Reach the end of ``link`` by any of its ways."""
        if len(link.table):
            times, _ = self._times(link, self._grid_at(link.stop).points)
            self.places[link.stop].improve(link.table[:, 1], times)
            self.links[link.stop].append(link)

    def _grid_at(self, place: tuple[int, bool]) -> Levels:
        return self.inside if place[1] else self.grid

    def _times(self, link: _Passage, points: Cycles) -> tuple[Cycles, Cycles]:
        """Return for each way the times with ``points`` cycles moved ahead at the end, and what was ahead at
        the begin."""
        needed, cycles, moved, most_before, most_after, least, beside = (c[:, None] for c in link.table.T[2:])
        points, grid = np.maximum(points, least), self._grid_at(link.start)
        ahead = np.minimum(np.maximum(needed, points + moved - np.minimum(cycles, beside)), most_before)
        if not link.start[1]:
            ahead = np.maximum(ahead, grid.points[0])
        waits = np.maximum(needed - ahead, 0) + cycles
        begun = grid.before(self.places[link.start].times, link.table[:, 0], ahead)
        moves = points - ahead + moved + np.maximum(cycles - beside, 0)
        moves = np.where(link.start[1] & (ahead >= grid.points[-1]), 0, moves)
        times = begun + np.maximum(waits, moves)
        never = points >= most_after + grid.width
        return np.minimum(np.where(never, NEVER, times), NEVER), ahead

    def _legs(self) -> list[FluidLeg]:
        """A fastest run, from its end on."""
        place, row, ahead = (self.amounts.count, False), 0, 0
        ends: list[tuple[int, FluidLeg]] = []
        while place != (0, False):
            found = [(self._fastest(link, row, ahead), link) for link in self.links[place]]
            (time, before, step), link = min(found, key=lambda each: each[0])
            computed, most, room = link.table[step, [3, 5, 6]].tolist()
            ends.append(
                (time, FluidLeg(link.start[0], place[0], 0, computed, before >= most or ahead > room))
            )
            place, row = link.start, int(link.table[step, 0])
            own = 0 if place[1] else self.kept[place[0]]
            ahead = int(self._grid_at(place).points[0])
            ahead = max(before - own, ahead) if before > -ANY_AMOUNT else ahead
        return [*self.repeats.legs(ends)]

    def _fastest(self, link: _Passage, row: int, ahead: int) -> tuple[int, int, int]:
        """The time of the fastest way of a link to a set of tensors, what was ahead at its begin, and its
        number. Beyond what has room there, the next step waits."""
        points = np.minimum(ahead, link.table[:, 6:7])
        times, before = self._times(link, points)
        times += ahead - points
        times[link.table[:, 1] != row] = NEVER + 1
        step = int(times[:, 0].argmin())
        return int(times[step, 0]), int(before[step, 0]), step
