"""What every interval moves, waits for and holds: the accounts of ``solvers.residency.milp``.

An interval runs from the end of the step before to its own step's end. Whoever decides about items enters
what they move and the memory they take; ``settle`` then asks each interval to be long enough, and memory to
do.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from fractions import Fraction
from importlib import import_module
from typing import Any

from solvers.residency.problem import InPlaceItems, PassingOption, ResidencyProblem

TIME_UNITS = 100_000
"""All steps' compute and all loads take about so many units of time: numbers that floats are good at."""


class ResidencyAccounts:
    """Variables are shares of an item from 0 to 1, and time in units of ``unit`` cycles."""

    def __init__(self, problem: ResidencyProblem, relaxed: bool) -> None:
        self.problem = problem
        self.relaxed = relaxed
        self.solver = _solver("GLOP" if relaxed else "SCIP")
        self.infinity = self.solver.infinity()
        self.unit = _unit(problem)
        count = len(problem.steps)
        self.moved: list[list[tuple[Fraction, Any]]] = [[] for _ in range(count + 1)]
        """Loads and stores in each interval; the last one is after all steps."""
        self.sometime: list[list[tuple[Fraction, Any]]] = [[] for _ in range(count)]
        """Loads and stores in this interval or in any before it."""
        self.waited: list[list[tuple[Fraction, Any]]] = [[] for _ in range(count)]
        """Of those, what has to end before the step computes."""
        self.held: list[list[tuple[int, Any]]] = [[] for _ in range(count)]
        """Bytes in SharedMemory at the end of each step's compute."""
        self.through: list[list[tuple[int, Any]]] = [[] for _ in range(count)]
        """Bytes there all along the step."""
        self.meanwhile: list[list[tuple[int, Any]]] = [[] for _ in range(count)]
        """Bytes that move while the step computes, of what passes and of its own weights."""
        self.operands: list[dict[int, Any]] = [{} for _ in range(count)]
        """Bytes that a step's own items take where they take most, by item."""
        self.endings: list[dict[int, Any]] = [{} for _ in range(count)]
        """The same at the end."""
        self.shrinks: set[int] = {option.step for option in problem.options if option.ending is not None}
        """Steps at whose end operands take less."""
        self.options: defaultdict[int, list[tuple[PassingOption, Any]]] = defaultdict(list)
        for option in problem.options:
            self.options[option.step].append((option, self.either()))
        self.saved: defaultdict[int, list[tuple[int, Any]]] = defaultdict(list)
        """Cycles that the NPU has less to do."""
        self.durations: list[Any] = []

    # -- entries -------------------------------------------------------------------------------

    def share(self) -> Any:
        return self.solver.NumVar(0, 1, "")

    def either(self) -> Any:
        return self.share() if self.relaxed else self.solver.BoolVar("")

    def lies(self, step: int, size: int, share: Any) -> None:
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

    def settle(self, thrift: float) -> None:
        """The least of all intervals together, of ``thrift`` as ``solve_residency`` says."""
        count = len(self.problem.steps)
        self._overlaid()
        self.durations = [self._duration(step) for step in range(count)]
        self.durations.append(self._after())
        for step in range(count):
            self._room(step)
        self._idle()
        times = [*(step.times for step in self.problem.steps), 1]
        total = sum(t * d for t, d in zip(times, self.durations, strict=True))
        if thrift:
            moved = (*(a + b for a, b in zip(self.moved, self.sometime, strict=False)), self.moved[-1])
            total += thrift * sum(t * self.time(m) for t, m in zip(times, moved, strict=True))
        self.solver.Minimize(total)

    def _overlaid(self) -> None:
        """Ensures that items in place of one another take the bytes of the larger side."""
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
        """Ensures that an interval is long enough for its transfers, and for what is waited for and then
        computed."""
        duration = self.solver.NumVar(0, self.infinity, "")
        waited = self.time(self.waited[step])
        more = sum(float(option.cycles / self.unit) * chosen for option, chosen in self.options.get(step, ()))
        less = sum(float(cycles / self.unit) * chosen for cycles, chosen in self.saved.get(step, ()))
        waited += self._interrupted(step)
        self.solver.Add(duration >= waited + self.problem.steps[step].cycles / self.unit + more - less)
        self.solver.Add(duration >= self.time(self.moved[step]))
        return duration

    def _interrupted(self, step: int) -> Any:
        """Ensures that what the step's option leaves no memory to move while it computes is waited for."""
        options = self.options.get(step, ())
        told = [(option.meanwhile, chosen) for option, chosen in options if option.meanwhile is not None]
        if not told or not self.problem.each:
            return 0
        capacity = self.problem.capacity
        waits = self.solver.NumVar(0, self.infinity, "")
        every = sum(size for size, _ in self.meanwhile[step]) / capacity
        free = sum((most / capacity - every) * chosen for most, chosen in told)
        moves = sum(size / capacity * share for size, share in self.meanwhile[step])
        self.solver.Add(moves <= waits + every + free)
        return float(self.problem.each * capacity / self.unit) * waits

    def _after(self) -> Any:
        duration = self.solver.NumVar(0, self.infinity, "")
        self.solver.Add(duration >= self.time(self.moved[-1]))
        return duration

    def _idle(self) -> None:
        """Ensures that what moves at some time up to an interval finds the engine idle by then."""
        last = max((step for step, moves in enumerate(self.sometime) if moves), default=-1)
        idle: Any = 0
        for step, moves in enumerate(self.sometime[: last + 1]):
            left = self.solver.NumVar(0, self.infinity, "")
            own = self.durations[step] - self.time(self.moved[step]) - self.time(moves)
            self.solver.Add(left == idle + self.problem.steps[step].times * own)
            idle = left

    def _room(self, step: int) -> None:
        """Ensures that operands, what is kept for later and what is loaded already fit SharedMemory: at the
        end, and where the operands take most, which only matters where that is before the end."""
        self._fits(self.held[step], self.endings[step])
        if step in self.shrinks:
            self._fits(self.through[step], self.operands[step])

    def _fits(self, lie: list[tuple[int, Any]], operands: dict[int, Any]) -> None:
        capacity = self.problem.capacity
        summed: defaultdict[int, float] = defaultdict(float)
        variables: dict[int, Any] = {}
        for size, share in lie:
            variables[share.index()] = share
            summed[share.index()] += size / capacity
        total = sum(summed[i] * variables[i] for i in summed)
        self.solver.Add(total + sum(operands.values()) * (1 / capacity) <= 1)


def _solver(name: str) -> Any:
    pywraplp: Any = import_module("ortools.linear_solver.pywraplp")  # which has no types
    return pywraplp.Solver.CreateSolver(name)


def _unit(problem: ResidencyProblem) -> Fraction:
    compute = sum(step.cycles * step.times for step in problem.steps)
    moved = sum((max(item.loads) + item.store for item in problem.items), Fraction(0))
    return max(Fraction(1, 1000), Fraction(compute + moved) / TIME_UNITS)
