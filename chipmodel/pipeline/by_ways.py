"""Plans in the ways of the fastest paths over the listed ones: schedules, packed until one fits.

A path knows no fragmentation: a schedule may need less memory to be packed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from heapq import heappop, heappush
from itertools import chain, count, islice
from math import inf
from time import perf_counter
from typing import NamedTuple

from chipmodel.bounds.columns import FastestWays, Proposals, fastest_ways
from chipmodel.errors import DoesNotFit
from chipmodel.model.program import Program
from chipmodel.model.schedule import Schedule
from chipmodel.pipeline.quickest import QuickestPlan, packed, packer_limits
from chipmodel.pipeline.request import Planned, PlanRequest
from chipmodel.pipeline.smallest_peak import with_smallest_peak
from dma.columns.ladder import FOR_TIME, Cascades
from dma.residency.storages import with_whole_concats
from dma.schedule.buffer_names import with_readable_names
from dma.schedule.build import StreamRequest
from dma.streamers.by_ways import (
    FREE_MEMORY_USES,
    FreeMemoryUse,
    program_in_ways,
    schedules_in_ways,
)
from solvers.columns.path import NO_LIMITS, PathLimits
from solvers.fluid.borders import NEVER

SHARES = (64, 63, 62, 61, 58, 56)
"""64ths of SharedMemory for which paths are sought, until a plan loses nothing to packing."""
FARTHER = 1.02
"""How many times the cycles of a path of single ops those of one with concats made otherwise may be
(assumed): of 44 programs, none was faster with cascades beyond."""
NEAR = 1.01
"""How many times the cycles of a path those of its plan may be, before one for less memory is tried: large
slices of weights may wait for one another (assumed)."""

Form = tuple[Program, FastestWays]
"""A program and the ways in which its ops run."""


def plan_by_ways(request: PlanRequest, path: Mapping[str, str], likely: int = 0) -> Planned | None:
    """Return the fastest plan that is found to fit SharedMemory, of those in the ways of a fastest path; None
    where none does. The path ``likely`` takes so many cycles at most. Raises TimeIsOver, and DoesNotFit where
    it computes more than the request allows."""
    sizes = [request.chip.shared_memory.bytes * share // 64 for share in SHARES]
    forms = fastest_forms(request, path, sizes, likely)
    if (first := next(forms, None)) is None:
        return None
    tried = QuickestPlan(request, path, path_cycles=first[1].cycles)
    best_first(tried, chain((first,), forms))
    return tried.answer()


class WaitingSchedule(NamedTuple):
    """A schedule that takes so many cycles without contention; candidates are in the order of these."""

    cycles: float
    number: int
    program: Program
    schedule: Schedule
    given: int
    """The bytes of SharedMemory for which its ways are."""
    leaner: Iterator[tuple[Program, Schedule]]
    """Schedules in the same ways that use less of the free memory."""


def best_first(tried: QuickestPlan, forms: Iterator[Form]) -> WaitingSchedule | None:
    """Pack and simulate schedules in the ways of ``forms``, that with the fewest cycles first, until no other
    one may be faster. Return the last one, None where there is none; ``tried.last`` is its plan.

    ``forms`` are for less and less memory, so that their paths take more and more cycles. Where a schedule
    cannot be packed, the leaner ones are candidates too.
    """
    waiting: list[WaitingSchedule] = []
    failed: dict[float, list[Schedule]] = {}  # Schedules that cannot be packed, by their cycles.
    number, last, tried.last = count(), None, None
    least = 0.0  # Cycles of the path of the last form.

    def enter(given: int, schedules: Iterator[tuple[Program, Schedule]], most: int | None = None) -> None:
        for program, schedule in islice(schedules, most):
            cycles = tried.forecast(program, schedule)
            heappush(waiting, WaitingSchedule(cycles, next(number), program, schedule, given, schedules))

    while True:
        soonest = min(tried.cycles, waiting[0].cycles if waiting else inf)
        if soonest > NEAR * least:
            form = next(forms, None)
            least = form[1].cycles if form else inf
            if form:
                enter(form[1].bytes, schedules_in(tried.request, *form), most=1)
        elif waiting and soonest < tried.cycles:
            last = heappop(waiting)
            alike = failed.setdefault(last.cycles, [])
            if last.schedule in alike or not tried.fits(last.given, last.program, last.schedule):
                alike.append(last.schedule)
                enter(last.given, last.leaner)
        else:
            return last or (waiting[0] if waiting else None)


def plan_in_these(
    request: PlanRequest, path: Mapping[str, str], ways: Sequence[FastestWays]
) -> Planned | None:
    """Return the fastest plan that is found to fit SharedMemory, of those in some ``ways``; None for none.
    Raises DoesNotFit where it computes more than the request allows."""
    tried = QuickestPlan(request, path)
    best_first(tried, ((request.program, found) for found in ways))
    return tried.answer()


def least_plan_in(request: PlanRequest, ways: FastestWays) -> tuple[Program, Planned] | None:
    """Return the program with the cascades of some ``ways``, and its plan that loads all weights where they
    are needed, packed into as little memory as is found; None where there is none."""
    asked = replace(request, chip=request.chip.with_memory(ways.bytes), spill=False)
    for program, schedule in schedules_in(asked, asked.program, ways, FREE_MEMORY_USES[-1:]):
        limits = packer_limits(asked, perf_counter())
        planned = packed(asked, with_readable_names(program, schedule), limits)
        fits = planned.solved.peak <= ways.bytes
        return program, planned if fits else with_smallest_peak(planned, asked, limits)
    return None


def cascades_by_ways(
    request: PlanRequest, path: Mapping[str, str], tried: Cascades = FOR_TIME
) -> Program | None:
    """Return the program of ``request`` with the cascades of a fastest path, of those that are ``tried``, for
    another streamer, or as the part of one of several cores; None for none. Raises TimeIsOver."""
    alone = request.with_chip(replace(request.chip, cores=1))
    for found in ways_along(alone, request.program, path, [request.chip.shared_memory.bytes], tried=tried):
        try:
            program = program_in_ways(request.program, found.ways)
        except ValueError:
            return None
        return program if any(way.cascade for way in found.ways) else None
    return None


def ways_along(
    request: PlanRequest,
    program: Program,
    path: Mapping[str, str],
    sizes: Sequence[int],
    limits: PathLimits = NO_LIMITS,
    tried: Cascades = FOR_TIME,
    propose: Proposals | None = None,
) -> Iterator[FastestWays]:
    """``fastest_ways`` of a form of the request's program."""
    chip, keeps, until = request.chip, not request.spill, request.deadline
    asked = path, request.cascades, sizes, keeps, until, limits, tried, propose
    return fastest_ways(program, chip, *asked)


