"""A plan with cascades or without: in the ways of the fastest paths, or by a streamer that the user names.

A streamer that knows no paths has the cascades of the fastest one, and none, and the faster plan is kept.
Programs with loops have a rival without paths, which know no weights that stay for all iterations; so do
those that no path plans, or whose plan takes longer than its path: much longer, or with branches a little, as
tensors that several arms use are in one of both memories all the time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain

from chipmodel.bounds.columns import FastestWays
from chipmodel.bounds.least_memory import least_memory
from chipmodel.bounds.time_bound import time_bound
from chipmodel.cascades.arrivals import LateArrival
from chipmodel.cascades.recomputed import computed
from chipmodel.cascades.rewrite import with_cascades
from chipmodel.errors import BadInput, DoesNotFit, TimeIsOver
from chipmodel.files.suggestions import suggest
from chipmodel.hardware.chip import Chip
from chipmodel.model.program import Loop, Program
from chipmodel.pipeline.by_ways import cascades_by_ways, plan_by_ways, plan_in_these
from chipmodel.pipeline.choices import CASCADE_AUTO, CASCADE_OFF, VENDOR_STREAMER
from chipmodel.pipeline.exact import plan_exactly
from chipmodel.pipeline.quickest import rank
from chipmodel.pipeline.request import Planned, PlanRequest
from chipmodel.pipeline.rounds import plan_in_rounds
from dma.columns.ladder import CHAINED, FOR_TIME, Cascades
from dma.columns.named import cascades_of
from dma.residency.comfortable import comfortable_memory
from dma.residency.tool_pools import pooled_as_made
from dma.stream import streamer_named
from dma.streamers import vendor
from dma.streamers.by_ways import program_in_ways

NEAR = 1.05
"""How many times the cycles of a bound for any plan, or of its path through branches, those of a plan may be
that is not worth a search (assumed)."""
LOST = 1.5
"""The same of its path in a program without branches: an op that is not listed, such as a layer that runs
backwards, may take much longer than a path says (assumed)."""
QUICK_OPS = 150
"""Ops of a program for which a fastest path is found whatever time is left: some seconds, without which plans
in little memory may take more than twice the cycles."""
FASTEST_PATH = "the fastest path over the listed ways"
LEAST = "the least memory of the listed ways"


def plan_with_cascades(request: PlanRequest, path: Mapping[str, str] | None) -> Planned:
    """Plan along ``path``, None for all paths, with the cascades that the request allows. Raises DoesNotFit,
    and BadInput for names of ops that cannot be a cascade."""
    if request.cascade in (CASCADE_AUTO, CASCADE_OFF):
        found = _along_paths(request, path)
        repeats = any(isinstance(node, Loop) for node in request.program.nodes())
        most = LOST if request.program.is_straight else NEAR
        if found and not repeats and request.recompute is None and not _is_lost(found, most):
            return found
        programs = _others(request, path)
    else:
        found, programs = None, (_named(request, in_stripes) for in_stripes in (False, True))
    plans, refusal = [found] if found else [], None
    known: list[Program] = []
    while not (plans and _is_enough(request, plans[-1])) and (program := next(programs, None)):
        if program in known:
            continue
        known.append(program)
        try:
            plans.append(_plan(request, path, program))
        except DoesNotFit as error:
            refusal = refusal or error
    if request.cascade == CASCADE_AUTO and (not plans or request.recompute is not None):
        plans += _in_least_memory(request, path)
    if not plans:
        raise refusal or AssertionError("a plan or a refusal")
    return min(plans, key=lambda each: rank(request, path, each))


def _along_paths(request: PlanRequest, path: Mapping[str, str] | None) -> Planned | None:
    """The best plan in the ways of as many of the fastest paths as the streamer tries; None for none."""
    paths = streamer_named(request.streamer).paths
    if path is None or not paths:
        return None
    try:
        found = _by_ways(request, path)
        return plan_exactly(request, path, paths, found) if found and paths > 1 else found
    except TimeIsOver:
        request.deadline.ended(FASTEST_PATH)
    except DoesNotFit:
        pass
    return None


def _by_ways(request: PlanRequest, path: Mapping[str, str]) -> Planned | None:
    """The plan in the ways of a fastest path; where everything has room, that of single ops if it is near the
    bound for any plan, as to look for cascades takes several times as long, or takes no longer."""
    program, chip = request.program, request.chip
    tight = comfortable_memory(program) > chip.shared_memory.bytes
    once = program.is_straight and program.inferences == 1
    if request.cascade == CASCADE_OFF or tight or not once:
        return plan_by_ways(_unhurried(request), path)
    alone = plan_by_ways(_unhurried(replace(request, cascade=CASCADE_OFF)), path)
    if alone and alone.trace:
        bound = time_bound(program, chip, path, cascades=True)
        if alone.trace.cycles <= NEAR * bound.cycles:
            return alone
    found = plan_by_ways(_unhurried(request), path, (alone and alone.path_cycles) or 0)
    plans = [each for each in (found, alone) if each]
    return min(plans, key=lambda each: rank(request, path, each), default=None)


def _is_lost(planned: Planned, most: float) -> bool:
    """Whether a plan takes more than so many times the cycles of the path in whose ways it is."""
    cycles, of_path = planned.trace.cycles if planned.trace else 0, planned.path_cycles
    return of_path is not None and cycles > most * of_path


def _unhurried(request: PlanRequest) -> PlanRequest:
    """The same without a deadline, if the program is small and there is time left."""
    if request.deadline.over or sum(1 for _ in request.program.ops()) > QUICK_OPS:
        return request
    return request.until(replace(request.deadline, until=None))


def _is_enough(request: PlanRequest, planned: Planned) -> bool:
    """Whether a streamer without paths has a plan without cascades in which everything stays: they gain
    little then, and Arm's compiler makes none (``optimize_schedule`` of Vela 5.2 returns its fastest one)."""
    stays = planned.solved.peak <= request.chip.shared_memory.bytes and not planned.schedule.moves_tensors
    named = request.cascade not in (CASCADE_AUTO, CASCADE_OFF)
    stays = stays and not planned.schedule.cascades
    return stays and not named and not streamer_named(request.streamer).paths and request.recompute is None


