"""The fastest of several streamers for one program, by the forecast of cycles without contention.

The packer may find no plan for a schedule. Then its streamer tries again with less memory, and the schedule
with the fastest forecast is packed next. So the plan that results is forecast to be at least as fast as every
other candidate's with the memory that this one was given last.
"""

from __future__ import annotations

from dataclasses import replace
from heapq import heappop, heappush

from chipmodel.errors import DoesNotFit
from chipmodel.model.program import Loop
from chipmodel.model.schedule import Schedule
from chipmodel.model.tree import walk
from chipmodel.records import dataclass
from dma.schedule.build import BudgetCache, StreamRequest, build_schedule
from dma.schedule.path_forecast import ScheduleForecast
from dma.schedule.streamer import Streamer, StreamerPortfolio
from solvers.core.deadline import NO_DEADLINE, Deadline


@dataclass(frozen=True, slots=True)
class RankedSchedule:
    """A streamer's schedule with at most ``budget`` bytes alive at once."""

    streamer: Streamer
    budget: int
    schedule: Schedule
    cycles: float
    """Forecast core cycles."""


class StreamerRace:
    """The candidates of ``portfolio`` for ``request``, of which the first is tried whatever the deadline, and
    none after one whose forecast is ``enough``."""

    def __init__(
        self,
        request: StreamRequest,
        portfolio: StreamerPortfolio,
        deadline: Deadline = NO_DEADLINE,
        enough: float = 0,
    ) -> None:
        self.request = request
        self.forecast = ScheduleForecast(request.program, request.chip)
        portfolio = portfolio.on(request.chip)
        has_loops = any(isinstance(node, Loop) for node in walk(request.program.body))
        self.portfolio = portfolio.with_loop_candidates() if has_loops else portfolio
        self.cache: BudgetCache = {}
        self.waiting: list[tuple[float, int, RankedSchedule]] = []
        self.entered = 0
        self.refusal: DoesNotFit | None = None
        for streamer in self.portfolio.candidates:
            if self.waiting and self.waiting[0][0] <= enough:
                break
            if self.entered and deadline.ends("further schedules"):
                break
            self.enter(streamer, request.budget)

    def next(self) -> RankedSchedule | None:
        """Remove and return the schedule to pack next, its buffers with short names; None where none is left.
        Raises DoesNotFit where there was none at all."""
        if not self.entered and self.refusal:
            raise self.refusal
        return heappop(self.waiting)[-1] if self.waiting else None

    def enter(self, streamer: Streamer, budget: int) -> None:
        """Let a schedule of ``streamer`` with at most ``budget`` bytes alive at once wait to be packed, if
        there is one."""
        try:
            schedule = build_schedule(replace(self.request, budget=budget), streamer, self.cache)
        except DoesNotFit as refusal:
            self.refusal = self.refusal or refusal  # of the first candidate, which needs least
            return
        if len(self.portfolio.candidates) > 1:
            name = streamer.family if self.portfolio.chooses_by_cycles else self.portfolio.name
            schedule = replace(schedule, streamer=name, late=())
        cycles = self.forecast.cycles(schedule)
        self.entered += 1
        heappush(self.waiting, (cycles, self.entered, RankedSchedule(streamer, budget, schedule, cycles)))
