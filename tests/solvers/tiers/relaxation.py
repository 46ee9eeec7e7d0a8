"""The least that any state of a two-tier problem costs: which blocks lie where, without their places.

A relaxation of the states of the tiered-memory patent (CN, 2022), as a mixed-integer program for SCIP: at
each step the blocks in the first tier take no more bytes than there are. So no state is cheaper, and where
the initial state costs as much, no search can help.
"""

from fractions import Fraction
from importlib import import_module
from itertools import combinations
from typing import Any

from solvers.tiers.problem import TierProblem
from solvers.tiers.tables import TierTables

pywraplp: Any = import_module("ortools.linear_solver.pywraplp")  # which has no types

SECONDS = 20


def least_cycles(problem: TierProblem) -> Fraction:
    """A lower bound on ``State.cycles``; SCIP's word for it, less a billionth for its tolerances."""
    return _Model(TierTables(problem)).bound()


class _Model:
    def __init__(self, tables: TierTables) -> None:
        assert tables.last == 1
        self.tables, self.problem = tables, tables.problem
        self.model = pywraplp.Solver.CreateSolver("SCIP")
        self.cost: list[Any] = []
        self.fast = {
            (b, s): self.model.BoolVar("")
            for b, block in enumerate(self.problem.blocks)
            for s in range(block.start, block.stop)
        }
        for index in range(len(self.problem.blocks)):
            self._block(index)
        for step in range(len(self.problem.steps)):
            self._step(step)

    def _block(self, index: int) -> None:
        block, model, fast, times = self.problem.blocks[index], self.model, self.fast, self.tables.times
        load, store = self.tables.transfer(index, 1, 0), self.tables.transfer(index, 0, 1)
        if block.pinned is not None:
            for step in range(block.start, block.stop):
                model.Add(fast[index, step] == 1 - block.pinned)
        if block.home == 1:
            self.cost.append(load * times[block.start] * fast[index, block.start])
        stored = model.BoolVar("")
        for step in range(block.start + 1, block.stop):
            before, now = fast[index, step - 1], fast[index, step]
            if not block.swaps:
                model.Add(before == now)
                continue
            brought = model.BoolVar("")
            model.Add(brought >= now - before)
            self.cost.append(load * times[step] * brought)
            if block.home != 1:
                model.Add(stored >= fast[index, block.start] - now)
        if block.ends == 1 and block.home != 1:
            model.Add(stored >= fast[index, block.start])
        self.cost.append(store * min(times[block.start : block.stop]) * stored)

    def _step(self, step: int) -> None:
        tables, fast = self.tables, self.fast
        taken: list[Any] = []
        for index, block in enumerate(self.problem.blocks):
            if block.start <= step < block.stop:
                taken.append(self._need(index, step) * fast[index, step])
            if block.start == step:
                taken += [-block.bytes * self._overwritten(index, under) for under in block.overwrites[:1]]
        room = tables.free_bytes[step] if tables.limited else tables.capacity[0]
        self.model.Add(sum(taken) <= room)
        self._covers(step, room)
        for index, _, (quick, slow) in tables.tasks[step]:
            self.cost.append(tables.times[step] * (slow + (quick - slow) * fast[index, step]))

    def _covers(self, step: int, room: int) -> None:
        """Blocks that do not fit together: implied, but what a linear relaxation does not see."""
        alone = [
            (self._need(index, step), index)
            for index, block in enumerate(self.problem.blocks)
            if block.start <= step < block.stop and not (block.start == step and block.overwrites)
        ]
        largest = sorted(alone, reverse=True)[:8]
        for count in (1, 2, 3, 4):
            for chosen in combinations(largest, count):
                if sum(need for need, _ in chosen) > room:
                    self.model.Add(sum(self.fast[index, step] for _, index in chosen) <= count - 1)

    def _need(self, index: int, step: int) -> int:
        block, tables = self.problem.blocks[index], self.tables
        return tables.need[index][step - block.start] if tables.limited else block.bytes

    def _overwritten(self, index: int, under: int) -> Any:
        step = self.problem.blocks[index].start
        both = self.model.BoolVar("")
        others = [block for block, _, _ in self.tables.tasks[step]] if self.tables.cuts[step] else []
        for other in (index, under, *others):
            self.model.Add(both <= self.fast[other, step])
        return both

    def bound(self) -> Fraction:
        """Raises AssertionError where SCIP finds no state at all."""
        self.model.SetTimeLimit(1000 * SECONDS)
        self.model.Minimize(self.model.Sum(self.cost))
        assert self.model.Solve() in (pywraplp.Solver.OPTIMAL, pywraplp.Solver.FEASIBLE)
        bound = self.model.Objective().BestBound() * (1 - 1e-9)
        return Fraction(int(bound), self.tables.scale)
