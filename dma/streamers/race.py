"""The fastest of several streamers for one program, by the forecast of cycles without contention.

The packer may find no plan for a schedule. Then its streamer tries again with less memory, and the schedule
with the fastest forecast is packed next. So the plan that results is forecast to be at least as fast as every
other candidate's with the memory that this one was given last.
"""

from __future__ import annotations

from dataclasses import replace
from heapq import heappop, heappush

from chipmodel.errors import DoesNotFit
from chipmodel.model.schedule import Schedule
from chipmodel.records import dataclass
from dma.schedule.build import BuildCache, StreamRequest, build_schedule
from dma.schedule.expected_forecast import ScheduleForecast
from dma.schedule.streamer import Streamer, StreamerPortfolio
from solvers.core.deadline import NO_DEADLINE, Deadline

FURTHER_SCHEDULES = "further schedules"
"""What a deadline leaves out, in the words of the answer."""


@dataclass(frozen=True, slots=True)
class RankedSchedule:
    """A streamer's schedule with at most ``budget`` bytes alive at once."""

    streamer: Streamer
    budget: int
    schedule: Schedule
    cycles: float
    """Forecast core cycles; 0 where there is one candidate only."""


class StreamerRace:
    """The candidates of ``portfolio`` for ``request``; ``stop`` says when enough of them were tried."""

    def __init__(
        self,
        request: StreamRequest,
        portfolio: StreamerPortfolio,
        deadline: Deadline = NO_DEADLINE,
    ) -> None:
        self.request = request
        self.forecast = ScheduleForecast(request.program, request.chip)
        portfolio = portfolio.on(request.chip)
        has_loops = bool(self.forecast.probabilities.iterations)
        self.portfolio = portfolio.with_loop_candidates() if has_loops else portfolio
        candidates = self.portfolio.candidates
        self.rivals = len(candidates) > 1
        self.cache = BuildCache()
        self.waiting: list[tuple[float, int, RankedSchedule]] = []
        self.entered = 0
        self.refusal: DoesNotFit | None = None
        self.deadline = deadline
        self.untried = list(reversed(candidates))
        self._try_more()

    @property
    def rounds(self) -> int:
        """How many schedules a packer should try for each that it would try of a single streamer."""
        return len(self.portfolio.candidates)

    def next(self) -> RankedSchedule | None:
        """Remove and return the schedule to pack next, its buffers with short names; None where none is left.
        Raises DoesNotFit where there was none at all."""
        if not self.entered and self.refusal:
            raise self.refusal
        if not self.waiting:
            return None
        return heappop(self.waiting)[-1]

    def with_less(self, streamer: Streamer, budget: int) -> RankedSchedule | None:
        """A schedule of ``streamer`` with at most ``budget`` bytes alive at once; None for none."""
        schedule = self._build(streamer, budget)
        if schedule is None:
            return None
        schedule = self._named(schedule, streamer)
        cycles = self.forecast.cycles(schedule)
        return RankedSchedule(streamer, budget, schedule, cycles)

    def does_not_fit(self, ranked: RankedSchedule, budget: int) -> None:
        """Report that the packer has no plan for ``ranked``: its streamer tries again with ``budget`` bytes,
        if that is more than 0."""
        if budget > 0:
            self._enter(ranked.streamer, budget)
        self._try_more()

    def _try_more(self) -> None:
        """Build schedules of untried candidates, one in any case."""
        while self.untried and not (self.entered and self.deadline.ends(FURTHER_SCHEDULES)):
            self._enter(self.untried.pop(), self.request.budget)

    def _enter(self, streamer: Streamer, budget: int) -> None:
        """Build a schedule that waits to be packed, if there is one."""
        schedule = self._build(streamer, budget)
        if schedule is None:
            return
        cycles = 0.0
        if self.rivals:
            schedule = self._named(schedule, streamer)
            cycles = self.forecast.cycles(schedule)
        self.entered += 1
        heappush(self.waiting, (cycles, self.entered, RankedSchedule(streamer, budget, schedule, cycles)))

    def _named(self, schedule: Schedule, streamer: Streamer) -> Schedule:
        name = streamer.family if self.portfolio.chooses_by_cycles else self.portfolio.name
        return replace(schedule, streamer=name, late=())

    def _build(self, streamer: Streamer, budget: int) -> Schedule | None:
        try:
            return build_schedule(replace(self.request, budget=budget), streamer, self.cache)
        except DoesNotFit as refusal:
            self.refusal = self.refusal or refusal  # of the first candidate, which needs least
            return None
