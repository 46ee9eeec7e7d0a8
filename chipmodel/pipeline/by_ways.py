"""Plans in the ways of the fastest paths over the listed ones: schedules, packed until one fits.

A path knows no fragmentation: a schedule may need less memory to be packed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain
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
from dma.streamers.by_ways import QUARTERS, program_in_ways, schedule_in_ways
from solvers.columns.path import NO_LIMITS, PathLimits
from solvers.fluid.borders import NEVER

SHARES = (64, 63, 62, 61, 58, 56)
"""64ths of SharedMemory for which paths are sought, until a plan loses nothing to packing."""
FARTHER = 1.02
"""How many times the cycles of a path of single ops those of one with concats made otherwise may be
(assumed): of 44 programs, none was faster with cascades beyond."""
SLOWER = 2
"""Sizes one after another of which no schedule may be faster, after which no other one is tried (assumed)."""
NEAR = 1.05
"""How many times the cycles of a path those of its plan may be, before one for less memory is tried: large
slices of weights may wait for one another (assumed)."""


def plan_by_ways(request: PlanRequest, path: Mapping[str, str], likely: int = 0) -> Planned | None:
    """Return the fastest plan that is found to fit SharedMemory, of those in the ways of a fastest path; None
    where none does. The path ``likely`` takes so many cycles at most. Raises TimeIsOver, and DoesNotFit where
    it computes more than the request allows."""
    tried, slower, first = QuickestPlan(request, path), 0, 0
    sizes = [request.chip.shared_memory.bytes * share // 64 for share in SHARES]
    for program, found in fastest_forms(request, path, sizes, likely):
        tried.path_cycles = tried.path_cycles or found.cycles
        last = try_in_ways(tried, program, found, QUARTERS[first:])
        if last and last.fits and not first and last.packed == 1 and tried.cycles <= NEAR * found.cycles:
            break  # Packing lost nothing, and the path knew what the plan takes.
        slower = 0 if last is None or last.packed else slower + 1
        if slower == SLOWER:
            break
        # In a little less memory hardly more than one of those is packed that were not.
        first = max(0, first + (last.packed if last else 1) - (2 if last and last.fits else 1))
    return tried.answer()


class LastTried(NamedTuple):
    """The last schedule in some ways that was tried, whether it fits, and how many were packed."""

    program: Program
    schedule: Schedule
    fits: bool
    packed: int


def try_in_ways(
    best: QuickestPlan, whole: Program, found: FastestWays, all_quarters: Sequence[int] = QUARTERS
) -> LastTried | None:
    """Try schedules in some ways, until one fits or may not be faster; None where there is none."""
    tried: LastTried | None = None
    for program, schedule in schedules_in(best.request, whole, found, all_quarters):
        fits, packed = best.fits(found.bytes, program, schedule), tried.packed if tried else 0
        tried = LastTried(program, schedule, fits, packed + (best.last is not None))
        if fits or best.last is None:
            break  # Those that load weights later are not faster.
    return tried


def plan_in_these(
    request: PlanRequest, path: Mapping[str, str], ways: Sequence[FastestWays]
) -> Planned | None:
    """Return the fastest plan that is found to fit SharedMemory, of those in some ``ways``; None for none.
    Raises DoesNotFit where it computes more than the request allows."""
    tried = QuickestPlan(request, path)
    for found in ways:
        try_in_ways(tried, request.program, found)
    return tried.answer()


def least_plan_in(request: PlanRequest, ways: FastestWays) -> tuple[Program, Planned] | None:
    """Return the program with the cascades of some ``ways``, and its plan that loads all weights where they
    are needed, packed into as little memory as is found; None where there is none."""
    asked = replace(request, chip=request.chip.with_memory(ways.bytes), spill=False)
    for program, schedule in schedules_in(asked, asked.program, ways, QUARTERS[-1:]):
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
    request: PlanRequest, whole: Program, found: FastestWays, all_quarters: Sequence[int] = QUARTERS
) -> Iterator[tuple[Program, Schedule]]:
    """Schedules of a program in some ways, those first that load weights earlier."""
    # A cascade may have more steps than are possible, or there is too little room for what no path follows.
    with suppress(ValueError, DoesNotFit):
        program = program_in_ways(whole, found.ways)
        asked = StreamRequest(program, request.chip, found.bytes, request.spill)
        for quarters in all_quarters:
            yield program, schedule_in_ways(asked, found.ways, quarters)


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
