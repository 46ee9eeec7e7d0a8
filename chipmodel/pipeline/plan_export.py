"""A result as a plan file."""

from __future__ import annotations

from collections.abc import Sequence

from chipmodel.chip.chip import Chip
from chipmodel.model.plan import Problem, Solved
from chipmodel.model.result import Result
from chipmodel.passes.lower import lower
from chipmodel.passes.op_order import names_in_order
from chipmodel.pipeline.request import Planned
from chipmodel.plan_file.contents import PlanFile, PlannedBuffer, PlannedCore
from chipmodel.plan_file.write import write_plan


def plan_of(result: Result, workload: str, chip: str, overrides: Sequence[str]) -> PlanFile:
    """The offsets and commands of ``result``, of each core if there are several; ``workload``, ``chip`` and
    ``overrides`` are what the user called the workload and the chip."""
    cores = tuple(
        PlannedCore(core.solved.peak, _buffers(core.problem, core.solved), core.commands)
        for core in result.cores
    )
    order = names_in_order(result.program) if result.ordering else ()
    if not cores:
        planned = Planned(result.schedule, result.problem, result.solved, result.attempts)
        return plan_of_planned(planned, result.chip, workload, chip, overrides, order)
    return PlanFile(
        workload=workload,
        chip=chip,
        overrides=tuple(overrides),
        packer=result.solved.planner,
        streamer=result.schedule.streamer,
        capacity_bytes=result.capacity,
        peak_bytes=result.solved.peak,
        buffers=(),
        commands=(),
        cores=cores,
        alignment=result.chip.shared_memory.alignment,
        order=order,
    )


def plan_of_planned(
    planned: Planned,
    chip: Chip,
    workload: str,
    chip_name: str,
    overrides: Sequence[str],
    order: tuple[str, ...] = (),
) -> PlanFile:
    """The offsets and commands of a plan for one core of ``chip``; ``order`` as ``PlanFile`` has it."""
    return PlanFile(
        workload=workload,
        chip=chip_name,
        overrides=tuple(overrides),
        packer=planned.solved.planner,
        streamer=planned.schedule.streamer,
        capacity_bytes=chip.shared_memory.bytes,
        peak_bytes=planned.solved.peak,
        buffers=_buffers(planned.problem, planned.solved),
        commands=lower(planned.schedule, planned.solved.plan),
        alignment=chip.shared_memory.alignment,
        order=order,
    )


def _buffers(problem: Problem, solved: Solved) -> tuple[PlannedBuffer, ...]:
    offsets = solved.plan.offsets
    return tuple(PlannedBuffer(b.name, offsets[b.name], b.bytes, b.live) for b in problem.buffers)


def plan_text(result: Result, workload: str, chip: str, overrides: Sequence[str]) -> str:
    """``plan_of`` as the JSON text of a plan file."""
    return write_plan(plan_of(result, workload, chip, overrides))
