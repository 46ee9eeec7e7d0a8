"""The fastest of several streamers for one program, by the forecast of cycles without contention.

The packer may find no plan for a schedule. Then its streamer tries again with less memory, and the schedule
with the fastest forecast is packed next. So the plan that results is forecast to be at least as fast as every
other candidate's with the memory that this one was given last.

A ``MemoryProbe`` is packed first, as it needs the least memory. Once its schedule fits, its followers begin
with the same budget; where the packer finds no plan for one, the next of its sequence is tried.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from heapq import heappop, heappush
from math import inf

from chipmodel.errors import DoesNotFit
from chipmodel.model.schedule import Schedule
from chipmodel.records import dataclass
from dma.schedule.buffer_names import with_readable_names
from dma.schedule.build import BuildCache, StreamRequest, build_schedule
from dma.schedule.expected_forecast import ScheduleForecast
from dma.schedule.streamer import MemoryProbe, Streamer, StreamerPortfolio
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
    probe: MemoryProbe | None = None
    """The followers of this one begin once the packer has a plan for this schedule."""
    fallbacks: tuple[Streamer, ...] | None = None
    """Tried with the same budget where the packer finds no plan; None: the same streamer with less memory."""
    named: bool = False
    """Whether the buffers have readable names."""


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
        self.rivals = len(candidates) > 1 or any(isinstance(each, MemoryProbe) for each in candidates)
        self.cache = BuildCache()
        self.waiting: list[tuple[bool, float, int, RankedSchedule]] = []
        self.entered = 0
        self.refusal: DoesNotFit | None = None
        self.deadline = deadline
        self.untried = list(reversed(self.portfolio.candidates))
        self._try_more()

    @property
    def least(self) -> float:
        """The fastest forecast of the schedules that wait to be packed."""
        return min((ranked.cycles for *_, ranked in self.waiting), default=inf)

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
        """A schedule of ``streamer`` with at most ``budget`` bytes alive at once, not tried again with less;
        None where there is none."""
        schedule = self._build(streamer, budget)
        if schedule is None:
            return None
        schedule = self._named(schedule, streamer)
        cycles = self.forecast.cycles(schedule)
        return RankedSchedule(streamer, budget, schedule, cycles, fallbacks=())

    def next_untried(self) -> RankedSchedule | None:
        """A schedule of the next candidate that was not tried, whatever the deadline; None where none of
        them has one. A probe is in the race for its own schedule alone."""
        while self.untried:
            candidate = self.untried.pop()
            streamer = candidate.streamer if isinstance(candidate, MemoryProbe) else candidate
            if found := self.with_less(streamer, self.request.budget):
                return found
        return None

    def with_names(self, ranked: RankedSchedule) -> RankedSchedule:
        """``ranked``, its buffers with readable names. They take long for a cascade's hundreds of steps, and
        most candidates are never packed."""
        if ranked.named:
            return ranked
        schedule = with_readable_names(self.request.program, ranked.schedule)
        return replace(ranked, schedule=schedule, named=True)

    def fits(self, ranked: RankedSchedule) -> bool:
        """Report that the packer has a plan for ``ranked``. Returns whether to use it; if not, its followers
        are in the race now."""
        if ranked.probe is None:
            return True
        self._wait(replace(ranked, probe=None))
        entered = inf
        for streamer, *fallbacks in ranked.probe.followers:
            entered = self._follow(streamer, ranked.budget, fallbacks)
        for streamer, *fallbacks in ranked.probe.finer:
            if entered > self.least:
                break
            entered = self._follow(streamer, ranked.budget, fallbacks)
        return False

    def _follow(self, streamer: Streamer, budget: int, fallbacks: Sequence[Streamer]) -> float:
        """Let a follower enter while there is time. Returns its forecast; infinity where it has none."""
        if self.deadline.ends(FURTHER_SCHEDULES):
            return inf
        return self._enter(streamer, budget, fallbacks=tuple(fallbacks))

    def does_not_fit(self, ranked: RankedSchedule, budget: int) -> None:
        """Report that the packer has no plan for ``ranked``: it is tried again with ``budget`` bytes, if that
        is more than 0, or gives way to its first fallback."""
        if ranked.fallbacks is None:
            if budget > 0:
                self._enter(ranked.streamer, budget, ranked.probe)
        elif ranked.fallbacks:
            self._enter(ranked.fallbacks[0], ranked.budget, fallbacks=ranked.fallbacks[1:])
        self._try_more()

    def _try_more(self) -> None:
        """Build schedules of untried candidates, one in any case."""
        while self.untried and not (self.entered and self.deadline.ends(FURTHER_SCHEDULES)):
            candidate = self.untried.pop()
            if isinstance(candidate, MemoryProbe):
                self._enter(candidate.streamer, self.request.budget, candidate)
            else:
                self._enter(candidate, self.request.budget)

    def _enter(
        self,
        streamer: Streamer,
        budget: int,
        probe: MemoryProbe | None = None,
        fallbacks: tuple[Streamer, ...] | None = None,
    ) -> float:
        """Build a schedule that waits to be packed. Returns its forecast; infinity where there is none."""
        schedule = self._build(streamer, budget)
        if schedule is None:
            return inf
        cycles = 0.0
        if self.rivals:
            schedule = self._named(schedule, streamer)
            cycles = self.forecast.cycles(schedule)
        self._wait(RankedSchedule(streamer, budget, schedule, cycles, probe, fallbacks))
        return cycles

    def _named(self, schedule: Schedule, streamer: Streamer) -> Schedule:
        name = streamer.family if self.portfolio.chooses_by_cycles else self.portfolio.name
        return replace(schedule, streamer=name, late=())

    def _build(self, streamer: Streamer, budget: int) -> Schedule | None:
        try:
            return build_schedule(replace(self.request, budget=budget), streamer, self.cache)
        except DoesNotFit as refusal:
            self.refusal = self.refusal or refusal  # of the first candidate, which needs least
            return None

    def _wait(self, ranked: RankedSchedule) -> None:
        self.entered += 1
        heappush(self.waiting, (ranked.probe is None, ranked.cycles, self.entered, ranked))
