"""A plan from the fastest of the listed ways: schedules in the order of their forecasts, packed, simulated.

The path over the listed ways knows no contention, and packers waste some bytes: so where no plan fits a path
for less memory is tried.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from time import perf_counter
from typing import NamedTuple

from chipmodel.answers.result import Attempt
from chipmodel.bounds.columns import fastest_ways
from chipmodel.errors import DoesNotFit
from chipmodel.machine.simulate import simulate
from chipmodel.model.program import Op, Program
from chipmodel.model.schedule import Schedule
from chipmodel.pipeline.request import Planned, PlanRequest
from chipmodel.pipeline.rounds import packed, packer_limits
from dma.columns.chosen import ChosenWay
from dma.schedule.buffer_names import with_readable_names
from dma.schedule.build import StreamRequest
from dma.schedule.expected_forecast import ScheduleForecast
from dma.streamers.by_ways import program_in_ways, schedule_in_ways
from dma.streamers.prefetch_greedy import early, early_pieces

SHARES = (64, 60)
"""64ths of SharedMemory for which paths are sought, the next one where no plan fits."""
ISSUES = ((early_pieces, 8), (early_pieces, 6), (early_pieces, 4), (early, 6))
"""How weights are issued: in pieces or whole, in so many eighths of the free memory."""
MOST_UNPACKED = 3
"""Schedules of a path without a plan, after which the others are not packed."""


class _Waiting(NamedTuple):
    """A schedule with its forecast, and a number by which equal ones are told apart."""

    cycles: float
    number: int
    program: Program
    schedule: Schedule


def plan_by_ways(request: PlanRequest, path: Mapping[str, str]) -> Planned | None:
    """Return the fastest of the plans along ``path``.

    None where none fits SharedMemory, and for programs with branches, loops or several inferences, where
    nothing may leave SharedMemory, or on several cores. Raises TimeIsOver.
    """
    straight = all(isinstance(node, Op) for node in request.program.body) and request.program.inferences == 1
    if not straight or not request.spill or request.chip.cores > 1:
        return None
    chip = request.chip
    sizes = [chip.shared_memory.bytes * share // 64 for share in SHARES]
    listed = fastest_ways(request.program, chip, path, request.cascades, sizes, request.deadline)
    return next((found for size, ways in listed if (found := _in_memory(request, path, size, ways))), None)


def _in_memory(
    request: PlanRequest, path: Mapping[str, str], size: int, ways: Sequence[ChosenWay]
) -> Planned | None:
    """The fastest plan of a path for ``size`` bytes that fits SharedMemory; None for none."""
    began, best, unpacked = perf_counter(), None, 0
    for candidate in sorted(_schedules(request, path, size, ways)):
        if unpacked == MOST_UNPACKED or (best and candidate.cycles >= best[0]):
            break
        schedule = with_readable_names(candidate.program, candidate.schedule)
        planned = packed(request, schedule, packer_limits(request, began))
        peak = planned.solved.peak
        if peak > request.chip.shared_memory.bytes:
            unpacked += 1
            continue
        trace = simulate(planned.commands, request.chip, path)
        if best is None or trace.cycles < best[0]:
            attempt = Attempt(size, peak, planned.solved.lower_bound)
            best = trace.cycles, replace(planned, trace=trace, attempts=(attempt,))
    return best[1] if best else None


def _schedules(
    request: PlanRequest, path: Mapping[str, str], size: int, ways: Sequence[ChosenWay]
) -> Iterator[_Waiting]:
    """Schedules in the ways of a path for ``size`` bytes."""
    chip = request.chip
    try:
        program = program_in_ways(request.program, ways)
    except ValueError:  # More steps than a cascade may have.
        return
    forecast = ScheduleForecast(program, chip, path)
    asked = StreamRequest(program, chip, size, request.spill)
    for number, (weights, eighths) in enumerate(ISSUES):
        try:
            schedule = schedule_in_ways(asked, ways, eighths, weights)
        except DoesNotFit:
            continue
        yield _Waiting(forecast.cycles(schedule), number, program, schedule)
