"""The fastest chain of ways over borders, by CP-SAT.

Two clocks run from border to border: when the NPU gets there, and when the DMA engine has done all that the
ways before load and store. The first less the second are the DMA cycles that have been moved ahead. A way

* begins with the tensors in SharedMemory with which the one before it ends;
* lets the NPU begin when what it needs has been loaded, and takes its cycles from then on;
* has the engine move what it loads and stores;
* has room for so much that is moved ahead, before and after it, and for so many stores still to come.

So a chain takes the longest path through both clocks of its borders. Each choice of a clock for every border
is one linear inequality over the ways, and CP-SAT is given those that its last chain breaks. Only ways are in
the model on which, by the dynamic program of ``solvers.columns.path``, a chain may be within a limit.

Source: OR-Tools CP-SAT; the model is this project's.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from solvers.columns.kernel import COLUMNS, ListedColumns
from solvers.columns.path import BorderWays, PathSearch, PathWay
from solvers.core.deadline import Deadline
from solvers.core.or_tools import cp_sat_solver
from solvers.fluid.borders import LEVELS, NEVER, Cycles
from solvers.fluid.problem import FluidProblem

if TYPE_CHECKING:
    from ortools.sat.python import cp_model

WORK = 4.0
"""CP-SAT's own units of time for one chain (assumed)."""
MOST_WAYS = 12_000
"""Ways of which CP-SAT is asked for the least chain (assumed): its models of more take minutes."""
NPU, DMA = range(2)


class ChainWay(NamedTuple):
    """A way from border ``start`` to ``stop``, and what a chain through it takes at least."""

    start: int
    stop: int
    before: int
    after: int
    needed: int
    cycles: int
    moved: int
    most_before: int
    most_after: int
    least: int
    beyond: int
    """``solvers.columns.kernel.COLUMNS``."""
    way: PathWay
    chain: int

    def weight(self, begins: int, ends: int, delay: int = 0) -> int:
        """How much later than a clock before it one after it is at least; ``delay`` is known of the NPU's."""
        taken = max(self.cycles, self.beyond + self.least)
        computed = max(self.needed + taken, self.moved + self.least)
        moved, beyond = self.moved, self.needed + self.beyond
        if begins == NPU:
            computed = max(delay, taken, computed - self.most_before)
            moved, beyond = moved - self.most_before, max(self.beyond, beyond - self.most_before)
        moved = max(moved, beyond)
        return computed if ends == NPU else max(computed - max(self.most_after, self.least), moved)


class WayChain(NamedTuple):
    """Ways from the first border to the last, by number, and the NPU's clock after each."""

    cycles: int
    ways: tuple[int, ...]
    ends: tuple[int, ...]


class ChainAnswer(NamedTuple):
    """``optimal``: no chain takes less than ``chain``; ``infeasible``: there is none. No chain takes less
    than ``bound`` in any case."""

    status: Literal["optimal", "feasible", "infeasible", "unknown"]
    bound: int
    chain: WayChain | None


class LeastChain(NamedTuple):
    """What is proven of the fastest chain: of so many ``listed`` ways ``left`` could not be excluded."""

    answer: ChainAnswer
    listed: int
    left: int


def least_chain(problem: FluidProblem, columns: ListedColumns, most: int, deadline: Deadline) -> LeastChain:
    """Return what the fastest chain of at most ``most`` cycles takes. Raises TimeIsOver."""
    search = PathSearch(problem, columns, LEVELS)
    bound = search.run(deadline, most=most)
    if bound > most:
        return LeastChain(ChainAnswer("infeasible", bound, None), search.ways, 0)
    steps = [_chain_way(each.link, each.step, 0) for each in search.path()]
    known, _ = ChainModel(search, steps).chain(range(len(steps)))
    left = ways_within(search, known.cycles)
    if len(left) > MOST_WAYS:
        return LeastChain(ChainAnswer("feasible", bound, None), search.ways, len(left))
    return LeastChain(ChainModel(search, left).least(deadline, bound), search.ways, len(left))


