"""Ops whose output takes their input's memory row by row, where SharedMemory is short: by simulated cycles.

An op that runs in stripes takes longer, and the fewer rows a stripe has, the fewer bytes lie between its
output and its input. So several amounts of memory for tensors are tried, by quick forecasts; the best of them
are planned in full, and the plan without any such op stays where none is faster.

Source: chipmodel.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf

from chipmodel.errors import DoesNotFit
from chipmodel.model.program import Program
from chipmodel.pipeline.cascade_screening import CascadeScreening, KnownSets, ScreenedSet
from chipmodel.pipeline.cascade_search import FAR_BEHIND, CascadeSearch, plan_with_cascades
from chipmodel.pipeline.choices import CASCADE_AUTO, VENDOR_STREAMER
from chipmodel.pipeline.request import Planned, PlanRequest
from dma.residency.greedy import ResidencyTable
from dma.residency.rows_in_place import rows_for_room, with_rows_in_place
from dma.streamers import prefetch_greedy, weight_pipeline

SHARES = (0.5, 0.6, 0.65, 0.7, 0.8, 0.9, 0.95)
"""Shares of SharedMemory that are tried as room for tensors (assumed)."""
QUICK = (prefetch_greedy.SCREENING, weight_pipeline.STREAMER)
"""The streamers of the forecasts."""
FULL_PLANS = 3
"""Forecasts that are planned in full at most, which bounds the time."""


def plan_with_stripes(
    request: PlanRequest, path: Mapping[str, str] | None, known: KnownSets | None = None
) -> Planned:
    """Plan as ``plan_with_cascades`` does; where SharedMemory is short, and ops may run in stripes as it
    seems best, also with outputs in place by rows. Raises as that does."""
    known = KnownSets() if known is None else known
    found: Planned | None = None
    refusal: DoesNotFit | None = None
    try:
        found = plan_with_cascades(request, path, known)
    except DoesNotFit as error:
        refusal = error
    if request.rows_in_place and request.cascade == CASCADE_AUTO and request.chip.cores == 1:
        found = RowsInPlaceSearch(CascadeSearch(request, path, None, known)).best(found)
    if found is None:
        raise refusal or AssertionError("a plan or a refusal")
    return found


@dataclass(frozen=True, slots=True)
class RowsInPlaceSearch:
    """Plans with outputs in place by rows, to compare with the best plan of ``search`` without."""

    search: CascadeSearch

    def best(self, found: Planned | None) -> Planned | None:
        """Return ``found``, or the plan with outputs in place by rows that is better."""
        best = found
        for screened in self.promising(found)[:FULL_PLANS]:
            tried = self.search.planned(screened.program, screened.cache)
            if tried is not None and (best is None or self.search.rank(tried) < self.search.rank(best)):
                best = tried
        return best

    def promising(self, found: Planned | None) -> list[ScreenedSet]:
        """The choices whose forecasts are worth a full plan beside ``found``, the fastest first."""
        request, known = self.search.request, self.search.known.by_rows
        if not self.is_short(found):
            return []
        screening = CascadeScreening(request, self.search.path, self.search.known)
        rivals = found is not None and self.search.fits(found)
        limit = FAR_BEHIND * self.search.cycles(found) if found and rivals else inf
        sets: list[ScreenedSet] = []
        for number, program in enumerate(self.choices()):
            if number not in known:
                if request.deadline.ends("further ops in place by rows"):
                    break
                known[number] = screening.forecast((), program, QUICK)
            each = known[number]
            if each is not None and each.cycles < limit:
                sets.append(each)
        return sorted(sets, key=lambda each: each.cycles)

    def is_short(self, found: Planned | None) -> bool:
        """Whether tensors and the weights of two ops do not fit together: beyond that nothing is gained."""
        request = self.search.request
        if request.streamer == VENDOR_STREAMER or self.search.searches:
            return False  # what a tool does is known; a search has the plan of ``auto`` as a rival
        if found is None or found.schedule.moves_tensors or not self.search.fits(found):
            return True
        return comfortable_memory(request.program) > request.chip.shared_memory.bytes

    def choices(self) -> list[Program]:
        """The program with different ops in place by rows, and in different numbers of rows."""
        request, known = self.search.request, list[dict[str, int]]()
        for share in SHARES:
            room = int(request.chip.shared_memory.bytes * share)
            rows = rows_for_room(request.program, request.chip, room)
            if rows and rows not in known:
                known.append(rows)
        return [with_rows_in_place(request.program, request.chip, rows) for rows in known]


def comfortable_memory(program: Program) -> int:
    """Bytes in which all tensors that live at once fit whole next to the two largest blocks of weights."""
    table = ResidencyTable(program)
    through = table.residency(table.initial_decisions()).through
    weights = sorted(program.block_bytes(op) for op in program.ops())
    return max(through, default=0) + sum(weights[-2:])
