"""Check the buffers of a plan file: against each other, against the chip, and against every command."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from chipmodel.cascades.accumulation import in_cascades
from chipmodel.hardware.chip import SharedMemory
from chipmodel.model.commands import Command, Located, operands
from chipmodel.model.plan import Buffer, Plan, Problem
from chipmodel.model.program import Program
from chipmodel.model.schedule import CascadeOps
from chipmodel.model.tree import walk
from chipmodel.plan_file.contents import PlannedBuffer
from chipmodel.rewrites.in_place import AT_START, PlaceInTensor, place_within, places_in_concat
from chipmodel.verify.cascade_table import CascadeTable
from chipmodel.verify.fast_offsets import check_fast
from chipmodel.verify.lifetimes import lifetime_faults
from chipmodel.verify.parts import part_label


def buffer_faults(
    program: Program,
    buffers: Sequence[PlannedBuffer],
    commands: tuple[Command, ...],
    memory: SharedMemory,
    cascades: Sequence[CascadeOps] = (),
) -> Iterator[str]:
    """What is wrong with the buffers of one core of a plan for ``program`` with these ``cascades``."""
    for name, count in Counter(b.name for b in buffers).items():
        if count > 1:
            yield f"{count} buffers of the plan are called {name!r}"
    program = in_cascades(program, cascades)
    table = CascadeTable(program, cascades)
    yield from _place_faults(program, buffers, commands)
    yield from _nesting_faults(buffers, commands)
    placed = tuple(Buffer(b.name, b.bytes, b.live, memory.alignment) for b in buffers)
    groups: dict[str, list[str]] = {}
    for inner in (b for b in buffers if b.within):
        groups.setdefault(inner.within, [inner.within]).append(inner.name)
    problem = Problem(placed, memory.bytes, colocated=tuple(map(tuple, groups.values())))
    yield from check_fast(problem, Plan({b.name: b.offset for b in buffers}))
    yield from lifetime_faults({b.name: b.live for b in buffers}, commands, table.again)


def _nesting_faults(buffers: Sequence[PlannedBuffer], commands: tuple[Command, ...]) -> Iterator[str]:
    """Buffers said to be the start of another one, but not smaller weights of one op at its offset."""
    known = {b.name: b for b in buffers}
    held: dict[str, set[tuple[str, bool]]] = {}
    for place in (place for command in walk(commands) for place in operands(command)):
        held.setdefault(place.buffer, set()).add((place.part.name, place.part.weights))
    for inner in (b for b in buffers if b.within):
        outer = known.get(inner.within)
        one = outer and not outer.within and inner.offset == outer.offset and inner.bytes < outer.bytes
        things = held.get(inner.name, set()) | held.get(inner.within, set())
        if not one or len(things) != 1 or not all(weights for _, weights in things):
            yield f"buffer {inner.name!r} is not the start of weights in buffer {inner.within!r}"


def _place_faults(
    program: Program, buffers: Sequence[PlannedBuffer], commands: tuple[Command, ...]
) -> Iterator[str]:
    """Operands that do not lie where their buffer does. An input of a concat may lie at its place in the
    buffer of the concat's output."""
    known = {b.name: b for b in buffers}
    within = _places_within(program)
    for place in (place for command in walk(commands) for place in operands(command)):
        buffer, what = known.get(place.buffer), part_label(place.part)
        if buffer is None:
            yield f"{what} is in buffer {place.buffer!r}, which the plan does not have"
            continue
        if (place.offset, place.bytes, place.runs, place.pitch) == (buffer.offset, buffer.bytes, 1, 0):
            continue
        if _narrower(place, buffer):
            continue
        start = place.offset - buffer.offset
        if place.part.weights and start > 0 and start + place.bytes == buffer.bytes:
            continue  # a piece, which ends the buffer; the step that reads all of them finds no other's
        inside = PlaceInTensor(start, place.runs, place.pitch), place.bytes
        if place.part.weights or inside not in within.get(place.part.name, ()):
            where = f"{buffer.bytes} bytes at {buffer.offset}"
            yield f"{what} has {place.bytes} bytes at {place.offset}, its buffer {buffer.name!r} {where}"


def _narrower(place: Located, buffer: PlannedBuffer) -> bool:
    """Whether a rolling buffer has fewer bytes for a narrower band of columns."""
    at_start = (place.offset, place.runs, place.pitch) == (buffer.offset, 1, 0)
    return at_start and place.rolls and place.part.share.banded and place.bytes < buffer.bytes


def _places_within(program: Program) -> dict[str, set[tuple[PlaceInTensor, int]]]:
    """Where a tensor may lie in another's buffer, and how many bytes of it: the inputs of a concat in its
    output, which may itself be in another's, and the tensors that those have overwritten in place."""
    places_in: dict[str, set[tuple[PlaceInTensor, int]]] = {}
    for op in reversed(list(program.ops())):
        if op.overwrites:
            places_in.setdefault(op.overwrites, set()).update(
                *(places_in.get(output, ()) for output in op.outputs)
            )
        places = places_in_concat(program, op)
        for name in op.absorbs:
            whole, size = program.tensors[op.outputs[0]].bytes, program.tensors[name].bytes
            outer = (AT_START, *(place for place, _ in places_in.get(op.outputs[0], ())))
            inside = (place_within(places[name], size, place, whole) for place in outer)
            places_in.setdefault(name, set()).update((place, size) for place in inside if place)
    return places_in