def _chain_way(link: BorderWays, number: int, least: int) -> ChainWay:
    row = link.table[number, :COLUMNS].tolist()
    return ChainWay._make((link.start, link.stop, *row, link.way(number), least))


def ways_within(search: PathSearch, most: int) -> list[ChainWay]:
    """Return the ways of a ``search`` that has run on which a chain may take ``most`` cycles or less."""
    points, count = search.grid.points, search.amounts.count
    rest = [np.full(border.times.shape, NEVER, np.int64) for border in search.borders]
    rest[count][0] = np.maximum(0, -points)
    leaving = defaultdict[int, list[BorderWays]](list)
    for link in chain.from_iterable(search.links):
        leaving[link.start].append(link)
    found: list[ChainWay] = []
    for start in reversed(range(count)):
        for link in leaving[start]:
            table, stop = link.table[:, :COLUMNS], link.stop
            times = _times_after(search, table, rest[stop], stop)
            np.minimum.at(rest[start], table[:, 0], times)
            begun = search.borders[start].times[table[:, 0]]
            # Between two points nothing begins before the lower one, or takes less than from the upper one.
            begun = np.concatenate((begun[:, :1], begun[:, :-1]), axis=1)
            chains = (begun + times).min(axis=1)
            for number in np.flatnonzero(chains <= most).tolist():
                found.append(_chain_way(link, number, int(chains[number])))
        rest[start] = np.minimum.accumulate(rest[start], axis=1)
    return found[::-1]


