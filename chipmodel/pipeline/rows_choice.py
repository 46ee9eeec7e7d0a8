"""Ops whose output takes their input's memory row by row, where SharedMemory is short: by simulated cycles.

An op that runs in stripes takes longer, and the fewer rows a stripe has, the fewer bytes lie between its
output and its input. So several amounts of memory for tensors are tried; schedules whose forecasts are faster
than the best plan so far are packed.

Source: chipmodel.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from chipmodel.bounds.time_bound import time_bound
from chipmodel.errors import DoesNotFit
from chipmodel.geometry.rounding import smaller_sizes
from chipmodel.model.program import Program
from chipmodel.pipeline.cascade_search import NEAR, plan_with_cascades
from chipmodel.pipeline.choices import CASCADE_AUTO, VENDOR_STREAMER
from chipmodel.pipeline.request import Planned, PlanRequest
from chipmodel.pipeline.rounds import plan_in_rounds
from dma.residency.comfortable import comfortable_memory
from dma.residency.rows_in_place import RowsTable, with_rows_in_place
from dma.stream import streamer_named
from dma.streamers import prefetch_greedy

LARGE_SLICES = prefetch_greedy.STREAMERS[:3]
"""What is tried where the streamer is not named: weights that are cut are loaded again for every stripe."""
ROOMS = 6
"""How many amounts of memory are tried as room for tensors: from SharedMemory down to half of it, of a ladder
that all sizes of SharedMemory share, so that with a little more memory nothing found is lost (assumed)."""
FEW_OPS = 48
"""Ops of a program without branches or loops up to which they are tried beside paths (assumed): of larger
ones, no row of ``bench.gaps`` gained more than 0.4 %, and of smaller ones some 40 %; of 30 rows with branches
one gained, 3 %."""


def plan_with_stripes(request: PlanRequest, path: Mapping[str, str] | None) -> Planned:
    """Plan as ``plan_with_cascades`` does; where SharedMemory is short, and ops may run in stripes as it
    seems best, also with outputs in place by rows. Raises as that does."""
    best: Planned | None = None
    refusal: DoesNotFit | None = None
    try:
        best = plan_with_cascades(request, path)
    except DoesNotFit as error:
        refusal = error
    portfolio = streamer_named(request.streamer)
    if best and portfolio.paths:
        portfolio = replace(portfolio, candidates=LARGE_SLICES)
    sought = _is_short(request, best) and not (best and _is_near(request, best))
    for program in _by_rows(request) if sought else ():
        if request.deadline.ends("further ops in place by rows"):
            break
        try:
            best = plan_in_rounds(request, path, program, portfolio, best)
        except DoesNotFit:
            continue
    if best is None:
        raise refusal or AssertionError("a plan or a refusal")
    return best


def _is_short(request: PlanRequest, found: Planned | None) -> bool:
    """Whether tensors and the weights of two ops do not fit together, beyond which nothing is gained, and ops
    may be in place by rows. What a tool does is known."""
    wished = request.rows_in_place and request.cascade == CASCADE_AUTO and request.chip.cores == 1
    size = request.chip.shared_memory.bytes
    if not wished or request.streamer == VENDOR_STREAMER:
        return False
    few = request.program.is_straight and sum(1 for _ in request.program.ops()) <= FEW_OPS
    if found and streamer_named(request.streamer).paths and not few:
        return False
    lacks = found is None or found.schedule.moves_tensors or found.solved.peak > size
    return lacks or comfortable_memory(request.program) > size


def _is_near(request: PlanRequest, best: Planned) -> bool:
    """Whether a plan along a fastest path takes hardly more cycles than any plan must."""
    if best.trace is None or not streamer_named(request.streamer).paths:
        return False
    bound = time_bound(request.program, request.chip, best.trace.path, cascades=True)
    return best.trace.cycles <= NEAR * bound.cycles


def _by_rows(request: PlanRequest) -> Iterator[Program]:
    """The program with the ops in place by rows that each amount of memory for tensors asks for."""
    program, chip = request.program, request.chip
    table = RowsTable(program, chip)
    known: list[Mapping[str, int]] = [{}]
    for room in smaller_sizes(chip.shared_memory.bytes, ROOMS, per_octave=ROOMS):
        rows = {name: option.rows for name, option in table.chosen(room).items()}
        if rows not in known:
            known.append(rows)
            yield with_rows_in_place(program, chip, rows)
