"""Plans of streamers that are plug-ins: each is verified, sharing no decision with the planners."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from chipmodel.answers.result import CorePlan
from chipmodel.hardware.chip import Chip
from chipmodel.model.fit import off_chip_bytes
from chipmodel.model.program import Program
from chipmodel.pipeline.request import Planned, PlanRequest
from chipmodel.plan_file.contents import PlanFile
from dma.stream import streamer_plugin


def refuse_wrong_plan(planned: Planned, request: PlanRequest) -> None:
    """Raise PluginFault where the streamer is a plug-in, and the commands of its plan for one core are wrong.
    That a plan is too large for the chip is no fault of the streamer."""
    if streamer_plugin(request.streamer):
        from chipmodel.pipeline.plan_export import plan_of_planned

        large = _large_enough(request.chip, planned.solved.peak, off_chip_bytes(planned.schedule))
        file = plan_of_planned(planned, large, large.name, ())
        _refuse_wrong(request.streamer, planned.program, file, large)


def refuse_wrong_cores(plans: Sequence[CorePlan], request: PlanRequest) -> None:
    """The same for the plans of several cores."""
    if streamer_plugin(request.streamer):
        from chipmodel.pipeline.plan_export import plan_of_cores

        peak = max(plan.solved.peak for plan in plans)
        large = _large_enough(request.chip, peak, max(off_chip_bytes(plan.schedule) for plan in plans))
        file = plan_of_cores(plans, request.program, large, large.name, ())
        _refuse_wrong(request.streamer, request.program, file, large)


def _large_enough(chip: Chip, peak: int, off_chip: int) -> Chip:
    """``chip`` with memories of at least so many bytes."""
    shared, psram = max(chip.shared_memory.bytes, peak), max(chip.psram.bytes, off_chip)
    return replace(chip.with_memory(shared), psram=replace(chip.psram, bytes=psram))


def _refuse_wrong(streamer: str, program: Program, file: PlanFile, chip: Chip) -> None:
    from chipmodel.verify.plan_file import verify_file

    plugin, faults = streamer_plugin(streamer), verify_file(program, file, chip)
    if plugin and faults:
        raise plugin.fault(f"made a wrong plan: {faults[0]}")
