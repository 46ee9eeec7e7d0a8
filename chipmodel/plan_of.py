"""A result as a plan file."""

from __future__ import annotations

from collections.abc import Sequence

from chipmodel.lower import lower
from chipmodel.plan import Problem, Solved
from chipmodel.plan_file import PlanFile, PlannedBuffer, PlannedCore
from chipmodel.result import Result


def plan_of(result: Result, workload: str, chip: str, overrides: Sequence[str]) -> PlanFile:
    """The offsets and commands of ``result``, of each core if there are several; ``workload``, ``chip`` and
    ``overrides`` are what the user called the workload and the chip."""
    cores = tuple(
        PlannedCore(core.solved.peak, _buffers(core.problem, core.solved), core.commands)
        for core in result.cores
    )
    return PlanFile(
        workload=workload,
        chip=chip,
        overrides=tuple(overrides),
        packer=result.solved.planner,
        streamer=result.schedule.streamer,
        capacity_bytes=result.capacity,
        peak_bytes=result.solved.peak,
        buffers=() if cores else _buffers(result.problem, result.solved),
        commands=() if cores else lower(result.schedule, result.solved.plan),
        cores=cores,
        alignment=result.chip.shared_memory.alignment,
    )


def _buffers(problem: Problem, solved: Solved) -> tuple[PlannedBuffer, ...]:
    offsets = solved.plan.offsets
    return tuple(PlannedBuffer(b.name, offsets[b.name], b.bytes, b.live) for b in problem.buffers)
