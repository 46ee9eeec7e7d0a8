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
    """Sums for a problem: variables are shares of items from 0 to 1, times are in units of ``unit``
    cycles."""

    def __init__(self, problem: ResidencyProblem, relaxed: bool) -> None:
        self.problem = problem
        self.relaxed = relaxed
        self.solver = linear_solvers().Solver.CreateSolver("GLOP" if relaxed else "SCIP")
        self.infinity = self.solver.infinity()
        self.unit = _unit(problem)
        count = len(problem.steps)
        self.moved: list[list[tuple[Fraction, Any]]] = [[] for _ in range(count + 1)]
        """Loads and stores in each interval; the last interval is after all steps."""
        self.sometime: list[list[tuple[Fraction, Any]]] = [[] for _ in range(count)]
        """Loads and stores in this interval or any earlier one."""
        self.waited: list[list[tuple[Fraction, Any]]] = [[] for _ in range(count)]
        """Loads and stores that must end before the step computes."""
        self.held: list[list[tuple[int, Any]]] = [[] for _ in range(count)]
        """Bytes in SharedMemory at the end of each step's compute."""
        self.through: list[list[tuple[int, Any]]] = [[] for _ in range(count)]
        """Bytes in SharedMemory throughout the step."""
        self.meanwhile: list[list[tuple[int, Any]]] = [[] for _ in range(count)]
        """Bytes of streamed items and of the step's own weights that move while it computes."""
        self.operands: list[dict[int, Any]] = [{} for _ in range(count)]
        """Most bytes that a step's own items take at any time, by item."""
        self.endings: list[dict[int, Any]] = [{} for _ in range(count)]
        """The same at the end of the step."""
        self.shrinks: set[int] = {option.step for option in problem.options if option.ending is not None}
        """Steps whose operands take less at the end."""
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
        return self.share() if self.relaxed else self.solver.BoolVar("")

    def occupy(self, step: int, size: int, share: Any) -> None:
        self.held[step].append((size, share))
        self.through[step].append((size, share))

    def load(self, interval: int, cycles: Fraction) -> Any:
        share = self.share()
        self.moved[interval].append((cycles, share))
        return share

    def sometime_load(self, interval: int, cycles: Fraction) -> Any:
        share = self.share()
        self.sometime[interval].append((cycles, share))
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
        self._idle()
        times = [*(step.times for step in self.problem.steps), 1]
        total = sum(t * d for t, d in zip(times, self.durations, strict=True))
        if dma_weight:
            moved = (*(a + b for a, b in zip(self.moved, self.sometime, strict=False)), self.moved[-1])
            total += dma_weight * sum(t * self.time(m) for t, m in zip(times, moved, strict=True))
        self.solver.Minimize(total)

    def _share_in_place(self) -> None:
        """Ensure that items that share bytes in place take those of the larger side."""
        for overlay in self.problem.overlays:
            for taken, lie in ((self.operands, self.through), (self.endings, self.held)):
                sides = list(self._sides(overlay, taken[overlay.step]))
                if len(sides) < 2:
                    continue
                both = self.solver.NumVar(0, self.infinity, "")
                for side in sides:
                    self.solver.Add(both >= side)
                lie[overlay.step].append((1, both))

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
        waited += self._interrupted(step)
        self.solver.Add(duration >= waited + self.problem.steps[step].cycles / self.unit + more - less)
        self.solver.Add(duration >= self.time(self.moved[step]))
        return duration

    def _interrupted(self, step: int) -> Any:
        """Ensure that the step waits for transfers for which its option leaves no memory while it
        computes."""
        options = self.options.get(step, ())
        limits = [(option.meanwhile, chosen) for option, chosen in options if option.meanwhile is not None]
        if not limits or not self.problem.each:
            return 0
        capacity = self.problem.capacity
        waits = self.solver.NumVar(0, self.infinity, "")
        every = sum(size for size, _ in self.meanwhile[step]) / capacity
        free = sum((most / capacity - every) * chosen for most, chosen in limits)
        moves = sum(size / capacity * share for size, share in self.meanwhile[step])
        self.solver.Add(moves <= waits + every + free)
        return float(self.problem.each * capacity / self.unit) * waits

    def _after(self) -> Any:
        duration = self.solver.NumVar(0, self.infinity, "")
        self.solver.Add(duration >= self.time(self.moved[-1]))
        return duration

    def _idle(self) -> None:
        """Ensure that the engine has enough idle time for transfers that may be in any earlier interval."""
        last = max((step for step, moves in enumerate(self.sometime) if moves), default=-1)
        idle: Any = 0
        for step, moves in enumerate(self.sometime[: last + 1]):
            left = self.solver.NumVar(0, self.infinity, "")
            own = self.durations[step] - self.time(self.moved[step]) - self.time(moves)
            self.solver.Add(left == idle + self.problem.steps[step].times * own)
            idle = left

    def _memory(self, step: int) -> None:
        """Ensure that operands, kept items and loaded items fit SharedMemory at the end of the step, and
        where its operands take most, if that is more."""
        self._fit(self.held[step], self.endings[step])
        if step in self.shrinks:
            self._fit(self.through[step], self.operands[step])

    def _fit(self, lie: list[tuple[int, Any]], operands: dict[int, Any]) -> None:
        capacity = self.problem.capacity
        summed: defaultdict[int, float] = defaultdict(float)
        variables: dict[int, Any] = {}
        for size, share in lie:
            variables[share.index()] = share
            summed[share.index()] += size / capacity
        total = sum(summed[i] * variables[i] for i in summed)
        self.solver.Add(total + sum(operands.values()) * (1 / capacity) <= 1)


def _unit(problem: ResidencyProblem) -> Fraction:
    compute = sum(step.cycles * step.times for step in problem.steps)
    moved = sum((max(item.loads) + item.store for item in problem.items), Fraction(0))
    return max(Fraction(1, 1000), Fraction(compute + moved) / TIME_UNITS)
