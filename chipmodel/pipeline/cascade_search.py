"""A plan with cascades: the sets of cascades that promise most, and the best of their plans.

Sets are compared by quick forecasts (``chipmodel.pipeline.cascade_screening``); the best of them are planned
in full, and so is the program without cascades, unless its forecast is far behind. Where everything stays in
SharedMemory, cascades are tried only if weights come late for want of room: a cascade makes room for them,
and loads those of several ops at once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf

from chipmodel.cascades.arrivals import LateArrival
from chipmodel.cascades.rewrite import with_cascades
from chipmodel.errors import BadInput, DoesNotFit, TimeIsOver
from chipmodel.files.suggestions import suggest
from chipmodel.hardware.chip import Chip
from chipmodel.model.program import Program
from chipmodel.model.schedule import Schedule
from chipmodel.model.time_bound import TimeBound
from chipmodel.pipeline.by_ways import plan_by_ways
from chipmodel.pipeline.cascade_screening import (
    FURTHER_SETS,
    CascadeScreening,
    KnownSets,
    ScreenedSet,
    screening_streamers,
)
from chipmodel.pipeline.choices import CASCADE_AUTO, CASCADE_OFF, VENDOR_STREAMER
from chipmodel.pipeline.request import Planned, PlanRequest
from chipmodel.pipeline.rounds import plan_in_rounds, search_bound
from dma.cascade_choice.named import cascades_of
from dma.residency.tool_pools import pooled_as_made
from dma.schedule.build import BuildCache
from dma.schedule.effort import DEFAULT_GAP
from dma.schedule.expected_forecast import ScheduleForecast
from dma.schedule.forecast import TransferTimes
from dma.schedule.streamer import MemoryProbe, StreamerPortfolio
from dma.stream import streamer_named
from dma.streamers import vendor, weight_pipeline
from solvers.core.deadline import Deadline

FAR_BEHIND = 1.4
"""How many times the cycles of a plan with cascades make a forecast not worth a full plan: other
streamers are up to a fifth faster than that of the screening (measured)."""
SCREENING_SHARE = 0.3
"""The share of the time until a deadline that a streamer that searches may spend on forecasts of sets of
cascades: most of it is for plans."""
PLAN_SHARE = 0.5
"""The share of the rest that one of its plans may take, so that a second one always has time. A quick
streamer goes on from one plan to the next until the deadline: with shares what is made of one set would
depend on what was made before it, and a plan might be slower for more time."""
WORTH_A_PLAN = 0.98
"""Share of the forecast without cascades above which a set gets no full plan: 2 % missed at most."""
FAR_BEHIND_A_SEARCH = 2.0
"""The same for a streamer that searches, which gains more on its forecast."""
FULL, BUSY, LOADING = 0.9, 0.97, 0.92
"""The share of SharedMemory from which a plan in which everything stays is nearly full, and the shares of its
time from which the NPU hardly waits, and the DMA engine if it loads weights whole, as cascades load fewer
slices (docs/decisions/0136)."""
FULL_PLANS = 3
"""Sets of cascades planned in full at most, which bounds the time; the first that fits is the last."""
SEARCHED_PLANS = 12
"""The same for a streamer that searches, which goes on behind the first that fits. It bounds the time."""
CLOSE_BEHIND = 1.1
"""How many times the cycles of its best plan a forecast may be for such a streamer to go on."""


def plan_with_cascades(request: PlanRequest, path: Mapping[str, str] | None) -> Planned:
    """Plan as ``plan_in_rounds`` does, with the cascades that the request allows. A plan that may compute
    rows again is never worse than one that keeps them within the same multiply-accumulates. Raises
    DoesNotFit, and BadInput for names of ops that cannot be a cascade."""
    bound = search_bound(request)
    auto = request.cascade == CASCADE_AUTO
    tool_has_none = request.streamer == VENDOR_STREAMER and not request.chip.vendor.cascades
    if auto and tool_has_none:
        return plan_in_rounds(request, path, bound, _pooled(request.program, request.chip))
    if request.cascade == CASCADE_OFF:
        return plan_in_rounds(request, path, bound)
    search = CascadeSearch(request, path, bound)
    if not auto:
        rows, steps = (_named(request, in_stripes) for in_stripes in (False, True))
        return search.quickest((rows,) if rows == steps else (rows, steps))
    found = search.best()
    if request.recompute is None:
        return found
    try:
        kept = replace(search, again=False).best()
    except DoesNotFit:
        return found
    return min(kept, found, key=search.rank)


@dataclass(frozen=True, slots=True)
class _Rivals:
    """Sets of cascades by their forecasts, and the plan without cascades, if one fits, with its own."""

    sets: Sequence[ScreenedSet]
    plain: Planned | None
    without: ScreenedSet | None


@dataclass(frozen=True, slots=True)
class CascadeSearch:
    """Plans of one request with several sets of cascades, compared along ``path``; None for all paths. Only
    with ``again`` may they compute rows again."""

    request: PlanRequest
    path: Mapping[str, str] | None
    bound: TimeBound | None
    known: KnownSets = field(default_factory=KnownSets)
    again: bool = True

    def plan(self, program: Program) -> Planned:
        """The plan of ``program``; a board's own tool gives up early weights if they leave no room."""
        asked = self.request, self.path, self.bound, program
        try:
            return plan_in_rounds(*asked)
        except DoesNotFit:
            if self.request.streamer != VENDOR_STREAMER:
                raise
        return plan_in_rounds(*asked, portfolio=vendor.WITHOUT_ROOM)

    def quickest(self, programs: Iterable[Program]) -> Planned:
        """The best plan of several programs. Raises DoesNotFit as ``plan`` does for the first, if none has
        any."""
        found: list[Planned] = []
        refusals: list[DoesNotFit] = []
        for program in programs:
            try:
                found.append(self.plan(program))
            except DoesNotFit as refusal:
                refusals.append(refusal)
        if not found:
            raise refusals[0]
        return min(found, key=self.rank)

    @property
    def searches(self) -> bool:
        """Whether the streamer searches for a good while, and so may compare more sets."""
        return streamer_named(self.request.streamer).searches_offsets

    def share(self, part: float) -> Deadline:
        """The deadline of a part of the work, ``part`` being its share for a streamer that searches."""
        return self.request.deadline.share(part) if self.searches else self.request.deadline

    @property
    def far_behind(self) -> float:
        """How many times the cycles of a plan make a forecast not worth a full plan."""
        return FAR_BEHIND_A_SEARCH if self.searches else FAR_BEHIND

    def best(self) -> Planned:
        """The best plan, with cascades or without."""
        request = self.request
        screened = request.until(self.share(SCREENING_SHARE))
        screening = CascadeScreening(screened, self.path, self.known, self.again)
        plain: Planned | None = None
        if screening.everything_stays():
            plain = self.plan(self.request.program)
            if self.fits(plain) and not plain.schedule.moves_tensors and not self.lacks_room(plain):
                return plain
        listed = self.listed()
        most = self.cycles(listed) if listed else inf
        sets = [each for each in screening.ranked() if each.least < most]
        if not sets and listed is None:
            return plain or self.plan(self.request.program)
        without = screening.without
        if without and without.cycles > self.far_behind * most:
            without = None
        near = without and (not sets or without.cycles <= self.far_behind * sets[0].cycles)
        if plain is None and near:
            plain = self.without(without)
        cascaded = self.cascaded(sets, plain, without) if sets else None
        ahead = cascaded and without and self.is_far_ahead(cascaded, without)
        if plain is None and not ahead and (without or listed is None):
            plain = self.without(without)
        found = [each for each in (plain, cascaded, listed) if each is not None]
        if not found:
            return self.plan(self.request.program)
        return min(found, key=self.rank)

    def listed(self) -> Planned | None:
        """The best plan in the listed ways, for a streamer that chooses by cycles; None for none."""
        request = self.request
        if self.path is None or request.recompute is not None:
            return None
        if not streamer_named(request.streamer).chooses_by_cycles:
            return None
        try:
            return plan_by_ways(request, self.path)
        except TimeIsOver:
            return None

    def lacks_room(self, planned: Planned) -> bool:
        """Whether a plan in which everything stays is slow for want of memory: that is nearly full, and both
        NPU and DMA engine wait for a good while."""
        size = self.request.chip.shared_memory.bytes
        if planned.trace is None or not FULL * size <= planned.solved.peak <= size:
            return False
        loads = min(planned.trace.busy("dma"), whole_loads(planned.schedule, self.request.chip))
        cycles = planned.trace.cycles
        return planned.trace.busy("npu") < BUSY * cycles and loads < LOADING * cycles

    def without(self, screened: ScreenedSet | None) -> Planned | None:
        """The best plan without cascades; None for none."""
        cache = screened.cache if screened else None
        return self.planned(self.request.program, cache)

    def is_far_ahead(self, cascaded: Planned, without: ScreenedSet) -> bool:
        """Whether a plan is so fast that none without cascades need be made."""
        return self.fits(cascaded) and without.cycles > self.far_behind * self.cycles(cascaded)

    def planned(
        self, program: Program, cache: BuildCache | None, portfolio: StreamerPortfolio | None = None
    ) -> Planned | None:
        request = self.request.until(self.share(PLAN_SHARE))
        try:
            return plan_in_rounds(request, self.path, self.bound, program, cache, portfolio)
        except DoesNotFit:
            return None

    def cascaded(
        self, sets: Sequence[ScreenedSet], plain: Planned | None, without: ScreenedSet | None
    ) -> Planned | None:
        """The best plan with cascades, in the order of the forecasts; None for none, or where nothing is
        expected to be faster than ``plain``, the best plan ``without`` them. For a quick streamer schedules
        with less memory are made only where the packer has no plan of any set."""
        known = None if plain is None or self.searches or not self.fits(plain) else plain
        rivals = _Rivals(sets, known, None if known is None else without)
        portfolio = self.few_streamers(known, sets[0].passes)
        if portfolio is not None and not self.request.deadline.over:
            found = self.best_of(rivals, replace(portfolio, tries_less=False))
            if found is not None and self.fits(found):
                return found
        found = self.best_of(rivals, portfolio)
        if found is None and self.request.streamer == VENDOR_STREAMER:
            found = self.best_of(rivals, vendor.WITHOUT_ROOM)
        return found

    def best_of(self, rivals: _Rivals, portfolio: StreamerPortfolio | None) -> Planned | None:
        """The best plan of the sets by the streamers of ``portfolio``; None for none that is expected to be
        faster than a plan without cascades."""
        best: Planned | None = None
        most = SEARCHED_PLANS if self.searches else FULL_PLANS
        for number, candidate in enumerate(rivals.sets):
            if rivals.without and candidate.cycles > WORTH_A_PLAN * rivals.without.cycles:
                break
            first = number <= rivals.sets[0].passes  # forecasts of two kinds may be in the wrong order
            if best is not None and not first and self.is_enough(best, rivals.plain, candidate):
                break
            if number >= most and (self.searches or best is None or not self.fits(best)):
                break
            tried = self.planned(candidate.program, candidate.cache, portfolio)
            if tried is not None and (best is None or self.rank(tried) < self.rank(best)):
                best = tried
        return best

    def few_streamers(self, plain: Planned | None, passes: bool = False) -> StreamerPortfolio | None:
        """The streamers of a quick portfolio that a cascaded program is planned by: the one that made
        ``plain``, the best plan without cascades, ``weight-pipeline``, which leaves room for stripes, and the
        one of the forecasts, whose schedule is there already; without ``plain`` those that need the least
        memory, and if the first set ``passes`` tensors in stripes those of its forecast. Others are rarely
        better. None for any other streamer."""
        portfolio = streamer_named(self.request.streamer)
        if not portfolio.chooses_by_cycles:
            return None
        quick = screening_streamers(portfolio)
        if plain is None or plain.streamer is None:
            probes = tuple(each for each in portfolio.candidates if isinstance(each, MemoryProbe))
            forecast = portfolio.in_stripes if passes else ()
            return replace(portfolio, candidates=(*quick, *forecast, *probes))
        fastest = replace(plain.streamer, cuts=None)  # its cuts are those of ops that may be in a cascade now
        tried = dict.fromkeys((fastest, weight_pipeline.STREAMER))
        return replace(portfolio, candidates=(*quick, *tried), in_loops=())

    def is_enough(self, best: Planned, plain: Planned | None, candidate: ScreenedSet) -> bool:
        """Whether a set of cascades need not be planned any more. A quick streamer goes on
        where the set that is forecast to be the fastest turns out to be slower than a ``plain`` plan."""
        if self.searches:
            near = self.proven(best) or candidate.cycles > CLOSE_BEHIND * self.cycles(best)
        else:
            near = candidate.least >= self.cycles(best) and (
                plain is None or self.rank(best) < self.rank(plain)
            )
        return (self.fits(best) and near) or self.request.deadline.ends(FURTHER_SETS)

    def proven(self, planned: Planned) -> bool:
        """Whether the plan is as near to the bound as the streamer is to come."""
        gap = self.request.stop.gap if self.request.stop else DEFAULT_GAP
        return self.bound is not None and self.cycles(planned) <= self.bound.cycles * (1 + gap)

    def fits(self, planned: Planned) -> bool:
        return planned.solved.peak <= self.request.chip.shared_memory.bytes

    def cycles(self, planned: Planned) -> float:
        """The cycles of a plan as those of screened sets are counted: along the path that is planned."""
        if planned.trace is not None:
            return planned.trace.cycles
        forecast = ScheduleForecast(self.request.program, self.request.chip, self.path)
        return forecast.cycles(planned.schedule)

    def rank(self, planned: Planned) -> tuple[bool, bool, float]:
        """Smaller is better: fits SharedMemory, then Psram, then cycles; the peak where it does not fit."""
        fits, fit = self.fits(planned), planned.fit(self.request.chip)
        return not fits, not fit.psram.fits, self.cycles(planned) if fits else planned.solved.peak


