"""A plan in the fastest of the listed ways: the first of a few schedules that can be packed.

The path over the listed ways knows no fragmentation: a schedule may need less memory to be packed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from time import perf_counter

from chipmodel.answers.result import Attempt
from chipmodel.bounds.columns import FastestWays, fastest_ways
from chipmodel.errors import DoesNotFit
from chipmodel.machine.simulate import simulate
from chipmodel.model.program import Program
from chipmodel.model.schedule import Schedule
from chipmodel.pipeline.request import Planned, PlanRequest
from chipmodel.pipeline.rounds import packed, packer_limits, refuse_recomputed
from dma.columns.chosen import ChosenWay
from dma.residency.storages import with_whole_concats
from dma.schedule.buffer_names import with_readable_names
from dma.schedule.build import StreamRequest
from dma.schedule.expected_forecast import ScheduleForecast
from dma.streamers.by_ways import ISSUES, program_in_ways, schedule_in_ways

SHARES = (64, 61, 56)
"""64ths of SharedMemory for which paths are sought, until a plan loses nothing to packing."""


def plan_by_ways(request: PlanRequest, path: Mapping[str, str]) -> Planned | None:
    """Return the fastest plan that is found to fit SharedMemory, of those in the ways of fastest paths.

    None where none does. Raises TimeIsOver, and DoesNotFit where it computes more than the request allows.
    """
    began, size = perf_counter(), request.chip.shared_memory.bytes
    best: Planned | None = None
    attempts: list[Attempt] = []
    for given, number, (program, schedule) in _schedules(request, path):
        forecast = ScheduleForecast(program, request.chip, path).cycles(schedule)
        if best and best.trace and best.trace.cycles <= forecast:
            continue
        planned = packed(request, with_readable_names(program, schedule), packer_limits(request, began))
        attempts.append(Attempt(given, planned.solved.peak, planned.solved.lower_bound))
        if planned.solved.peak <= size:
            trace = simulate(planned.commands, request.chip, path)
            if best is None or best.trace is None or trace.cycles < best.trace.cycles:
                best = replace(planned, trace=trace)
            if not number:
                break
    if best and request.recompute is not None:
        refuse_recomputed(best, request.recompute)
    return best and replace(best, attempts=tuple(attempts))


def cascades_by_ways(request: PlanRequest, path: Mapping[str, str]) -> Program | None:
    """Return the program of ``request`` with the cascades of a fastest path, for another streamer, or as the
    part of one of several cores; None for none. Raises TimeIsOver."""
    alone = request.with_chip(replace(request.chip, cores=1))
    for found in _ways(alone, request.program, path, [request.chip.shared_memory.bytes]):
        try:
            program = program_in_ways(request.program, found.ways)
        except ValueError:
            return None
        return program if any(way.cascade for way in found.ways) else None
    return None


def _ways(
    request: PlanRequest, program: Program, path: Mapping[str, str], sizes: Sequence[int]
) -> Iterator[FastestWays]:
    chip, keeps = request.chip, not request.spill
    return fastest_ways(program, chip, path, request.cascades, sizes, keeps, request.deadline)


def _schedules(
    request: PlanRequest, path: Mapping[str, str]
) -> Iterator[tuple[int, int, tuple[Program, Schedule]]]:
    """Schedules in the ways of fastest paths, with the bytes that they are for, those first that load weights
    earlier, and their number among these."""
    chip = request.chip
    sizes = [chip.shared_memory.bytes * share // 64 for share in SHARES]
    for whole, size, ways in _fastest_forms(request, path, sizes):
        try:
            program = program_in_ways(whole, ways)
            for number, issue in enumerate(ISSUES):
                asked = StreamRequest(program, chip, size, request.spill)
                yield size, number, (program, schedule_in_ways(asked, ways, issue))
        except (ValueError, DoesNotFit):
            continue  # More steps than a cascade has, or too little room for what no path follows.


def _fastest_forms(
    request: PlanRequest, path: Mapping[str, str], sizes: Sequence[int]
) -> Iterator[tuple[Program, int, tuple[ChosenWay, ...]]]:
    """Programs with the ways for each of ``sizes``: with concats made in place, all of them
    or none: those with which the path for the first size is the fastest."""
    most = (sizes[0], 0)
    forms: list[Program] = []
    for program in (with_whole_concats(request.program, each) for each in most):
        forms += [program] if all(program.body != known.body for known in forms) else []
    walks = [_ways(request, program, path, sizes) for program in forms]
    begun = [
        (first.cycles, number, first) for number, walk in enumerate(walks) if (first := next(walk, None))
    ]
    if begun:
        _, number, first = min(begun, key=lambda each: each[:2])
        for found in chain((first,), walks[number]):
            yield forms[number], found.bytes, found.ways
