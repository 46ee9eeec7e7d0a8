"""The plan that the board's own tool would make of the same program: what the board takes today."""

from __future__ import annotations

from dataclasses import replace

from chipmodel.answers.result import Result
from chipmodel.errors import DoesNotFit
from chipmodel.pipeline.choices import CASCADE_AUTO, DEFAULT_PACKER, VENDOR_STREAMER
from chipmodel.pipeline.request import PlanRequest
from chipmodel.pipeline.run import run
from chipmodel.rewrites.channel_parts import has_other_ops


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
    # The bound takes long to find. It is for the plans of both, but where only one may have cascades.
    same = request.cascades == asked.cascades and not has_other_ops(result.program)
    bound = result.bound if same else None
    try:
        found = run(asked, result.trace.path, bound)
    except DoesNotFit:
        return result
    return replace(result, vendor=found) if found.fits else result
