"""Check the cycles and phases of a step against the NPU."""

from __future__ import annotations

from collections.abc import Iterator

from chipmodel.cascades.columns import band_of
from chipmodel.geometry.share import WHOLE
from chipmodel.hardware.chip import Chip
from chipmodel.model.commands import Compute, Located
from chipmodel.model.program import Op, Program
from chipmodel.model.schedule import Part
from chipmodel.npu.cycles import op_cycles, op_phases
from chipmodel.rewrites.in_place import PlaceInTensor, left_to_move, place_within, places_in_concat


def cost_faults(program: Program, chip: Chip, op: Op, step: Compute) -> Iterator[str]:
    """What is wrong with the step's cycles and phases; a concat whose inputs are all in place takes none."""
    subject = f"step {step.label!r}"
    left = left_to_move(program, op, inputs_in_place(program, op, step))
    tile = (len(step.rows), len(step.channels), band_of(program, op, step.columns))
    if not all(tile[:2]) and op.work.rows and op.work.channels:
        yield f"{subject} computes nothing"
        return
    cycles = op_cycles(chip.npu, left, *tile) if left else 0
    if step.cycles != cycles:
        yield f"{subject} takes {cycles} cycles on {chip.name}, not {step.cycles}"
    if step.phases != (op_phases(chip.npu, left, *tile) if left else ()):
        yield f"{subject} does not have its phases on {chip.name}"


def inputs_in_place(program: Program, op: Op, step: Compute) -> frozenset[str]:
    """Inputs of a concat that already lie in their place in its output."""
    if not op.absorbs:
        return frozenset()
    places = places_in_concat(program, op)
    wholes = [w for w in step.writes if w.part == Part(op.outputs[0])]
    if len(wholes) != 1:
        return frozenset()
    whole = wholes[0]
    return frozenset(
        read.part.name
        for read in step.reads
        if read.part.name in op.absorbs
        and read.part.share == WHOLE
        and _place(read) == place_within(places[read.part.name], read.bytes, _place(whole), whole.bytes)
    )


def _place(place: Located) -> PlaceInTensor:
    return PlaceInTensor(place.offset, place.runs, place.pitch)
