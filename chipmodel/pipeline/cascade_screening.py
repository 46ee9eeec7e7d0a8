"""Sets of cascades in the order of quick forecasts, and a search for better sets next to them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from math import inf

from chipmodel.cascades.recomputed import computed
from chipmodel.cascades.rewrite import with_cascades
from chipmodel.errors import DoesNotFit
from chipmodel.model.program import Program
from chipmodel.model.schedule import Schedule, steps
from chipmodel.pipeline.choices import VENDOR_STREAMER
from chipmodel.pipeline.request import PlanRequest
from dma.cascade_choice.neighbours import CascadeProposals, CascadeSet, Neighbourhood
from dma.schedule.build import WEIGHT_FLOOR_DIVISORS, BuildCache, StreamRequest, memory_budget
from dma.schedule.expected_forecast import ScheduleForecast
from dma.schedule.streamer import Streamer, StreamerPortfolio
from dma.stream import streamer_named
from dma.streamers import prefetch_greedy, sync
from dma.streamers.race import NEVER_STOP, StreamerRace

FORECAST_SETS = 3
"""Sets of cascades of which a quick streamer's forecast is made; they come in the order of an estimate.
A fourth one is the best on 1 of 82 rows, by 0.8 % (docs/decisions/0136)."""
FORECAST_AHEAD = 2
"""The same for sets that leave room to load weights ahead."""
AHEAD_GAIN = 0.995
"""Share of another set's forecast that such a set has to be below to be planned first: of nearer
forecasts the plans are not always in the same order (measured)."""
FORECAST_BANDED = 2
"""The same for sets in bands of columns, whose schedules have many steps."""
SEARCHED_STEPS = 40_000
"""Steps of all schedules together that a search for better sets may build: about ten seconds (measured)."""


STRIPED_GAIN = 0.8
"""Share of the forecast of a set that a plan takes at least if ops outside of cascades are in stripes: other
streamers are up to a fifth faster than that of the screening (measured)."""
FURTHER_SETS = "further sets of cascades"
"""What a deadline leaves out, in the words of the answer."""


@dataclass(frozen=True, slots=True)
class ScreenedSet:
    """A program with cascades, ``moves`` where tensors still go to Psram for want of SharedMemory."""

    cascades: CascadeSet
    program: Program
    cycles: float
    moves: bool
    cache: BuildCache
    """What was built for the forecast, for the full plan."""
    passes: bool = False
    """Whether tensors pass through SharedMemory; forecasts of such sets are less exact."""
    striped: bool = False
    """Whether ops outside of cascades run in stripes."""

    @property
    def least(self) -> float:
        """The cycles of a plan with larger slices, which ops in stripes load less often."""
        return self.cycles * (STRIPED_GAIN if self.striped else 1)


@dataclass(frozen=True, slots=True)
class KnownSets:
    """What searches with and without rows computed again share."""

    forecasts: dict[tuple[CascadeSet, tuple[Streamer, ...]], ScreenedSet | None] = field(
        default_factory=dict[tuple[CascadeSet, tuple[Streamer, ...]], ScreenedSet | None]
    )
    proposals: dict[tuple[int | None, bool], CascadeProposals] = field(
        default_factory=dict[tuple[int | None, bool], CascadeProposals]
    )
    """The proposed sets, by how many of those that load ahead were looked for, and ``chained``."""

    def proposed(self, request: PlanRequest, most_ahead: int | None) -> CascadeProposals:
        """The sets that ``dma.cascade_choice.choose`` proposes."""
        from dma.cascade_choice.choose import proposed_cascades

        key = most_ahead, chained(request)
        if key not in self.proposals:
            program, chip, most = request.program, request.chip, request.recompute
            capacity = chip.shared_memory.bytes
            self.proposals[key] = proposed_cascades(program, chip, capacity, None, most_ahead, most, key[1])
        return self.proposals[key]


@dataclass(slots=True)
class CascadeScreening:
    """The sets of cascades for one request, by the forecasts of quick streamers: along ``path``, over all
    paths where that is None. Sets that compute rows again are among them only with ``again``."""

    request: PlanRequest
    path: Mapping[str, str] | None = None
    known: KnownSets = field(default_factory=KnownSets)
    again: bool = True
    portfolio: StreamerPortfolio = field(init=False)
    built: int = 0
    """Steps of all schedules so far."""

    def __post_init__(self) -> None:
        self.portfolio = streamer_named(self.request.streamer)

    @property
    def without(self) -> ScreenedSet | None:
        """The program without cascades; None where it has no schedule."""
        return self.screened((), self._quick())

    def everything_stays(self) -> bool:
        """Whether no tensor has to leave SharedMemory, where ops keep room for few of their weights only."""
        request = self.request
        capacity = request.chip.shared_memory.bytes
        asked = StreamRequest(request.program, request.chip, capacity, spill=False)
        try:
            memory_budget(asked, sync.STREAMER, capacity // WEIGHT_FLOOR_DIVISORS[-1], BuildCache())
        except DoesNotFit:
            return False
        return True

    def ranked(self) -> list[ScreenedSet]:
        """The sets that are worth a full plan, the fastest forecast first; without the empty one."""
        request, quick = self.request, self._quick()
        most_ahead = None if self.portfolio.searches_offsets else FORECAST_AHEAD
        proposed = self.known.proposed(request, most_ahead)
        again = proposed.again if self.again else ()
        candidates: Iterable[CascadeSet]
        ahead: tuple[CascadeSet, ...] = ()
        if self.portfolio.searches_offsets:
            rest = (*proposed.passing, *proposed.ahead, *proposed.banded, *again)
            candidates = self._improved((*proposed.rows, *rest))
        else:
            rows, ahead = proposed.rows[:FORECAST_SETS], proposed.ahead
            banded = proposed.banded[:FORECAST_BANDED]
            candidates = (*rows, *proposed.passing, *ahead, *banded, *again)
        found: list[ScreenedSet] = []
        for each in candidates:
            used = (*quick, *self.portfolio.in_stripes) if each in proposed.passing else quick
            known = (each, used) in self.known.forecasts
            if found and not known and request.deadline.ends(FURTHER_SETS):
                break
            screened = self.screened(each, used) if each else None
            found += [screened] if screened is not None else []
        found.sort(key=lambda each: each.cycles / (AHEAD_GAIN if each.cascades in ahead else 1))
        if found and found[0].cascades in proposed.passing:
            others = (each for each in found if each.cascades not in proposed.passing)
            return [replace(found[0], passes=True), *others]
        return found

    def _quick(self) -> tuple[Streamer, ...]:
        return screening_streamers(self.portfolio)

    def _improved(self, candidates: Iterable[CascadeSet]) -> list[CascadeSet]:
        """The candidates, and the sets that a walk from the best of them to ever faster forecasts passes."""
        quick = (prefetch_greedy.SCREENING,)
        neighbourhood = Neighbourhood(self.request.program)
        path: list[CascadeSet] = []
        for each in candidates:
            if path and self.request.deadline.ends(FURTHER_SETS):
                break
            path = sorted((*path, each), key=lambda each: self._cycles(each, quick))[:3]
        improved = bool(path)
        while improved:
            improved = False
            for other in neighbourhood.of(path[0]):
                if self.built > SEARCHED_STEPS or self.request.deadline.ends(FURTHER_SETS):
                    return path
                if other and self._cycles(other, quick) < self._cycles(path[0], quick):
                    path.insert(0, other)
                    improved = True
                    break
        return path

    def _cycles(self, cascades: CascadeSet, streamers: tuple[Streamer, ...]) -> float:
        screened = self.screened(cascades, streamers)
        return inf if screened is None else screened.cycles

    def screened(self, cascades: CascadeSet, streamers: tuple[Streamer, ...]) -> ScreenedSet | None:
        """A set with its forecast; None where it is impossible or has no schedule."""
        key = (cascades, streamers)
        if key not in self.known.forecasts:
            self.known.forecasts[key] = self._screened(cascades, streamers)
            self._report()
        return self.known.forecasts[key]

    def _report(self) -> None:
        """Say how many sets have been compared, and how fast the best of them is expected to be."""
        request, known = self.request, self.known.forecasts
        least = min((each.cycles for each in known.values() if each is not None), default=None)
        if request.stop is not None and request.stop.report is not None and least is not None:
            request.stop.report(f"sets of cascades compared: {len(known):,}, the fastest {least:,.0f} cycles")

    def _screened(self, cascades: CascadeSet, streamers: tuple[Streamer, ...]) -> ScreenedSet | None:
        try:
            program = with_cascades(self.request.program, cascades)
        except ValueError:
            return None
        most = self.request.recompute
        if most is not None and computed(program) > most * computed(self.request.program):
            return None
        return self.forecast(cascades, program, streamers)

    def forecast(
        self, cascades: CascadeSet, program: Program, streamers: tuple[Streamer, ...] = ()
    ) -> ScreenedSet | None:
        """The forecast of ``program``, which has ``cascades``; None where it has no schedule."""
        request, cache = self.request, BuildCache()
        try:
            schedule = self._schedule(program, streamers or self._quick(), cache)
        except (ValueError, DoesNotFit):
            return None
        self.built += sum(1 for _ in steps(schedule.body))
        cycles = ScheduleForecast(program, request.chip, self.path).cycles(schedule)
        return ScreenedSet(
            cascades, program, cycles, schedule.moves_tensors, cache, striped=bool(schedule.striped)
        )

    def _schedule(self, program: Program, streamers: tuple[Streamer, ...], cache: BuildCache) -> Schedule:
        try:
            return self._raced(program, streamers, cache)
        except DoesNotFit:
            if not self.portfolio.searches_offsets:
                raise
            # With one buffer for weights in place of two it may fit.
            return self._raced(program, (sync.STREAMER,), cache)

    def _raced(self, program: Program, streamers: tuple[Streamer, ...], cache: BuildCache) -> Schedule:
        request = self.request
        asked = StreamRequest(program, request.chip, request.chip.shared_memory.bytes, request.spill)
        stop = replace(NEVER_STOP, deadline=request.deadline)
        ranked = StreamerRace(asked, StreamerPortfolio("screening", streamers), stop, cache).next()
        assert ranked is not None, "a race without a schedule raises DoesNotFit"
        return ranked.schedule


def chained(request: PlanRequest) -> bool:
    """Return whether cascades are those that Arm's compiler makes, the only tool that makes any."""
    return request.streamer == VENDOR_STREAMER


def screening_streamers(portfolio: StreamerPortfolio) -> tuple[Streamer, ...]:
    """The streamers by whose fastest forecast sets of cascades are compared."""
    return portfolio.screening or (prefetch_greedy.SCREENING,)
