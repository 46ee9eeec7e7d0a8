"""Transfers, waits and memory of every interval, as sums of variables, and their constraints.

An interval runs from the end of the previous step to the end of its own step. ``solvers.residency.milp``
enters what each item moves and the memory it takes; ``add_constraints`` then makes each interval long enough,
and memory suffice.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from solvers.core.or_tools import linear_solvers
from solvers.residency.problem import InPlaceItems, PassingOption, ResidencyProblem

TIME_UNITS = 100_000
"""Total time of a problem in the solver's units, so that numbers suit floating point."""


class ResidencyAccounts:
    """Sums for a problem: variables are shares of items, 0 to 1, times are units of ``unit`` cycles."""

    def __init__(self, problem: ResidencyProblem) -> None:
        self.problem = problem
        self.solver = linear_solvers().Solver.CreateSolver("SCIP")
        self.infinity = self.solver.infinity()
        self.unit = _unit(problem)
        count = len(problem.steps)
        self.moved: list[list[tuple[Fraction, Any]]] = [[] for _ in range(count + 1)]
        """Loads and stores in each interval; the last interval is after all steps."""
        self.waited: list[list[tuple[Fraction, Any]]] = [[] for _ in range(count)]
        """Loads and stores that must end before the step computes."""
        self.held: list[list[tuple[int, Any]]] = [[] for _ in range(count)]
        """Bytes in SharedMemory at the end of each step's compute."""
        self.operands: list[dict[int, Any]] = [{} for _ in range(count)]
        """Bytes that a step's own items take, by item."""
        self.options: defaultdict[int, list[tuple[PassingOption, Any]]] = defaultdict(list)
        for option in problem.options:
            self.options[option.step].append((option, self.binary()))
        self.saved: defaultdict[int, list[tuple[int, Any]]] = defaultdict(list)
        """NPU cycles saved by concatenations in place."""
        self.durations: list[Any] = []

    # -- entries -------------------------------------------------------------------------------

    def share(self) -> Any:
        return self.solver.NumVar(0, 1, "")

    def binary(self) -> Any:
        return self.solver.BoolVar("")

    def load(self, interval: int, cycles: Fraction) -> Any:
        share = self.share()
        self.moved[interval].append((cycles, share))
        return share

    def time(self, moves: list[tuple[Fraction, Any]]) -> Any:
        return sum(float(cycles / self.unit) * share for cycles, share in moves)

    # -- constraints ---------------------------------------------------------------------------

    def add_constraints(self, dma_weight: float) -> None:
        """Constrain all intervals, and minimise their sum; see ``solve_residency`` for ``dma_weight``."""
        count = len(self.problem.steps)
        self._share_in_place()
        self.durations = [self._duration(step) for step in range(count)]
        self.durations.append(self._after())
        for step in range(count):
            self._memory(step)
        times = [*(step.times for step in self.problem.steps), 1]
        total = sum(t * d for t, d in zip(times, self.durations, strict=True))
        if dma_weight:
            total += dma_weight * sum(t * self.time(m) for t, m in zip(times, self.moved, strict=True))
        self.solver.Minimize(total)

    def _share_in_place(self) -> None:
        """Ensure that items that share bytes in place take those of the larger side."""
        for overlay in self.problem.overlays:
            sides = list(self._sides(overlay, self.operands[overlay.step]))
            if len(sides) < 2:
                continue
            both = self.solver.NumVar(0, self.infinity, "")
            for side in sides:
                self.solver.Add(both >= side)
            self.held[overlay.step].append((1, both))

    def _sides(self, overlay: InPlaceItems, operands: dict[int, Any]) -> Iterator[Any]:
        if overlay.over not in operands or not any(i in operands for i in overlay.under):
            return
        yield operands.pop(overlay.over)
        yield sum(operands.pop(item) for item in overlay.under if item in operands)

    def _duration(self, step: int) -> Any:
        """Ensure that an interval is long enough for its transfers, and for its waits followed by compute."""
        duration = self.solver.NumVar(0, self.infinity, "")
        waited = self.time(self.waited[step])
        more = sum(float(option.cycles / self.unit) * chosen for option, chosen in self.options.get(step, ()))
        less = sum(float(cycles / self.unit) * chosen for cycles, chosen in self.saved.get(step, ()))
        self.solver.Add(duration >= waited + self.problem.steps[step].cycles / self.unit + more - less)
        self.solver.Add(duration >= self.time(self.moved[step]))
        return duration

    def _after(self) -> Any:
        duration = self.solver.NumVar(0, self.infinity, "")
        self.solver.Add(duration >= self.time(self.moved[-1]))
        return duration

    def _memory(self, step: int) -> None:
        """Ensure that operands, kept items and loaded items fit SharedMemory at the end of the step."""
        capacity = self.problem.capacity
        summed: defaultdict[int, float] = defaultdict(float)
        variables: dict[int, Any] = {}
        for size, share in self.held[step]:
            variables[share.index()] = share
            summed[share.index()] += size / capacity
        total = sum(summed[i] * variables[i] for i in summed)
        self.solver.Add(total + sum(self.operands[step].values()) * (1 / capacity) <= 1)


def _unit(problem: ResidencyProblem) -> Fraction:
    compute = sum(step.cycles * step.times for step in problem.steps)
    moved = sum((max(item.loads) + item.store for item in problem.items), Fraction(0))
    return max(Fraction(1, 1000), Fraction(compute + moved) / TIME_UNITS)
