"""When to issue every weight load of a straight stretch: the quickest plan, and what proves it.

``solve_stream`` starts from a plan, and searches with growing width (``stream_search``) until nothing is left
out or the limits are reached. The bound of what was left out holds for all plans; so status and gap are
known at any time. Of the quickest plans one with the smallest peak of weight bytes is taken: the search is
repeated with less room.

Decided together: which load is issued at which step, and so the order of the queue, how far ahead loads go
and when bytes are taken. Given: the slices, the order of steps, every other transfer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Literal, NamedTuple

from solvers.core.outcome import Limits
from solvers.loads.problem import StreamProblem, queue, run
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
"""Widths and turns of ``LoadSearch.run``, the last one complete."""
MAX_DELAY_CHECKS = 100_000
"""Slices times steps up to which loads are put off one by one at the end."""


class StreamProgress(NamedTuple):
    """What is known after ``nodes`` states; cycles."""

    nodes: int
    cycles: int
    lower_bound: int
    peak: int


StreamReport = Callable[[StreamProgress], None]
"""Called whenever the best plan or the bound changes."""


@dataclass(frozen=True, slots=True)
class StreamOutcome:
    """``optimal``: no plan takes fewer cycles; ``feasible``: none fewer than ``lower_bound``."""

    status: Literal["optimal", "feasible"]
    positions: tuple[int, ...]
    """The step at which each slice's load is issued."""
    order: tuple[int, ...]
    """The slices in the order of the queue."""
    cycles: int
    lower_bound: int
    peak: int
    """The most bytes of weights at any step."""
    least_peak: bool
    """Whether no plan of as many cycles has a smaller one."""
    nodes: int
    trajectory: tuple[StreamProgress, ...]

    @property
    def gap(self) -> float:
        """By how much of ``cycles`` the best plan may be quicker at most."""
        return 1 - self.lower_bound / self.cycles if self.cycles else 0.0


def solve_stream(
    problem: StreamProblem,
    limits: Limits | None = None,
    report: StreamReport | None = None,
    hint: Sequence[int] | None = None,
    gap: float = 0.0,
) -> StreamOutcome:
    """The quickest plan of ``problem``, then the one with the smallest peak; never worse than ``hint``.

    Without limits the search is complete, but that it stops at a plan whose proven ``gap`` is no more than
    that. The same problem, hint and ``limits.nodes`` give the same answer; ``limits.seed`` and
    ``limits.threads`` play no part. Raises ValueError where the hint breaks the problem.
    """
    if hint is not None and not problem.fits(hint):
        raise ValueError("the hint issues a load too late, or where there is no room")
    return _Solver(problem, limits or Limits(), report, hint, gap).solve()


class _Solver:
    def __init__(
        self,
        problem: StreamProblem,
        limits: Limits,
        report: StreamReport | None,
        hint: Sequence[int] | None,
        gap: float,
    ) -> None:
        self.problem, self.report, self.gap = problem, report, gap
        self.positions = [s.first for s in problem.slices] if hint is None else list(hint)
        self.cycles = run(problem, self.positions).end
        self.peak = problem.peak(self.positions)
        self.bound = 0
        self.least_peak = False
        self.effort = NodeBudget(limits.nodes, _late(limits))
        self.trajectory: list[StreamProgress] = []

    def solve(self) -> StreamOutcome:
        """Cycles first, bytes second."""
        search = LoadSearch(self.problem, self.problem.spare)
        self._raise(search.root)
        self._quicken(search)
        self._put_off()
        if self.bound >= self.cycles:
            self._shrink()
            self._put_off()
        order = tuple(index for _, index in queue(self.problem, self.positions) if index >= 0)
        return StreamOutcome(
            "optimal" if self.bound >= self.cycles else "feasible",
            tuple(self.positions),
            order,
            self.cycles,
            self.bound,
            self.peak,
            self.least_peak,
            self.effort.nodes,
            tuple(self.trajectory),
        )

    def _quicken(self, search: LoadSearch) -> None:
        for width, turns in PASSES:
            if self.cycles - self.bound <= self.gap * self.cycles or self.effort.spent():
                return
            found = search.run(width, turns, self.cycles, self.effort)
            if found.end is not None:
                self._offer(found.positions)
            self._raise(self.cycles if found.bound is None else min(found.bound, self.cycles))

    def _shrink(self) -> None:
        """Halves what is not known about the smallest peak of plans as quick as the best."""
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
        """A plan as quick as the best with at most ``most`` bytes; none there: []; not known: None."""
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

    def _put_off(self) -> None:
        """Each load as late as no step starts later for it: bytes are taken for less long."""
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
        assert self.problem.fits(positions), "the search keeps to the room"
        cycles, peak = run(self.problem, positions).end, self.problem.peak(positions)
        if (cycles, peak) < (self.cycles, self.peak):
            self.positions, self.cycles, self.peak = positions, cycles, peak
            self._tell()

    def _raise(self, bound: int) -> None:
        if bound > self.bound or not self.trajectory:
            self.bound = max(bound, self.bound)
            self._tell()

    def _tell(self) -> None:
        progress = StreamProgress(self.effort.nodes, self.cycles, self.bound, self.peak)
        self.trajectory.append(progress)
        if self.report is not None:
            self.report(progress)


def _late(limits: Limits) -> Iterator[bool]:
    began = perf_counter()
    while True:
        yield limits.left(began) == 0.0
