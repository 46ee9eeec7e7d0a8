"""When to issue every weight load of a straight-line segment: the fastest plan, with proof.

``solve_stream`` starts from a plan, and searches with growing width (``solvers.loads.search``) until nothing
is dropped or the limits are reached. The bound of what was dropped holds for all plans, so status and gap are
known at any time. Of the fastest plans one with the smallest peak of weight bytes is taken: the search is
repeated with less space.

Decided together: the step at which each load is issued, and so the order of the queue, how early loads are,
and when bytes are taken. Given: the slices, the order of steps, every other transfer.

Source: this project (docs/references.md).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Literal

from solvers.core.outcome import Limits
from solvers.loads.problem import StreamProblem, run
from solvers.loads.search import LoadSearch, NodeBudget

PASSES: tuple[tuple[int | None, int | None], ...] = (
    (1, 0),
    (4, 1),
    (16, 1),
    (64, 2),
    (512, 3),
    (4096, 4),
    (None, None),
)
"""Widths and turns of successive passes (``LoadSearch.run``); the last one is complete."""
MAX_DELAY_CHECKS = 100_000
"""Slices times steps up to which loads are delayed one by one at the end."""


@dataclass(frozen=True, slots=True)
class StreamOutcome:
    """``optimal``: no plan takes fewer cycles; ``feasible``: no plan takes fewer than ``lower_bound``."""

    status: Literal["optimal", "feasible"]
    positions: tuple[int, ...]
    """The step at which each slice's load is issued."""
    cycles: int
    lower_bound: int
    peak: int
    """The most bytes of weights at any step."""
    least_peak: bool
    """Whether no equally fast plan has a smaller peak."""
    nodes: int

    @property
    def gap(self) -> float:
        """The share of ``cycles`` by which another plan may at most be faster."""
        return 1 - self.lower_bound / self.cycles if self.cycles else 0.0


def solve_stream(
    problem: StreamProblem,
    limits: Limits | None = None,
    hint: Sequence[int] | None = None,
    gap: float = 0.0,
) -> StreamOutcome:
    """Return the fastest plan of ``problem``, of several one with the smallest peak; never worse than
    ``hint``.

    Without limits the search ends with a proof, or earlier at a plan whose proven gap is at most ``gap``.
    Deterministic for the same ``limits.nodes``; ``limits.seed`` and ``limits.threads`` are not used. Raises
    ValueError where the hint is no plan of the problem.
    """
    if hint is not None and not problem.fits(hint):
        raise ValueError("the hint issues a load too late, or where there is no space")
    return _LoadSolver(problem, limits or Limits(), hint, gap).solve()


class _LoadSolver:
    """The best plan and bound so far."""

    def __init__(
        self, problem: StreamProblem, limits: Limits, hint: Sequence[int] | None, gap: float
    ) -> None:
        self.problem, self.gap = problem, gap
        self.positions = [s.first for s in problem.slices] if hint is None else list(hint)
        self.cycles = run(problem, self.positions).end
        self.peak = problem.peak(self.positions)
        self.bound = 0
        self.least_peak = False
        self.effort = NodeBudget(limits.nodes, _late(limits))

    def solve(self) -> StreamOutcome:
        """Minimise cycles, then bytes."""
        search = LoadSearch(self.problem, self.problem.spare)
        self.bound = search.root
        self._minimise_cycles(search)
        self._delay_loads()
        if self.bound >= self.cycles:
            self._minimise_peak()
            self._delay_loads()
        return StreamOutcome(
            "optimal" if self.bound >= self.cycles else "feasible",
            tuple(self.positions),
            self.cycles,
            self.bound,
            self.peak,
            self.least_peak,
            self.effort.nodes,
        )

    def _minimise_cycles(self, search: LoadSearch) -> None:
        for width, turns in PASSES:
            if self.cycles - self.bound <= self.gap * self.cycles or self.effort.spent():
                return
            found = search.run(width, turns, self.cycles, self.effort)
            if found.end is not None:
                self._offer(found.positions)
            bound = self.cycles if found.bound is None else min(found.bound, self.cycles)
            self.bound = max(bound, self.bound)

    def _minimise_peak(self) -> None:
        """Find the smallest peak of plans as fast as the best, by bisection."""
        low = max(self.problem.readers, default=0)
        while low < self.peak and not self.effort.spent():
            most = (low + self.peak) // 2
            plan = self._within(most)
            if plan is None:
                return
            if plan:
                self._offer(plan)
            else:
                low = most + 1
        self.least_peak = low >= self.peak

    def _within(self, most: int) -> list[int] | None:
        """A plan as fast as the best with at most ``most`` bytes; [] if there is none, None if unknown."""
        both = zip(self.problem.spare, self.problem.readers, strict=True)
        search = LoadSearch(self.problem, [min(spare, most - own) for spare, own in both])
        if search.root > self.cycles:
            return []
        for width, turns in PASSES:
            found = search.run(width, turns, self.cycles + 1, self.effort)
            if found.end is not None:
                return found.positions
            if found.bound is None or found.bound > self.cycles:
                return []
            if self.effort.spent():
                return None
        return None

    def _delay_loads(self) -> None:
        """Delay each load as far as delays no step, so that its bytes are taken for less long."""
        if len(self.positions) * len(self.problem.computes) > MAX_DELAY_CHECKS:
            return
        now = run(self.problem, self.positions)
        tried = list(self.positions)
        for index in range(len(tried) - 1, -1, -1):
            low, high = tried[index], self.problem.slices[index].first
            while low < high:
                tried[index] = (low + high + 1) // 2
                then = run(self.problem, tried)
                late = then.end > now.end or any(a > b for a, b in zip(then.starts, now.starts, strict=True))
                low, high = (low, tried[index] - 1) if late else (tried[index], high)
            tried[index] = low
        self._offer(tried)
        self.positions = tried

    def _offer(self, positions: list[int]) -> None:
        assert self.problem.fits(positions), "the search exceeded the space"
        cycles, peak = run(self.problem, positions).end, self.problem.peak(positions)
        if (cycles, peak) < (self.cycles, self.peak):
            self.positions, self.cycles, self.peak = positions, cycles, peak


def _late(limits: Limits) -> Iterator[bool]:
    began = perf_counter()
    while True:
        yield limits.left(began) == 0.0
