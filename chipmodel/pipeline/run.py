"""The whole way from a program to a simulated, checked plan, on one core or several."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from chipmodel.answers.result import Result
from chipmodel.bounds.plugin_check import refuse_beaten
from chipmodel.bounds.time_bound import time_bound
from chipmodel.machine.simulate import simulate
from chipmodel.model.time_bound import TimeBound
from chipmodel.model.trace import Trace
from chipmodel.passes.run_length import refuse_long_run, refuse_skipped_results
from chipmodel.pipeline.multicore import run_cores
from chipmodel.pipeline.partition import assigned
from chipmodel.pipeline.plan import plan
from chipmodel.pipeline.request import Planned, PlanRequest
from chipmodel.rewrites.steady_state import inferences_of, unrolled
from dma.stream import streamer_named
from solvers.branches.mergers import merger_named

PLAN_SHARE = 0.8
"""The share of the time to a deadline that the plan may take; the rest is for simulating it, and ``sync``."""
SEARCH_SHARE = 0.95
"""The same of a streamer that searches: the default's plan, with which it begins, has more than alone, so
that the noise of a clock leaves it no less."""


def run(
    request: PlanRequest, choices: Mapping[str, str] | None = None, bound: TimeBound | None = None
) -> Result:
    """Plan and simulate a program along the path that ``choices`` name (``if``: arm, ``loop``: iterations).

    Where an op that takes nearly all of SharedMemory at once leaves no room for something else, it is cut
    finer (``chipmodel.pipeline.finer_cuts``), and the result's program is that one. ``bound`` on cycles is
    known already; it is found where it is None. Raises DoesNotFit (see ``plan``), BadInput for unknown names
    and impossible ``choices``, and PluginFault for a plug-in whose answer is wrong.
    """
    choices = choices or {}
    refuse_long_run(request.program, choices)
    refuse_skipped_results(request.program, choices)
    merger_named(request.merge)
    if request.chip.cores > 1:
        return run_cores(request, choices, bound)
    return _run(request, choices, bound)


def _run(request: PlanRequest, choices: Mapping[str, str], known: TimeBound | None) -> Result:
    """Plan and simulate a program for one core."""
    assigned(request.program, request.chip.cores)
    share = SEARCH_SHARE if streamer_named(request.streamer).searches_offsets else PLAN_SHARE
    planned = plan(request.until(request.deadline.share(share)), choices)
    return run_planned(request, planned, choices, known)


def run_planned(
    request: PlanRequest, planned: Planned, choices: Mapping[str, str], known: TimeBound | None = None
) -> Result:
    """Simulate the plan that was made for ``request`` on one core; ``known`` is a bound on its cycles."""
    request = replace(request, program=planned.program)
    trace = planned.trace or simulate(planned.commands, request.chip, choices)
    bound = known or _bound(request, trace)
    sync_cycles = _sync_cycles(request, choices, trace)
    if bound is not known:
        refuse_beaten(bound, request.chip, trace.cycles, sync_cycles)
    return Result(
        program=request.program,
        chip=request.chip,
        schedule=planned.schedule,
        problem=planned.problem,
        solved=planned.solved,
        trace=trace,
        sync_cycles=sync_cycles,
        bound=bound,
        attempts=planned.attempts,
        default_cycles=planned.default_cycles,
        proof=planned.proof,
        merge=request.merge,
        asked=request.asked,
    )


def _bound(request: PlanRequest, trace: Trace) -> TimeBound:
    made = inferences_of(request.program, trace.path)
    program = unrolled(request.program, made)
    return time_bound(program, request.chip, trace.path, request.cascades, made or 1)


def _sync_cycles(request: PlanRequest, choices: Mapping[str, str], trace: Trace) -> int | None:
    if request.streamer == "sync":
        return trace.cycles
    if not request.sync_too:
        return None
    return simulate(plan(request.with_sync()).commands, request.chip, choices).cycles
