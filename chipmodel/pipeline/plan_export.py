"""A result as a plan file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from chipmodel.answers.result import CorePlan, Result
from chipmodel.bounds.program_windows import proven_cycles
from chipmodel.geometry.interval import Interval
from chipmodel.hardware.chip import Chip
from chipmodel.model.commands import Command, Compute, DmaMove, DmaStart, resolve_path
from chipmodel.model.plan import Solved
from chipmodel.model.program import NO_CHOICES, Program
from chipmodel.model.schedule import PSRAM, WEIGHTS, Part, Schedule
from chipmodel.model.tree import walk
from chipmodel.passes.liveness import liveness
from chipmodel.passes.lower import lower
from chipmodel.pipeline.request import Planned
from chipmodel.plan_file.contents import PlanFile, PlannedBuffer, PlannedCore, PsramHome
from chipmodel.plan_file.text import write_plan
from chipmodel.rewrites.in_place import reuse
from chipmodel.rewrites.op_order import names_in_order


def plan_of(result: Result, chip: str, overrides: Sequence[str]) -> PlanFile:
    """The offsets and commands of ``result``, of each core if there are several; ``chip`` and ``overrides``
    are what the user called the chip."""
    order = names_in_order(result.program) if result.ordering else ()
    if not result.cores:
        planned = Planned(result.program, result.schedule, result.problem, result.solved, result.attempts)
        return plan_of_planned(planned, result.chip, chip, overrides, order, result.trace.path)
    return plan_of_cores(result.cores, result.program, result.chip, chip, overrides, order)


def plan_of_cores(
    plans: Sequence[CorePlan],
    program: Program,
    chip: Chip,
    chip_name: str,
    overrides: Sequence[str],
    order: tuple[str, ...] = (),
) -> PlanFile:
    """The offsets and commands of the plans of all cores of ``chip``; ``order`` as ``PlanFile`` has it."""
    cores = tuple(_core(core.schedule, core.solved, core.commands, chip) for core in plans)
    return replace(_file(cores, program, chip, chip_name, overrides, order), cores=cores)


def plan_of_planned(
    planned: Planned,
    chip: Chip,
    chip_name: str,
    overrides: Sequence[str],
    order: tuple[str, ...] = (),
    choices: Mapping[str, str] = NO_CHOICES,
) -> PlanFile:
    """The offsets and commands of a plan for one core of ``chip``, with bounds along the path of ``choices``;
    ``order`` as ``PlanFile`` has it."""
    commands = lower(planned.schedule, planned.solved.plan)
    core = _core(planned.schedule, planned.solved, commands, chip)
    file = _file((core,), planned.program, chip, chip_name, overrides, order)
    bounds = tuple(proven_cycles(reuse(planned.program, "all"), chip, resolve_path(commands, choices)))
    found = replace(file, buffers=core.buffers, commands=commands, cascades=core.cascades, bounds=bounds)
    return replace(found, arena_bytes=core.arena_bytes)


def _file(
    cores: Sequence[PlannedCore],
    program: Program,
    chip: Chip,
    chip_name: str,
    overrides: Sequence[str],
    order: tuple[str, ...],
) -> PlanFile:
    """What a plan file says of all cores together, without the plans of the cores."""
    return PlanFile(
        workload=program.name,
        chip=chip_name,
        overrides=tuple(overrides),
        capacity_bytes=chip.shared_memory.bytes,
        peak_bytes=max(core.peak_bytes for core in cores),
        alignment=chip.shared_memory.alignment,
        psram=_homes([core.commands for core in cores]),
        buffers=(),
        commands=(),
        order=order,
    )


def _core(schedule: Schedule, solved: Solved, commands: tuple[Command, ...], chip: Chip) -> PlannedCore:
    """The buffers that commands use, at the steps that need them; streamers may hold them for longer."""
    needed = {name: replace(spec, held=Interval(0, 0)) for name, spec in schedule.buffers.items()}
    offsets = solved.plan.offsets
    buffers = tuple(
        PlannedBuffer(b.name, offsets[b.name], b.bytes, b.live, needed[b.name].within)
        for b in liveness(replace(schedule, buffers=needed), chip).buffers
        if b.live
    )
    arena = solved.plan.arena
    peak = max((b.offset + b.bytes for b in buffers), default=0)
    cascades = tuple(plan.members for plan in schedule.cascades)
    return PlannedCore(max(arena, peak), buffers, commands, cascades, arena)


def _homes(streams: Sequence[tuple[Command, ...]]) -> tuple[PsramHome, ...]:
    """Where everything lies that the commands of any core move, or read in place, by address."""
    homes: dict[Part, PsramHome] = {}
    every = [c for commands in streams for c in walk(commands)]
    copied = {(c.part, c.target) for c in every if isinstance(c, DmaMove)}
    for command in every:
        if isinstance(command, DmaStart):
            part = command.at.part if command.at.part.weights else Part(command.at.part.name)
            if (part, command.home) not in copied:
                homes[part] = PsramHome(part, command.home, command.memory)
        elif isinstance(command, DmaMove):
            memory = "" if command.source in (PSRAM, WEIGHTS) else command.source
            homes[command.part] = PsramHome(command.part, command.home, memory)
        elif isinstance(command, Compute) and command.weights_at:
            part = Part(command.op, weights=True)
            homes[part] = PsramHome(part, command.weights_at)
    return tuple(sorted(homes.values(), key=lambda each: each.home))


def plan_text(result: Result, chip: str, overrides: Sequence[str]) -> str:
    """``plan_of`` as the JSON text of a plan file."""
    return write_plan(plan_of(result, chip, overrides))