def _times_after(search: PathSearch, table: Cycles, rest: Cycles, stop: int) -> Cycles:
    """The least cycles from the begin of each way on to the end, by what is ahead then; ``rest`` are those
    from border ``stop`` on."""
    grid, points = search.grid, search.grid.points
    _, after, needed, cycles, moved, before, most, least, _ = (column[:, None] for column in table.T)
    ahead = np.minimum(points[None, :], np.maximum(before, points[0]))
    computed = np.maximum(needed - ahead, 0) + cycles
    ends = np.maximum(np.minimum(ahead + computed - moved, most), np.maximum(least, points[0]))
    taken = np.maximum(computed, ends - ahead + moved)
    kept = search.kept[stop] if stop < search.amounts.count else 0
    place = np.clip(-((points[0] - ends - kept) // grid.width), 0, grid.levels - 1)
    more, _ = search.repeats.beyond.get(stop, (0, 0))
    times: Cycles = np.minimum(taken + more + rest[after, place], NEVER)
    return times


class ChainModel:
    """Chains of ``ways``."""

    def __init__(self, search: PathSearch, ways: Sequence[ChainWay]) -> None:
        self.ways, self.count, self.sat = ways, search.amounts.count, cp_sat_solver()
        self.kept = search.kept
        spanned = {border for way in ways for border in range(way.start + 1, way.stop)}
        self.more = {at: more for at, (more, _) in search.repeats.beyond.items() if at not in spanned}
        """What repeats add to the time at a border."""
        self.clocks: list[tuple[int, ...]] = [(clock,) * (self.count + 1) for clock in (NPU, DMA)]
        """The choices of a clock for each border of which the model knows."""
        self.forbidden: list[tuple[int, ...]] = []
        """Ways of which no chain has all."""
        self.delays: dict[tuple[int, int], int] = {}
        """The least cycles of the second of two ways that follow one another; -1 before the first of all."""

    def least(self, deadline: Deadline, bound: int = 0) -> ChainAnswer:
        """Return the fastest chain that is found; ``bound`` is known already."""
        best: WayChain | None = None
        while True:
            solver: cp_model.CpSolver = self.sat.CpSolver()
            solver.parameters.num_workers = 1
            solver.parameters.random_seed = 0
            solver.parameters.max_deterministic_time = WORK
            solver.parameters.cp_model_probing_level = 0  # It takes longer than all else, and finds little.
            if deadline.left is not None:
                solver.parameters.max_time_in_seconds = deadline.left
            model, taken = self._model(bound)
            status = solver.solve(model)
            if status == self.sat.INFEASIBLE:
                return ChainAnswer("infeasible", bound, None)
            if status not in (self.sat.OPTIMAL, self.sat.FEASIBLE):
                return ChainAnswer("feasible" if best else "unknown", bound, best)
            bound = max(bound, round(solver.best_objective_bound))
            chain, clocks = self.chain([at for at, each in enumerate(taken) if solver.boolean_value(each)])
            best = min((each for each in (best, chain) if each), key=lambda each: each.cycles)
            if best.cycles <= bound:
                return ChainAnswer("optimal", best.cycles, best)
            if status != self.sat.OPTIMAL or clocks in self.clocks:
                return ChainAnswer("feasible", bound, best)
            self.clocks.append(clocks)

    def _model(self, bound: int) -> tuple[cp_model.CpModel, list[cp_model.IntVar]]:
        model: cp_model.CpModel = self.sat.CpModel()
        taken = [model.new_bool_var("") for _ in self.ways]
        end = model.new_int_var(bound, NEVER >> 1, "")
        balance: dict[tuple[int, int], list[cp_model.LinearExprT]] = {(0, 0): [-1], (self.count, 0): [1]}
        for way, each in zip(self.ways, taken, strict=True):
            balance.setdefault((way.start, way.before), []).append(each)
            balance.setdefault((way.stop, way.after), []).append(-1 * each)
        for flow in balance.values():
            model.add(sum(flow) == 0)
        for run in range(self.count):
            over = zip(self.ways, taken, strict=True)
            model.add_exactly_one(each for way, each in over if way.start <= run < way.stop)
        both = {pair: model.new_bool_var("") for pair in self.delays}
        for pair, each in both.items():
            model.add_bool_or(each, *(taken[number].negated() for number in pair if number >= 0))
        for ways in self.forbidden:
            model.add_bool_or([taken[number].negated() for number in ways])
        for clocks in self.clocks:
            weights = [way.weight(clocks[way.start], clocks[way.stop]) for way in self.ways]
            later = [
                self.ways[number].weight(*self._ends(number, clocks), cycles) - weights[number]
                for (_, number), cycles in self.delays.items()
            ]
            total = self.sat.LinearExpr.weighted_sum([*taken, *both.values()], [*weights, *later])
            model.add(end >= total + sum(self._between(*each) for each in enumerate(clocks)))
        model.minimize(end)
        return model, taken

    def _ends(self, number: int, clocks: Sequence[int]) -> tuple[int, int]:
        return clocks[self.ways[number].start], clocks[self.ways[number].stop]

    def _between(self, border: int, clock: int) -> int:
        """How much later a clock is when ways begin at a border than when others end there: loads that have
        been kept are none for the engine."""
        kept = self.kept[border] if clock == DMA and border < self.count else 0
        return self.more.get(border, 0) - kept

    def chain(self, numbers: Iterable[int]) -> tuple[WayChain, tuple[int, ...]]:
        """Return the chain of these ways, and the clocks of the borders on its longest path."""
        order = sorted(numbers, key=lambda number: self.ways[number].start)
        times, ends, before = [0, 0], list[int](), list[tuple[int, int]]()
        for last, number in zip((-1, *order), order, strict=False):
            way, delay = self.ways[number], self.delays.get((last, number), 0)
            begun = [times[clock] + self._between(way.start, clock) for clock in (NPU, DMA)]
            reached = [
                max((begun[clock] + way.weight(clock, after, delay), clock) for clock in (NPU, DMA))
                for after in (NPU, DMA)
            ]
            times = [time for time, _ in reached]
            ends.append(times[NPU])
            before.append((reached[NPU][1], reached[DMA][1]))
        last = max((NPU, DMA), key=times.__getitem__)
        cycles, found = times[last] + self.more.get(self.count, 0), [last]
        for number, clocks in zip(reversed(order), reversed(before), strict=True):
            begins, inside = clocks[found[-1]], range(self.ways[number].stop - 1, self.ways[number].start, -1)
            # Inside of a way nothing counts as kept.
            found += [*(NPU if self.kept[border] else begins for border in inside), begins]
        return WayChain(cycles, tuple(order), tuple(ends)), tuple(reversed(found))