def whole_loads(schedule: Schedule, chip: Chip) -> int:
    """Return the cycles of loading the weights of each op at once, which its slices load now."""
    times, sizes = TransferTimes(chip), Counter[str]()
    for transfer in schedule.transfers:
        if transfer.part.weights:
            sizes[transfer.part.name] += transfer.bytes
    return sum(times("weights", size) for size in sizes.values())


def named_ops(request: PlanRequest) -> tuple[str, ...]:
    """The ops that ``--cascade`` names; none for ``auto`` and ``off``. Raises BadInput for unknown ones."""
    if request.cascade in (CASCADE_AUTO, CASCADE_OFF):
        return ()
    names = tuple(name.strip() for name in request.cascade.split(",") if name.strip())
    known = [op.name for op in request.program.ops()]
    for name in names:
        if name not in known:
            raise BadInput(
                f"--cascade names {name!r}, which is not an op", hint=suggest(name, known, "its ops are")
            )
    return names


def _pooled(program: Program, chip: Chip) -> Program:
    """The program with the convolutions and poolings as one that the chip's tool runs so."""
    return with_cascades(program, cascades_of(program, chip, pooled_as_made(program, chip)))


def _named(request: PlanRequest, in_stripes: bool) -> Program:
    """The program with the cascades that the user names: neighbours among the ops are one cascade."""
    program, chip, names = request.program, request.chip, named_ops(request)
    try:
        return with_cascades(program, cascades_of(program, chip, names, request.recompute, in_stripes))
    except LateArrival as error:
        hint = "end the cascade before that op, or have one core run both: core: in the workload"
        raise BadInput(f"--cascade {request.cascade}: {error}", where=error.place, hint=hint) from None
    except ValueError as error:
        hint = "name neighbouring ops, each of which makes what a later one reads"
        if request.chip.cores > 1:
            hint += "; on several cores those of one core"
        raise BadInput(f"--cascade {request.cascade}: {error}", hint=hint) from None