def _others(request: PlanRequest, path: Mapping[str, str] | None) -> Iterator[Program]:
    """The program without cascades, and with those that the fastest path has, or the chip's own tool."""
    program, auto = request.program, request.cascade == CASCADE_AUTO
    if request.streamer == VENDOR_STREAMER:
        has_cascades = request.chip.vendor.cascades
        pooled = program if has_cascades or not auto else _pooled(program, request.chip)
        yield pooled
        yield from _in_cascades(request, path, CHAINED) if auto and has_cascades else ()
        return
    yield program
    if auto and (path is None or not streamer_named(request.streamer).paths):
        yield from _in_cascades(request, path, FOR_TIME)


def _in_cascades(request: PlanRequest, path: Mapping[str, str] | None, tried: Cascades) -> Iterator[Program]:
    """The program with the cascades of the fastest path, of those that are ``tried``, if it has any."""
    try:
        cascaded = cascades_by_ways(_unhurried(request), path or {}, tried)
        yield from (cascaded,) if cascaded else ()
    except TimeIsOver:
        request.deadline.ended(FASTEST_PATH)


def _least_ways(request: PlanRequest) -> Sequence[FastestWays]:
    """The ways of plans in the least memory, and in about as much as there is, which may compute rows again
    within the request's multiply-accumulates."""
    chip = request.chip
    sizes = [chip.shared_memory.bytes * share // 64 for share in (64, 60)]
    asked = request.program, replace(chip, cores=1), request.recompute, sizes
    try:
        found = least_memory(*asked, _unhurried(request).deadline)
    except TimeIsOver:
        request.deadline.ended(LEAST)
        return ()
    return found.paths if found else ()


def _in_least_memory(request: PlanRequest, path: Mapping[str, str] | None) -> Iterator[Planned]:
    """Plans in these ways, or of a streamer that knows no ways, with their cascades."""
    program, most = request.program, request.recompute
    if path is not None and streamer_named(request.streamer).paths:
        found = plan_in_these(request, path, _least_ways(request))
        yield from (found,) if found else ()
        return
    for ways in _least_ways(request):
        with suppress(ValueError, DoesNotFit):  # More steps than a cascade has, or no room for the weights.
            cascaded = program_in_ways(program, ways.ways)
            if most is None or computed(cascaded) <= most * computed(program):
                yield _plan(request, path, cascaded)


def _plan(request: PlanRequest, path: Mapping[str, str] | None, program: Program) -> Planned:
    """The plan of ``program``; a board's own tool gives up early weights if they leave no room."""
    try:
        return plan_in_rounds(request, path, program)
    except DoesNotFit:
        if request.streamer != VENDOR_STREAMER:
            raise
    return plan_in_rounds(request, path, program, vendor.WITHOUT_ROOM)


def named_cascades(request: PlanRequest) -> tuple[tuple[str, ...], ...]:
    """The ops that ``--cascade`` names: ``a,b+c,d`` are two groups, between which no cascade goes. None for
    ``auto`` and ``off``. Raises BadInput for unknown ops."""
    if request.cascade in (CASCADE_AUTO, CASCADE_OFF):
        return ()
    known = [op.name for op in request.program.ops()]
    groups: list[list[str]] = [[]]
    for word in request.cascade.split(","):
        # The name of an op may have the sign that divides groups.
        first, *others = [word.strip()] if word.strip() in known else map(str.strip, word.split("+"))
        groups[-1].append(first)
        groups += [[name] for name in others]
    for name in filter(None, chain.from_iterable(groups)):
        if name not in known:
            raise BadInput(
                f"--cascade names {name!r}, which is not an op", hint=suggest(name, known, "its ops are")
            )
    return tuple(tuple(filter(None, group)) for group in groups)


def _pooled(program: Program, chip: Chip) -> Program:
    """The program with the convolutions and poolings as one that the chip's tool runs so."""
    return with_cascades(program, cascades_of(program, chip, [pooled_as_made(program, chip)]))


def _named(request: PlanRequest, in_stripes: bool) -> Program:
    """The program with the cascades that the user names: neighbours in one group are one cascade."""
    program, chip, groups = request.program, request.chip, named_cascades(request)
    try:
        return with_cascades(program, cascades_of(program, chip, groups, request.recompute, in_stripes))
    except LateArrival as error:
        hint = "end the cascade before that op, or have one core run both: core: in the workload"
        raise BadInput(f"--cascade {request.cascade}: {error}", where=error.place, hint=hint) from None
    except ValueError as error:
        hint = "name neighbouring ops, each of which makes what a later one reads"
        if request.chip.cores > 1:
            hint += "; on several cores those of one core"
        raise BadInput(f"--cascade {request.cascade}: {error}", hint=hint) from None
