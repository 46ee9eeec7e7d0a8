"""The plan that the board's own tool would make of the same program: what the board takes today."""

from __future__ import annotations

from dataclasses import replace

from chipmodel.errors import DoesNotFit
from chipmodel.machine.simulate import simulate
from chipmodel.model.result import AskedPlanners, Result
from chipmodel.pipeline.plan import plan
from chipmodel.pipeline.request import CASCADE_AUTO, DEFAULT_PACKER, VENDOR_STREAMER, PlanRequest
from chipmodel.pipeline.run import run


def with_vendor(result: Result, request: PlanRequest) -> Result:
    """``result`` with the run of the program in ``request`` by streamer ``vendor``, along the same path.

    It is as it was where that is the streamer asked for, where the chip does not say how its own tool
    schedules, and where the tool's plan does not fit.
    """
    if request.streamer == VENDOR_STREAMER or not request.chip.knows_vendor:
        return result
    asked = replace(
        request,
        packer=DEFAULT_PACKER,
        streamer=VENDOR_STREAMER,
        spill=True,
        limits=None,
        stop=None,
        sync_too=False,
        smallest_peak=False,
        cascade=CASCADE_AUTO,
    )
    try:
        found = run(asked, result.trace.path) if result.cores else _of_one_core(result, asked)
    except DoesNotFit:
        return result
    return replace(result, vendor=found) if found.fits else result


def _of_one_core(result: Result, asked: PlanRequest) -> Result:
    """The vendor's run; its bound is that of ``result``, which would take long to find again."""
    planned = plan(asked, result.trace.path)
    return Result(
        program=planned.program,
        chip=asked.chip,
        schedule=planned.schedule,
        problem=planned.problem,
        solved=planned.solved,
        trace=planned.trace or simulate(planned.commands, asked.chip, result.trace.path),
        sync_cycles=None,
        bound=result.bound,
        attempts=planned.attempts,
        asked=AskedPlanners(asked.streamer, asked.packer),
    )