def schedules_in(
    request: PlanRequest,
    whole: Program,
    found: FastestWays,
    uses: Sequence[FreeMemoryUse] = FREE_MEMORY_USES,
) -> Iterator[tuple[Program, Schedule]]:
    """Schedules of a program in some ways, those first that use more of the free memory."""
    # A cascade may have more steps than are possible, or there is too little room for what no path follows.
    with suppress(ValueError, DoesNotFit):
        program = program_in_ways(whole, found.ways)
        asked = StreamRequest(program, request.chip, found.bytes, request.spill)
        for schedule in schedules_in_ways(asked, found.ways, uses):
            yield program, schedule


def fastest_forms(
    request: PlanRequest, path: Mapping[str, str], sizes: Sequence[int], likely: int = 0
) -> Iterator[tuple[Program, FastestWays]]:
    """Programs with the ways for each of ``sizes``: with concats made in place, all of them or none: those
    with which the path for the first size is the fastest. Where the fastest path of single ops takes much
    longer than with the other, cascades are not looked for."""
    most = (sizes[0], 0)
    forms: list[Program] = []
    for program in (with_whole_concats(request.program, each) for each in most):
        forms += [program] if all(program.body != known.body for known in forms) else []
    best: tuple[Program, FastestWays, Iterator[FastestWays]] | None = None
    limits = PathLimits((likely,) if likely else ())
    for program in forms:
        walk = ways_along(request, program, path, sizes, limits)
        first = next(walk, None)
        if first and first.cycles <= limits.most:
            best, alone = (program, first, walk), likely or first.alone
            limits = PathLimits(limits.likely, first.cycles - 1, int(min(NEVER, FARTHER * alone)))
    if best:
        program, first, walk = best
        yield from ((program, found) for found in chain((first,), walk))
