"""The fastest of several streamers for one program, by the forecast of cycles without contention.

The packer may find no plan for a schedule. Then its streamer tries again with less memory, and the schedule
with the fastest forecast is packed next. So the plan that results is forecast to be at least as fast as every
other candidate's with the memory that this one was given last.

A ``MemoryProbe`` is packed first, as it needs the least memory. Once its schedule fits, its followers begin
with the same budget; where the packer finds no plan for one, the next of its sequence is tried.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from heapq import heappop, heappush
from math import inf
from time import perf_counter

from chipmodel.errors import DoesNotFit
from chipmodel.model.schedule import Schedule
from chipmodel.passes.liveness import liveness
from chipmodel.records import dataclass
from dma.residency.tiling import Tiling
from dma.schedule.buffer_names import with_readable_names
from dma.schedule.build import BuildCache, StreamRequest, build_schedule, memory_budget
from dma.schedule.effort import SearchProgress, StopCriterion
from dma.schedule.expected_forecast import ScheduleForecast
from dma.schedule.quicker_cuts import cut_by_time, quicker_cuts
from dma.schedule.refine import refined
from dma.schedule.streamer import MemoryProbe, Streamer, StreamerPortfolio
from solvers.core.bounds import contention

NEVER_STOP = StopCriterion(gap=-1.0)
"""Every candidate is tried."""
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
    variant: bool = False
    """Whether it differs from one that the packer has a plan for only in that some ops are cut to end
    earlier, or that it is for less memory."""


class StreamerRace:
    """The candidates of ``portfolio`` for ``request``; ``stop`` says when enough of them were tried."""

    def __init__(
        self,
        request: StreamRequest,
        portfolio: StreamerPortfolio,
        stop: StopCriterion = NEVER_STOP,
    ) -> None:
        self.request = replace(request, deadline=stop.deadline)
        self.forecast = ScheduleForecast(request.program, request.chip)
        portfolio = portfolio.on(request.chip)
        has_loops = bool(self.forecast.probabilities.iterations)
        self.portfolio = portfolio.with_loop_candidates() if has_loops else portfolio
        candidates, self.in_stripes = self.portfolio.candidates, self.portfolio.in_stripes
        self.rivals = len(candidates) > 1 or any(isinstance(each, MemoryProbe) for each in candidates)
        self.cache = BuildCache()
        self.waiting: list[tuple[bool, float, int, RankedSchedule]] = []
        self.entered = 0
        self.fastest = inf
        """The fastest forecast that the packer has a plan for, without quicker cuts."""
        self.refusal: DoesNotFit | None = None
        self.began, self.stop = perf_counter(), stop
        self.untried = list(reversed(self.portfolio.candidates))
        self._try_more()
        self._refine()

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
        schedule = self._build(streamer, budget, self.cache)
        if schedule is None:
            return None
        schedule = self._named(schedule, streamer)
        cycles = self.forecast.cycles(schedule)
        return RankedSchedule(streamer, budget, schedule, cycles, fallbacks=(), variant=True)

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
            return ranked.variant or not self._follow_quicker(ranked)
        self._wait(replace(ranked, probe=None))
        entered = inf
        for streamer, *fallbacks in ranked.probe.followers:
            entered = self._follow(streamer, ranked.budget, fallbacks)
        for streamer, *fallbacks in ranked.probe.finer:
            if entered > self.least:
                break
            entered = self._follow(streamer, ranked.budget, fallbacks)
        return False

    def _follow_quicker(self, ranked: RankedSchedule) -> bool:
        """Let the same streamer with quicker cuts enter, if its schedule is the fastest that fits yet, and
        return whether that is faster. Then ``ranked`` comes after it."""
        if not self.portfolio.chooses_by_cycles or ranked.cycles >= self.fastest:
            return False
        self.fastest = ranked.cycles
        if ranked.schedule.striped:
            for each in self.in_stripes:
                if each != ranked.streamer:
                    self._follow(each, ranked.budget, ())
            self.in_stripes = ()
        streamer = self._quicker(ranked)
        if streamer is None or self.stop.deadline.ends(FURTHER_SCHEDULES):
            return False
        if self._enter(streamer, ranked.budget, fallbacks=(), variant=True) >= ranked.cycles:
            return False
        self._wait(replace(ranked, variant=True))
        return True

    def _quicker(self, ranked: RankedSchedule) -> Streamer | None:
        """The streamer of ``ranked`` with cuts that may be quicker."""
        program, chip, schedule = self.request.program, self.request.chip, ranked.schedule
        cuts = quicker_cuts(program, chip, schedule, ranked.cycles)
        streamer = self._overlapping(ranked)
        by_time = schedule.striped and streamer.double_buffered
        if by_time:
            streamer = replace(streamer, cut=streamer.cut or cut_by_time)
        return replace(streamer, cuts=cuts) if by_time or cuts else None

    def _overlapping(self, ranked: RankedSchedule) -> Streamer:
        """The streamer of ``ranked``, or the fastest one that loads while the NPU computes."""
        others = (each.streamer for *_, each in sorted(self.waiting))
        return next((each for each in (ranked.streamer, *others) if each.double_buffered), ranked.streamer)

    def _follow(self, streamer: Streamer, budget: int, fallbacks: Sequence[Streamer]) -> float:
        """Let a follower enter while there is time. Returns its forecast; infinity where it has none."""
        if self.stop.deadline.ends(FURTHER_SCHEDULES):
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
        """Build schedules of untried candidates until the stop criterion is met, one in any case."""
        count = len(self.portfolio.candidates)
        while self.untried:
            tried = count - len(self.untried)
            if self.entered and self.stop.deadline.ends(FURTHER_SCHEDULES):
                return
            if self.entered and tried >= self.portfolio.always_tried and self._enough(self.least):
                return
            candidate = self.untried.pop()
            if isinstance(candidate, MemoryProbe):
                self._enter(candidate.streamer, self.request.budget, candidate)
            else:
                self._enter(candidate, self.request.budget)
            if self.stop.report and self.waiting:
                self.stop.report(SearchProgress(tried + 1, count, self.least, self.stop.bound))

    def _refine(self) -> None:
        """Tile single ops of the fastest schedule that allows it again, and add what is faster."""
        able = (ranked for *_, ranked in self.waiting if ranked.streamer.recut)
        best = min(able, key=lambda ranked: ranked.cycles, default=None)
        recut = best.streamer.recut if best else None
        if best is None or recut is None or self._enough(best.cycles):
            return

        def build(tilings: Mapping[str, Tiling], quickly: bool) -> tuple[Streamer, Schedule | None]:
            streamer = recut.streamer(tilings, quickly)
            return streamer, self._build(streamer, best.budget, self.cache.without_steps())

        def attempt(tilings: Mapping[str, Tiling]) -> float | None:
            schedule = build(tilings, True)[1]
            return None if schedule is None else self.forecast.cycles(schedule)

        request = replace(self.request, budget=best.budget)
        floor = best.budget // best.streamer.weight_floor_divisors[0]
        memory = memory_budget(request, best.streamer, floor, self.cache)
        tilings = refined(memory, best.schedule, recut.steps, attempt, lambda: self._enough(best.cycles))
        if not tilings:
            return
        streamer, schedule = build(tilings, False)
        if schedule is not None and (cycles := self.forecast.cycles(schedule)) < best.cycles:
            # Its tilings are for this budget, so it is not tried again with less.
            self._wait(
                RankedSchedule(streamer, best.budget, self._named(schedule, streamer), cycles, fallbacks=())
            )

    def _enough(self, cycles: float) -> bool:
        return self.stop.enough(cycles, perf_counter() - self.began)

    def _enter(
        self,
        streamer: Streamer,
        budget: int,
        probe: MemoryProbe | None = None,
        fallbacks: tuple[Streamer, ...] | None = None,
        variant: bool = False,
    ) -> float:
        """Build a schedule that waits to be packed. Returns its forecast; infinity where there is none."""
        schedule = self._build(streamer, budget, self.cache)
        if schedule is None:
            return inf
        cycles = 0.0
        if self.rivals or streamer.recut:
            schedule = self._named(schedule, streamer)
            cycles = self.forecast.cycles(schedule)
        ranked = RankedSchedule(streamer, budget, schedule, cycles, probe, fallbacks)
        self._wait(replace(ranked, variant=variant))
        return cycles

    def _named(self, schedule: Schedule, streamer: Streamer) -> Schedule:
        name = streamer.family if self.portfolio.chooses_by_cycles else self.portfolio.name
        return replace(schedule, streamer=name, late=())

    def _build(self, streamer: Streamer, budget: int, cache: BuildCache) -> Schedule | None:
        try:
            schedule = build_schedule(replace(self.request, budget=budget), streamer, cache)
        except DoesNotFit as refusal:
            self.refusal = self.refusal or refusal  # of the first candidate, which needs least
            return None
        # Stripes by time choose slices of their own, which may be too large for weights that live longer.
        by_time = streamer.cut is cut_by_time
        alive = contention(liveness(schedule, self.request.chip)) if by_time else 0
        return schedule if alive <= budget else None

    def _wait(self, ranked: RankedSchedule) -> None:
        self.entered += 1
        heappush(self.waiting, (ranked.probe is None, ranked.cycles, self.entered, ranked))
