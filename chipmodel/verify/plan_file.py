"""Verify a plan file: everything that it states follows from the program, the chip and its own commands."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from chipmodel.hardware.chip import Chip
from chipmodel.model.commands import Command
from chipmodel.model.program import Program
from chipmodel.plan_file.contents import PlanFile, PlannedCore, PsramHome
from chipmodel.rewrites.in_place import reuse
from chipmodel.verify.buffers import buffer_faults
from chipmodel.verify.commands import MAX_VIOLATIONS, verify
from chipmodel.verify.cores import misplaced_ops, verify_cores
from chipmodel.verify.parts import part_label
from chipmodel.verify.proven_cycles import proof_faults
from chipmodel.verify.psram import psram_uses


def verify_file(program: Program, plan: PlanFile, chip: Chip) -> tuple[str, ...]:
    """Describe the first ``MAX_VIOLATIONS`` violations of a plan file, for one core or several.

    In ``program`` the ops that the plan splits over cores are split.
    """
    faults = dict.fromkeys((*_head_faults(program, plan, chip), *_body_faults(program, plan, chip)))
    return tuple(faults)[:MAX_VIOLATIONS]


def _head_faults(program: Program, plan: PlanFile, chip: Chip) -> Iterator[str]:
    """What the head says of workload and chip, and the peak of all cores."""
    memory = chip.shared_memory
    if plan.workload != program.name:
        yield f"the plan is for workload {plan.workload!r}, not {program.name!r}"
    if plan.capacity_bytes != memory.bytes:
        yield f"the plan is for {plan.capacity_bytes} bytes of SharedMemory, the chip has {memory.bytes}"
    if plan.alignment != memory.alignment:
        yield f"the plan aligns buffers to {plan.alignment}, the chip to {memory.alignment}"
    peak = max((core.peak_bytes for core in plan.cores), default=plan.peak_bytes)
    if peak != plan.peak_bytes:
        yield f"the plan states a peak of {plan.peak_bytes} bytes, the highest of a core is {peak}"
    if len(plan.cores or (1,)) != chip.cores:
        yield f"the plan is for {len(plan.cores or (1,))} cores, the chip has {chip.cores}"
    for proof in plan.bounds:  # of plans with any tensors in place
        yield from proof_faults(reuse(program, "all"), chip, proof)


def _body_faults(program: Program, plan: PlanFile, chip: Chip) -> Iterator[str]:
    alone = PlannedCore(plan.peak_bytes, plan.buffers, plan.commands, plan.cascades, plan.arena_bytes)
    for number, core in enumerate(plan.cores or (alone,)):
        for fault in _core_faults(program, core, chip):
            yield f"core {number}: {fault}" if plan.cores else fault
    streams = [core.commands for core in plan.cores or (alone,)]
    yield from _psram_table_faults(plan.psram, streams)
    if plan.cores:
        yield from verify_cores(program, streams, chip, [core.cascades for core in plan.cores])
    else:
        yield from misplaced_ops(program, {})
        yield from verify(program, plan.commands, chip, plan.cascades)


def _core_faults(program: Program, core: PlannedCore, chip: Chip) -> Iterator[str]:
    top = max((b.offset + b.bytes for b in core.buffers), default=0)
    if max(top, core.arena_bytes) != core.peak_bytes:
        arena = f", its arena at {core.arena_bytes}" if core.arena_bytes else ""
        yield f"the plan states a peak of {core.peak_bytes} bytes, its buffers end at {top}{arena}"
    yield from buffer_faults(program, core.buffers, core.commands, chip.shared_memory, core.cascades)


def _psram_table_faults(table: Sequence[PsramHome], streams: Sequence[tuple[Command, ...]]) -> Iterator[str]:
    """What is wrong with the table of places in Psram: every command uses it, and nothing else is in it."""
    unused = Counter((entry.part, entry.home, entry.memory) for entry in table)
    stated = set(unused)
    used = (use for commands in streams for use in psram_uses(commands))
    for subject, part, home, memory in used:
        unused[part, home, memory] = 0
        if (part, home, memory) not in stated:
            yield f"{subject} has {part_label(part)} at {home} of Psram, the table does not"
    for part, home, _ in unused.elements():
        yield f"the table of Psram has {part_label(part)} at {home}, where no command finds it"
    if len(stated) < len(table):
        yield "the table of Psram has a place twice"
