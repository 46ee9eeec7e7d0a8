"""Plans in the ways of the fastest paths over the listed ones: schedules, packed until one fits.

A path knows no fragmentation: a schedule may need less memory to be packed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from math import inf
from time import perf_counter

from chipmodel.answers.result import Attempt
from chipmodel.bounds.columns import FastestWays, fastest_ways, listed_bound
from chipmodel.errors import DoesNotFit, TimeIsOver
from chipmodel.machine.simulate import simulate
from chipmodel.model.program import Program
from chipmodel.model.schedule import Schedule
from chipmodel.pipeline.request import Planned, PlanRequest
from chipmodel.pipeline.rounds import packed, packer_limits, refuse_recomputed
from dma.columns.ladder import FOR_TIME, Cascades
from dma.columns.plan_ways import PlanWays
from dma.residency.storages import with_whole_concats
from dma.schedule.buffer_names import with_readable_names
from dma.schedule.build import StreamRequest
from dma.schedule.effort import SearchProgress, StopCriterion
from dma.schedule.expected_forecast import ScheduleForecast
from dma.streamers.by_ways import QUARTERS, program_in_ways, schedule_in_ways
from solvers.fluid.borders import NEVER

SHARES = (64, 63, 62, 61, 58, 56)
"""64ths of SharedMemory for which paths are sought, until a plan loses nothing to packing."""
NEAR = 1.1
"""How many times the cycles of a path those of its plan may be, before one for less memory is tried: large
slices of weights may wait for one another (assumed)."""
FURTHER_PATHS = "further paths over the listed ways"


def plan_by_ways(request: PlanRequest, path: Mapping[str, str], likely: int = 0) -> Planned | None:
    """Return the fastest plan that is found to fit SharedMemory, of those in the ways of a fastest path; None
    where none does. The path ``likely`` takes so many cycles at most. Raises TimeIsOver, and DoesNotFit where
    it computes more than the request allows."""
    tried = _QuickestPlan(request, path)
    for found, number, (program, schedule) in _schedules(request, path, likely=likely):
        tried.path_cycles = tried.path_cycles or found.cycles
        if tried.fits(found.bytes, program, schedule) and not number and tried.cycles <= NEAR * found.cycles:
            break  # Packing lost nothing, and the path knew what the plan takes.
        if number == len(QUARTERS) - 1 and tried.peak <= request.chip.shared_memory.bytes * SHARES[-1] // 64:
            break  # Less memory has the same path.
    return tried.answer()


def plan_by_paths(request: PlanRequest, path: Mapping[str, str], paths: int, default: Planned) -> Planned:
    """Return the best of the ``default`` plan and of those in the ways of so many of the fastest ``paths``,
    until the stop criterion is met with the bound over all listed ways."""
    tried = _QuickestPlan(request, path, default)
    try:
        _try_paths(request, path, paths, tried)
    except TimeIsOver:
        request.deadline.ended(FURTHER_PATHS)
    cycles = default.trace.cycles if default.trace else None
    return replace(tried.answer() or default, default_cycles=cycles)


def _try_paths(request: PlanRequest, path: Mapping[str, str], paths: int, tried: _QuickestPlan) -> None:
    deadline, most = request.deadline, (paths + len(SHARES)) * len(QUARTERS)
    asked = request.program, request.chip, path, request.cascades, PlanWays()
    bound = listed_bound(*asked, deadline=deadline) if request.program.is_straight else None
    stop = request.stop or StopCriterion()
    stop = replace(stop, bound=bound.cycles if bound else 0)
    for count, (found, _, (program, schedule)) in enumerate(_schedules(request, path, paths), 1):
        if stop.enough(tried.cycles, perf_counter() - tried.began) or deadline.ends(FURTHER_PATHS):
            break
        tried.fits(found.bytes, program, schedule)
        if stop.report:
            stop.report(SearchProgress(count, most, tried.cycles, stop.bound))


@dataclass(slots=True)
class _QuickestPlan:
    """The best plan of several schedules, packed and simulated if they may be faster."""

    request: PlanRequest
    path: Mapping[str, str]
    best: Planned | None = None
    attempts: list[Attempt] = field(default_factory=list[Attempt])
    began: float = field(default_factory=perf_counter)
    path_cycles: int | None = None

    @property
    def cycles(self) -> float:
        """The cycles of the best plan; infinite where there is none."""
        return self.best.trace.cycles if self.best and self.best.trace else inf

    @property
    def peak(self) -> float:
        """The bytes that the best plan takes; infinite where there is none."""
        return self.best.solved.peak if self.best else inf

    def fits(self, given: int, program: Program, schedule: Schedule) -> bool:
        """Whether a schedule for so many bytes may be faster and fits SharedMemory."""
        request = self.request
        if self.cycles <= ScheduleForecast(program, request.chip, self.path).cycles(schedule):
            return False
        named = with_readable_names(program, schedule)
        planned = packed(request, named, packer_limits(request, self.began))
        self.attempts.append(Attempt(given, planned.solved.peak, planned.solved.lower_bound))
        if planned.solved.peak > request.chip.shared_memory.bytes:
            return False
        trace = simulate(planned.commands, request.chip, self.path)
        if trace.cycles < self.cycles:
            self.best = replace(planned, trace=trace)
        return True

    def answer(self) -> Planned | None:
        """The best plan; raises DoesNotFit where it computes more than the request allows."""
        if self.best and self.request.recompute is not None:
            refuse_recomputed(self.best, self.request.recompute)
        if self.best is None:
            return None
        path_cycles = self.path_cycles or self.best.path_cycles
        return replace(self.best, attempts=(*self.best.attempts, *self.attempts), path_cycles=path_cycles)


def plan_in_these(
    request: PlanRequest, path: Mapping[str, str], ways: Sequence[FastestWays]
) -> Planned | None:
    """Return the fastest plan that is found to fit SharedMemory, of those in some ``ways``; None for none.
    Raises DoesNotFit where it computes more than the request allows."""
    tried = _QuickestPlan(request, path)
    for found, _, (program, schedule) in _in_ways(request, ((request.program, each) for each in ways)):
        tried.fits(found.bytes, program, schedule)
    return tried.answer()


def least_plan_in(request: PlanRequest, ways: FastestWays) -> tuple[Program, Planned] | None:
    """Return the program with the cascades of some ``ways``, and its plan that loads all weights where they
    are needed, packed into as little memory as is found; None where there is none."""
    asked = replace(request, chip=request.chip.with_memory(ways.bytes), spill=False)
    for _, _, (program, schedule) in _in_ways(asked, ((request.program, ways),), QUARTERS[-1:]):
        named = with_readable_names(program, schedule)
        return program, packed(asked, named, packer_limits(asked, perf_counter()))
    return None


def cascades_by_ways(
    request: PlanRequest, path: Mapping[str, str], tried: Cascades = FOR_TIME
) -> Program | None:
    """Return the program of ``request`` with the cascades of a fastest path, of those that are ``tried``, for
    another streamer, or as the part of one of several cores; None for none. Raises TimeIsOver."""
    alone = request.with_chip(replace(request.chip, cores=1))
    for found in _ways(alone, request.program, path, [request.chip.shared_memory.bytes], tried=tried):
        try:
            program = program_in_ways(request.program, found.ways)
        except ValueError:
            return None
        return program if any(way.cascade for way in found.ways) else None
    return None


def _ways(
    request: PlanRequest,
    program: Program,
    path: Mapping[str, str],
    sizes: Sequence[int],
    paths: int = 1,
    likely: int = 0,
    most: int = NEVER,
    tried: Cascades = FOR_TIME,
) -> Iterator[FastestWays]:
    chip, keeps, until = request.chip, not request.spill, request.deadline
    asked = path, request.cascades, sizes, keeps, until, paths, likely, most, tried
    return fastest_ways(program, chip, *asked)


def _schedules(
    request: PlanRequest, path: Mapping[str, str], paths: int = 1, likely: int = 0
) -> Iterator[tuple[FastestWays, int, tuple[Program, Schedule]]]:
    """Schedules in the ways of fastest paths, with these ways, those first that load weights earlier, and
    their number among these."""
    sizes = [request.chip.shared_memory.bytes * share // 64 for share in SHARES]
    return _in_ways(request, _fastest_forms(request, path, sizes, paths, likely))


def _in_ways(
    request: PlanRequest, forms: Iterable[tuple[Program, FastestWays]], all_quarters: Sequence[int] = QUARTERS
) -> Iterator[tuple[FastestWays, int, tuple[Program, Schedule]]]:
    for whole, found in forms:
        try:
            program = program_in_ways(whole, found.ways)
            for number, quarters in enumerate(all_quarters):
                asked = StreamRequest(program, request.chip, found.bytes, request.spill)
                yield found, number, (program, schedule_in_ways(asked, found.ways, quarters))
        except (ValueError, DoesNotFit):
            continue  # More steps than a cascade has, or too little room for what no path follows.


def _fastest_forms(
    request: PlanRequest, path: Mapping[str, str], sizes: Sequence[int], paths: int, likely: int
) -> Iterator[tuple[Program, FastestWays]]:
    """Programs with the ways for each of ``sizes``, further ``paths`` of the first one at last: with concats
    made in place, all of them or none: those with which the path for the first size is the fastest."""
    most = (sizes[0], 0)
    forms: list[Program] = []
    for program in (with_whole_concats(request.program, each) for each in most):
        forms += [program] if all(program.body != known.body for known in forms) else []
    best: tuple[Program, FastestWays, Iterator[FastestWays]] | None = None
    for program in forms:
        limit = best[1].cycles - 1 if best else NEVER
        walk = _ways(request, program, path, sizes, 1, likely, limit)
        first = next(walk, None)
        best = (program, first, walk) if first and first.cycles <= limit else best
    if best:
        program, first, walk = best
        further = _ways(request, program, path, sizes[:1], paths) if paths > 1 else ()
        yield from ((program, found) for found in chain((first,), walk, further))
