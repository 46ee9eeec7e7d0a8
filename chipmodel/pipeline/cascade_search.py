"""A plan with cascades: in the ways of the fastest path, and without any, the faster one.

Where everything stays in SharedMemory, cascades are tried only if weights come late for want of room: a
cascade makes room for them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from math import inf

from chipmodel.cascades.arrivals import LateArrival
from chipmodel.cascades.recomputed import computed
from chipmodel.cascades.rewrite import with_cascades
from chipmodel.errors import BadInput, DoesNotFit, TimeIsOver
from chipmodel.files.suggestions import suggest
from chipmodel.hardware.chip import Chip
from chipmodel.model.program import Program
from chipmodel.model.schedule import Schedule
from chipmodel.model.time_bound import TimeBound
from chipmodel.pipeline.by_ways import cascades_by_ways, plan_by_ways
from chipmodel.pipeline.choices import CASCADE_AUTO, CASCADE_OFF, VENDOR_STREAMER
from chipmodel.pipeline.request import Planned, PlanRequest
from chipmodel.pipeline.rounds import plan_in_rounds, search_bound
from dma.cascade_choice.least_memory import least_memory_candidates
from dma.cascade_choice.named import cascades_of
from dma.residency.tool_pools import pooled_as_made
from dma.schedule.build import WEIGHT_FLOOR_DIVISORS, BuildCache, StreamRequest, memory_budget
from dma.schedule.expected_forecast import ScheduleForecast
from dma.schedule.forecast import TransferTimes
from dma.schedule.streamer import Streamer, StreamerPortfolio
from dma.stream import streamer_named
from dma.streamers import prefetch_greedy, sync, vendor
from dma.streamers.race import NEVER_STOP, StreamerRace
from solvers.core.deadline import Deadline

FAR_BEHIND = 1.4
"""How many times the cycles of a plan with cascades make a forecast without them not worth a full plan: other
streamers are up to a fifth faster than that of the forecast (measured)."""
PLAN_SHARE = 0.5
"""The share of the time left that one plan of a streamer that searches may take, so that a second one always
has time."""
QUICK_OPS = 150
"""Ops of a program for which a fastest path is found whatever time is left: some seconds, without which plans
in little memory may take more than twice the cycles."""
FULL, BUSY, LOADING = 0.9, 0.97, 0.92
"""The share of SharedMemory from which a plan in which everything stays is nearly full, and the shares of its
time from which the NPU hardly waits, and the DMA engine if it loads weights whole, as cascades load fewer
slices (measured)."""


def plan_with_cascades(request: PlanRequest, path: Mapping[str, str] | None) -> Planned:
    """Plan as ``plan_in_rounds`` does, with the cascades that the request allows. Raises DoesNotFit, and
    BadInput for names of ops that cannot be a cascade."""
    bound = search_bound(request)
    auto = request.cascade == CASCADE_AUTO
    tool_has_none = request.streamer == VENDOR_STREAMER and not request.chip.vendor.cascades
    if auto and tool_has_none:
        return plan_in_rounds(request, path, bound, _pooled(request.program, request.chip))
    if request.cascade == CASCADE_OFF:
        return plan_in_rounds(request, path, bound)
    search = CascadeSearch(request, path, bound)
    if auto:
        return search.best()
    rows, steps = (_named(request, in_stripes) for in_stripes in (False, True))
    return search.quickest((rows,) if rows == steps else (rows, steps))


@dataclass(frozen=True, slots=True)
class CascadeSearch:
    """Plans of one request with cascades and without, compared along ``path``; None for all paths."""

    request: PlanRequest
    path: Mapping[str, str] | None
    bound: TimeBound | None

    def plan(self, program: Program, portfolio: StreamerPortfolio | None = None) -> Planned:
        """The plan of ``program``, by the streamers of ``portfolio`` if it is given; a board's own tool gives
        up early weights if they leave no room."""
        asked = self.request.until(self.share(PLAN_SHARE)), self.path, self.bound, program
        try:
            return plan_in_rounds(*asked, portfolio=portfolio)
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
        """Whether the streamer searches for a good while."""
        return streamer_named(self.request.streamer).searches_offsets

    def share(self, part: float) -> Deadline:
        """The deadline of a part of the work, ``part`` being its share for a streamer that searches."""
        return self.request.deadline.share(part) if self.searches else self.request.deadline

    def best(self) -> Planned:
        """The best plan, with cascades or without. Raises DoesNotFit where there is none."""
        request = self.request
        plain: Planned | None = None
        if self.everything_stays():
            plain = self.plan(request.program)
            if self.fits(plain) and not plain.schedule.moves_tensors and not self.lacks_room(plain):
                return plain
        least = request.recompute is not None or request.streamer == VENDOR_STREAMER
        others: Iterable[Planned] = self.with_least_memory() if least else ()
        found = [each for each in (plain, self.in_ways(), *others) if each is not None]
        if plain is None and self.is_worth_a_plan(min(map(self.rank, found), default=None)):
            try:
                found.append(self.plan(request.program))
            except DoesNotFit:
                found = found or [*self.with_least_memory()]
                if not found:
                    raise
        return min(found, key=self.rank)

    def is_worth_a_plan(self, best: tuple[bool, bool, float] | None) -> bool:
        """Whether a plan without cascades may be better than the ``best`` one so far."""
        if best is None or best[:2] != (False, False):
            return True
        if self.request.deadline.ends("a plan without cascades"):
            return False
        forecast = self.forecast(self.request.program, (prefetch_greedy.SCREENING,))
        return forecast <= FAR_BEHIND * best[2]

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

    def in_ways(self) -> Planned | None:
        """The best plan in the ways of fastest paths, or of another streamer with their cascades; None for
        none."""
        request = self.request
        if request.streamer == VENDOR_STREAMER:
            return None
        if not request.deadline.over and sum(1 for _ in request.program.ops()) <= QUICK_OPS:
            request = request.until(replace(request.deadline, until=None))
        found: list[Planned] = []
        try:
            if self.path is not None and streamer_named(request.streamer).chooses_by_cycles:
                found += filter(None, [plan_by_ways(request, self.path)])
            if found and len(found[0].attempts) == 1:
                return found[0]  # Packing lost nothing, so other streamers have nothing to win.
            program = cascades_by_ways(request, self.path or {})
            found += [] if program is None else [self.plan(program)]
        except (DoesNotFit, TimeIsOver):
            pass
        return min(found, key=self.rank, default=None)

    def with_least_memory(self) -> Iterator[Planned]:
        """Plans with the cascades that need the least memory, which may compute rows again within the
        request's multiply-accumulates; of a board's tool those of chains, as Arm's compiler makes, the only
        tool that makes any."""
        program, most = self.request.program, self.request.recompute
        chained = self.request.streamer == VENDOR_STREAMER
        for each in least_memory_candidates(program, self.request.chip, most, chained):
            try:
                cascaded = with_cascades(program, each)
                if most is None or computed(cascaded) <= most * computed(program):
                    yield self.plan(cascaded)
            except (ValueError, DoesNotFit):
                continue

    def forecast(self, program: Program, streamers: tuple[Streamer, ...]) -> float:
        """The cycles of the fastest of quick schedules of ``program``; infinite where it has none."""
        request = self.request
        asked = StreamRequest(program, request.chip, request.chip.shared_memory.bytes, request.spill)
        stop = replace(NEVER_STOP, deadline=request.deadline)
        try:
            race = StreamerRace(asked, StreamerPortfolio("forecast", streamers), stop)
            ranked = race.next()
        except DoesNotFit:
            return inf
        assert ranked is not None, "a race without a schedule raises DoesNotFit"
        return ScheduleForecast(program, request.chip, self.path).cycles(ranked.schedule)

    def lacks_room(self, planned: Planned) -> bool:
        """Whether a plan in which everything stays is slow for want of memory: that is nearly full, and both
        NPU and DMA engine wait for a good while."""
        size = self.request.chip.shared_memory.bytes
        if planned.trace is None or not FULL * size <= planned.solved.peak <= size:
            return False
        loads = min(planned.trace.busy("dma"), whole_loads(planned.schedule, self.request.chip))
        cycles = planned.trace.cycles
        return planned.trace.busy("npu") < BUSY * cycles and loads < LOADING * cycles

    def fits(self, planned: Planned) -> bool:
        return planned.solved.peak <= self.request.chip.shared_memory.bytes

    def cycles(self, planned: Planned) -> float:
        """The cycles of a plan along the path that is planned, or over all paths."""
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
