"""A plan with cascades: the sets of cascades that promise most, and the best of their plans.

Sets are compared by quick forecasts (``chipmodel.pipeline.cascade_screening``); the best of them are planned
in full, and so is the program without cascades, unless its forecast is far behind. Nothing is cascaded where
everything fits.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from chipmodel.errors import BadInput, DoesNotFit
from chipmodel.files.suggestions import suggest
from chipmodel.model.program import Program
from chipmodel.model.time_bound import TimeBound
from chipmodel.passes.cascade_arrivals import LateArrival
from chipmodel.passes.cascades import with_cascades
from chipmodel.pipeline.cascade_screening import CascadeScreening, moves_tensors
from chipmodel.pipeline.request import CASCADE_AUTO, CASCADE_OFF, Planned, PlanRequest
from chipmodel.pipeline.rounds import plan_in_rounds, search_bound
from dma.cascades.named import cascades_of
from dma.schedule.effort import DEFAULT_GAP
from dma.schedule.expected_forecast import ScheduleForecast
from dma.stream import streamer_named

FAR_BEHIND = 1.4
"""How many times the cycles of a plan with cascades make a forecast not worth a full plan. Chosen: other
streamers are up to a fifth faster than that of the screening (measured)."""
FULL_PLANS = 3
"""Sets of cascades that are planned in full at most, the first one that fits being the last. Chosen."""
SEARCHED_PLANS = 12
"""The same for a streamer that searches, which goes on behind the first that fits. Chosen."""
CLOSE_BEHIND = 1.1
"""How many times the cycles of its best plan a forecast may be for such a streamer to go on. Chosen."""


def plan_with_cascades(request: PlanRequest, path: Mapping[str, str] | None) -> Planned:
    """As ``plan_in_rounds``, with the cascades that the request allows. Raises DoesNotFit, and BadInput for
    names of ops that cannot be a cascade."""
    bound = search_bound(request)
    if request.cascade == CASCADE_OFF:
        return plan_in_rounds(request, path, bound)
    search = _CascadeSearch(request, path, bound)
    if request.cascade != CASCADE_AUTO:
        return search.plan(_named(request))
    return search.best()


@dataclass(frozen=True, slots=True)
class _CascadeSearch:
    request: PlanRequest
    path: Mapping[str, str] | None
    bound: TimeBound | None

    def plan(self, program: Program) -> Planned:
        return plan_in_rounds(self.request, self.path, self.bound, program)

    def best(self) -> Planned:
        """The best plan, with cascades or without."""
        screening = CascadeScreening(self.request)
        without = screening.without
        plain: Planned | None = None
        if without is not None and not without.moves:
            plain = self.plan(self.request.program)
            if self.fits(plain) and not moves_tensors(plain.schedule):
                return plain
        cascaded = self.cascaded(screening)
        if cascaded is None:
            return plain or self.plan(self.request.program)
        behind = without is not None and without.cycles > FAR_BEHIND * self.cycles(cascaded)
        if plain is None and not (behind and self.fits(cascaded)):
            plain = self.planned(self.request.program)
        return cascaded if plain is None else min(plain, cascaded, key=self.rank)

    def planned(self, program: Program) -> Planned | None:
        try:
            return self.plan(program)
        except DoesNotFit:
            return None

    def cascaded(self, screening: CascadeScreening) -> Planned | None:
        """The best plan with cascades, in the order of the forecasts; None for none."""
        best: Planned | None = None
        searches = streamer_named(self.request.streamer).searches_offsets
        for candidate in screening.ranked()[: SEARCHED_PLANS if searches else FULL_PLANS]:
            if best is not None and self.is_enough(best, candidate.cycles, searches):
                break
            tried = self.planned(candidate.program)
            if tried is not None and (best is None or self.rank(tried) < self.rank(best)):
                best = tried
        return best

    def is_enough(self, best: Planned, forecast: float, searches: bool) -> bool:
        """Whether a set of cascades with that forecast need not be planned any more."""
        if self.fits(best) and not searches:
            return True
        if self.fits(best) and (self.proven(best) or forecast > CLOSE_BEHIND * self.cycles(best)):
            return True
        return self.request.deadline.ends("further sets of cascades")

    def proven(self, planned: Planned) -> bool:
        """Whether the plan is as near to the bound as the streamer is to come."""
        gap = self.request.stop.gap if self.request.stop else DEFAULT_GAP
        return self.bound is not None and self.cycles(planned) <= self.bound.cycles * (1 + gap)

    def fits(self, planned: Planned) -> bool:
        return planned.solved.peak <= self.request.chip.shared_memory.bytes

    def cycles(self, planned: Planned) -> float:
        if planned.trace is not None:
            return planned.trace.cycles
        return ScheduleForecast(self.request.program, self.request.chip).cycles(planned.schedule)

    def rank(self, planned: Planned) -> tuple[bool, bool, float]:
        """Smaller is better: fits SharedMemory, then Psram, then cycles; the peak where it does not fit."""
        fits, fit = self.fits(planned), planned.fit(self.request.program, self.request.chip)
        return not fits, not fit.psram.fits, self.cycles(planned) if fits else planned.solved.peak


def named_ops(request: PlanRequest) -> tuple[str, ...]:
    """The ops that ``--cascade`` names; none for ``auto`` and ``off``. Raises BadInput for unknown ones."""
    if request.cascade in (CASCADE_AUTO, CASCADE_OFF):
        return ()
    names = tuple(name.strip() for name in request.cascade.split(",") if name.strip())
    known = {op.name for op in request.program.ops()}
    for name in names:
        if name not in known:
            raise BadInput(
                f"--cascade names {name!r}, which is no op", hint=suggest(name, known, "its ops are")
            )
    return names


def _named(request: PlanRequest) -> Program:
    """The program with the cascades that the user names: neighbours among the ops are one cascade."""
    names = named_ops(request)
    try:
        return with_cascades(request.program, cascades_of(request.program, request.chip, names))
    except LateArrival as error:
        hint = "end the cascade before that op, or have one core run both: core: in the workload"
        raise BadInput(f"--cascade {request.cascade}: {error}", where=error.place, hint=hint) from None
    except ValueError as error:
        hint = "name neighbouring ops, each of which makes what a later one reads"
        if request.chip.cores > 1:
            hint += "; on several cores those of one core"
        raise BadInput(f"--cascade {request.cascade}: {error}", hint=hint) from None
