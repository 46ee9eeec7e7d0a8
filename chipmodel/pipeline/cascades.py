"""A plan with cascades: sets of cascades that promise something, and the best of their plans.

Candidates are compared by the forecast of one quick streamer; the best of them is planned in full, and so is
the program without cascades unless its forecast is far behind. Nothing is cascaded where everything fits.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from chipmodel.errors import BadInput, DoesNotFit
from chipmodel.files.suggestions import suggest
from chipmodel.model.program import Program
from chipmodel.model.schedule import Schedule
from chipmodel.model.time_bound import TimeBound
from chipmodel.passes.cascades import with_cascades
from chipmodel.pipeline.request import CASCADE_AUTO, CASCADE_OFF, Planned, PlanRequest
from chipmodel.pipeline.rounds import plan_in_rounds, search_bound
from dma.cascades.choose import cascade_candidates
from dma.cascades.named import cascades_of
from dma.schedule.expected_forecast import ScheduleForecast
from dma.stream import stream

SCREENING_STREAMER = "weight-pipeline"
"""The streamer by whose forecast candidates are compared: a fifth of a second for MobileNetV2 (measured)."""
FAR_BEHIND = 1.4
"""How many times the cycles of a plan with cascades make a forecast not worth a full plan. Chosen: other
streamers are up to a fifth faster than that of the screening (measured)."""
FULL_PLANS = 3
"""Sets of cascades that are planned in full where no plan fits before. Chosen."""


def plan_with_cascades(request: PlanRequest, path: Mapping[str, str] | None) -> Planned:
    """As ``plan_in_rounds``, with the cascades that the request allows. Raises DoesNotFit, and BadInput for
    names of ops that cannot be a cascade."""
    bound = search_bound(request)
    if request.cascade == CASCADE_OFF or request.chip.cores > 1 or request.program.arrivals:
        return plan_in_rounds(request, path, bound)
    search = _CascadeSearch(request, path, bound)
    if request.cascade != CASCADE_AUTO:
        return search.plan(_named(request))
    return search.best()


@dataclass(frozen=True, slots=True)
class _Screened:
    """A program with cascades, and its forecast."""

    cycles: float
    program: Program


@dataclass(frozen=True, slots=True)
class _CascadeSearch:
    request: PlanRequest
    path: Mapping[str, str] | None
    bound: TimeBound | None

    def plan(self, program: Program) -> Planned:
        return plan_in_rounds(self.request, self.path, self.bound, program)

    def best(self) -> Planned:
        """The best plan, with cascades or without."""
        refusal: DoesNotFit | None = None
        plain: Planned | None = None
        forecast = self.forecast(self.request.program)
        if forecast is not None and not forecast.moves:
            plain = self.plan(self.request.program)
            if self.satisfied(plain):
                return plain
        cascaded = self.cascaded()
        behind = cascaded is not None and forecast is not None and self.far_behind(cascaded, forecast.cycles)
        if plain is None and not behind:
            try:
                plain = self.plan(self.request.program)
            except DoesNotFit as error:
                refusal = error
        plans = [each for each in (plain, cascaded) if each is not None]
        if not plans:
            assert refusal is not None
            raise refusal
        return min(plans, key=self.rank)

    def satisfied(self, planned: Planned) -> bool:
        """Whether a plan fits and moves nothing that cascades could keep."""
        return self.fits(planned) and not moved(planned.schedule)

    def fits(self, planned: Planned) -> bool:
        return planned.solved.peak <= self.request.chip.shared_memory.bytes

    def cascaded(self) -> Planned | None:
        """The best plan with cascades, the first that fits in the order of the forecasts; None for none."""
        best: Planned | None = None
        for candidate in self.screened()[:FULL_PLANS]:
            if best is not None and self.request.deadline.ends("further sets of cascades"):
                break
            try:
                tried = self.plan(candidate.program)
            except DoesNotFit:
                continue
            if best is None or self.rank(tried) < self.rank(best):
                best = tried
            if self.fits(best):
                break
        return best

    def screened(self) -> list[_Screened]:
        """Programs with cascades that have a schedule, the fastest forecast first."""
        request = self.request
        capacity = request.chip.shared_memory.bytes
        found: list[_Screened] = []
        for choices in cascade_candidates(request.program, request.chip, capacity):
            program = with_cascades(request.program, choices)
            forecast = self.forecast(program)
            if forecast is not None:
                found.append(_Screened(forecast.cycles, program))
        return sorted(found, key=lambda each: each.cycles)

    def forecast(self, program: Program) -> _Forecast | None:
        request = self.request
        try:
            schedule = stream(
                program, request.chip, SCREENING_STREAMER, request.chip.shared_memory.bytes, request.spill
            )
        except DoesNotFit:
            return None
        cycles = ScheduleForecast(program, request.chip).cycles(schedule)
        return _Forecast(cycles, moved(schedule))

    def far_behind(self, planned: Planned, forecast: float) -> bool:
        """Whether a schedule with that forecast cannot be expected to beat the plan."""
        return self.fits(planned) and forecast > FAR_BEHIND * self.cycles(planned)

    def cycles(self, planned: Planned) -> float:
        if planned.trace is not None:
            return planned.trace.cycles
        return ScheduleForecast(self.request.program, self.request.chip).cycles(planned.schedule)

    def rank(self, planned: Planned) -> tuple[bool, bool, float]:
        """Smaller is better: fits SharedMemory, then Psram, then cycles; the peak where it does not fit."""
        fit = planned.fit(self.request.program, self.request.chip)
        fits = self.fits(planned)
        return not fits, not fit.psram.fits, self.cycles(planned) if fits else planned.solved.peak


@dataclass(frozen=True, slots=True)
class _Forecast:
    cycles: float
    moves: bool


def moved(schedule: Schedule) -> bool:
    """Whether tensors go to Psram for want of SharedMemory."""
    return bool(schedule.spilled or schedule.striped)


def _named(request: PlanRequest) -> Program:
    """The program with the cascades that the user names: neighbours among the ops are one cascade."""
    names = [name.strip() for name in request.cascade.split(",") if name.strip()]
    known = {op.name for op in request.program.ops()}
    for name in names:
        if name not in known:
            raise BadInput(
                f"--cascade names {name!r}, which is no op", hint=suggest(name, known, "its ops are")
            )
    try:
        choices = cascades_of(request.program, request.chip, names)
        return with_cascades(request.program, choices)
    except ValueError as error:
        hint = "name neighbouring ops, each of which makes what a later one reads"
        raise BadInput(f"--cascade {request.cascade}: {error}", hint=hint) from None
