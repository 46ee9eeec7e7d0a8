"""Verify a plan file: its commands, and that its buffers, capacity and peak agree with them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from chipmodel.chip.chip import Chip
from chipmodel.model.commands import Command, Compute, DmaStart, Located, walk
from chipmodel.model.plan import Buffer, Plan, Problem
from chipmodel.model.program import Program, ops
from chipmodel.plan_file.contents import PlanFile
from chipmodel.verify.commands import MAX_VIOLATIONS, part_label, verify
from chipmodel.verify.cores import misplaced_ops, verify_cores
from chipmodel.verify.offsets import check


def verify_file(program: Program, plan: PlanFile, chip: Chip) -> tuple[str, ...]:
    """Describe the first ``MAX_VIOLATIONS`` violations of a plan file, for one core or several."""
    faults = _core_faults(program, plan, chip) if plan.cores else _single_core_faults(program, plan, chip)
    return tuple(dict.fromkeys(faults))[:MAX_VIOLATIONS]


def _single_core_faults(program: Program, plan: PlanFile, chip: Chip) -> Iterator[str]:
    yield from misplaced_ops(program, {})
    yield from _buffer_faults(program, plan, chip)
    yield from verify(program, plan.commands, chip)


def _core_faults(program: Program, plan: PlanFile, chip: Chip) -> Iterator[str]:
    if len(plan.cores) != chip.cores:
        yield f"the plan is for {len(plan.cores)} cores, the chip has {chip.cores}"
    peak = max(core.peak_bytes for core in plan.cores)
    if peak != plan.peak_bytes:
        yield f"the plan states a peak of {plan.peak_bytes} bytes, the highest of a core is {peak}"
    for number, core in enumerate(plan.cores):
        alone = replace(plan, peak_bytes=core.peak_bytes, buffers=core.buffers, commands=core.commands)
        for fault in _buffer_faults(program, alone, chip):
            yield f"core {number}: {fault}"
    yield from verify_cores(program, [core.commands for core in plan.cores], chip)


def _buffer_faults(program: Program, plan: PlanFile, chip: Chip) -> Iterator[str]:
    """Describe where the buffers of a plan file violate one another or differ from those of its commands."""
    if plan.capacity_bytes != chip.shared_memory.bytes:
        has = chip.shared_memory.bytes
        yield f"the plan is for {plan.capacity_bytes} bytes of SharedMemory, the chip has {has}"
    peak = max((b.offset + b.bytes for b in plan.buffers), default=0)
    if peak != plan.peak_bytes:
        yield f"the plan states a peak of {plan.peak_bytes} bytes, its buffers end at {peak}"
    for name, count in Counter(b.name for b in plan.buffers).items():
        if count > 1:
            yield f"{count} buffers of the plan are called {name!r}"
    known = {(b.offset, b.bytes) for b in plan.buffers}
    concatenated = _concatenated(program)
    for command in walk(plan.commands):
        for place in _places(command):
            if (place.offset, place.bytes) in known:
                continue
            if place.part.name not in concatenated or not _inside_buffer(place, plan):
                what = f"{part_label(place.part)} has {place.bytes} bytes at {place.offset}"
                yield f"{what}, where the plan has no such buffer"
    problem = Problem(tuple(Buffer(b.name, b.bytes, b.live) for b in plan.buffers), chip.shared_memory.bytes)
    yield from check(problem, Plan({b.name: b.offset for b in plan.buffers}))


def _places(command: Command) -> tuple[Located, ...]:
    match command:
        case DmaStart():
            return (command.at,)
        case Compute():
            return (*command.reads, *command.writes)
        case _:
            return ()


def _concatenated(program: Program) -> frozenset[str]:
    """Tensors that may lie in a part of another tensor's buffer: the inputs of a concat, in that of its
    output, and the tensors that those have overwritten in place."""
    every = list(ops(program.body))
    old = {name: op.overwrites for op in every for name in op.outputs if op.overwrites}
    names: list[str] = [name for op in every for name in op.absorbs]
    for name in names:
        if name in old:
            names.append(old[name])
    return frozenset(names)


def _inside_buffer(place: Located, plan: PlanFile) -> bool:
    end = place.addresses.stop
    return any(b.offset <= place.offset and end <= b.offset + b.bytes for b in plan.buffers)
