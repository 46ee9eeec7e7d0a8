"""Which bytes of which tensors and weights a step reads and writes, and where they lie."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from chipmodel.cascades.columns import part_reads
from chipmodel.execute.places import Numbers, numbers, part_addresses, touched_addresses
from chipmodel.geometry.share import WHOLE
from chipmodel.model.commands import Compute, Located
from chipmodel.model.program import NO_SHARE, Op, Program
from chipmodel.rewrites.in_place import places_in_concat


@dataclass(frozen=True, slots=True)
class OperandBytes:
    """Bytes of a tensor (of its first slice, where a loop slices it) or weight block, by their numbers in it,
    and their addresses. ``place`` is the operand; None for what lies in Psram."""

    numbers: Numbers
    addresses: Numbers
    place: Located | None = None


def inputs_read(
    program: Program, op: Op, step: Compute, iteration: int
) -> Iterator[tuple[int, OperandBytes]]:
    """What ``step`` reads of the inputs of ``op``, by their number."""
    for index, (name, place) in enumerate(zip(op.inputs, _operands(op, step), strict=True)):
        if place is not None:
            moved, total = _of_part(program, op, index, step, place), program.tensors[name].bytes
            yield index, OperandBytes(*touched_addresses(moved, total, iteration), place)


def sums_read(op: Op, step: Compute) -> Iterator[OperandBytes]:
    """What ``step`` reads of what the parts before it have left."""
    sums = op.continued(step.rows)
    for place in step.reads:
        if sums is not None and place.part.name == sums.name:
            yield OperandBytes(*touched_addresses(place, sums.bytes, 0), place)


def weights_read(program: Program, op: Op, step: Compute, size: int) -> Iterator[OperandBytes]:
    """What ``step`` reads of the weight block of ``size`` bytes; of a table that rows are looked up in, its
    first bytes stand for those rows."""
    if step.weights_at is not None:
        there = np.arange(min(size, len(step.weights_at)), dtype=np.int64)
        yield OperandBytes(there, step.weights_at.start + there)
        return
    for place in step.reads:
        if place.part.weights and place.part.name == step.op:
            rows = min(size, place.part.share.bytes(program.block_bytes(op)))
            own = np.arange(rows, dtype=np.int64) if op.gathers else numbers(place.part.share, size)
            yield OperandBytes(own, place.offset + np.arange(len(own), dtype=np.int64), place)


def outputs_written(
    program: Program, op: Op, step: Compute, iteration: int
) -> Iterator[tuple[str, OperandBytes]]:
    """What ``step`` writes of outputs, and leaves for the next part: by the name of the tensor."""
    for place in step.writes:
        name = place.part.name
        if not op.allocates and name in op.made(step.rows):
            total = program.tensors[name].bytes
            own, addresses = numbers(place.part.share, total), part_addresses(place, total, iteration)
            moved = _moved(program, op, step, total)[own]
            yield name, OperandBytes(own[moved], addresses[moved], place)


def scratch_filled(op: Op, step: Compute, iteration: int) -> Iterator[Numbers]:
    """The addresses of the scratch that ``step`` fills."""
    for place in step.writes:
        if op.scratch and place.part.name == op.scratch.name:
            yield part_addresses(place, op.scratch.bytes, iteration)


def first_of_slice(program: Program, op: Op, name: str, iteration: int) -> int:
    """The first byte of the slice of a tensor that ``iteration`` moves; 0 where it is not sliced."""
    if name != op.sliced:
        return 0
    return iteration % op.slices * (program.tensors[name].bytes // op.slices)


def _of_part(program: Program, op: Op, index: int, step: Compute, place: Located) -> Located:
    """The bytes that the part itself reads, where the place is that of the whole tensor."""
    share = part_reads(program, op, index, step.rows, step.channels, step.columns)
    rows_alone = len(share.channels) == share.of_channels and not share.banded
    if place.part.share != WHOLE or not place.touched or rows_alone or place.rolls:
        return place
    return replace(place, part=replace(place.part, share=share), touched=None, in_tensor=True)


def _operands(op: Op, step: Compute) -> Iterator[Located | None]:
    """Where each input of ``op`` is read; None for one that is not."""
    places = [place for place in step.reads if not place.part.weights]
    for index, name in enumerate(op.inputs):
        apart = op.reads(index, step.rows, step.channels) == NO_SHARE and not op.collects
        if places and places[0].part.name == name and not apart:
            yield places.pop(0)
        else:
            yield None


def _moved(program: Program, op: Op, step: Compute, total: int) -> NDArray[np.bool_]:
    """The bytes of an output that the op writes: all but inputs of a concat that lie there already."""
    moved = np.ones(total, np.bool_)
    if not op.absorbs:
        return moved
    places = places_in_concat(program, op)
    for read in step.reads:
        name = read.part.name
        if name in op.absorbs and name in places and read.touched is not None and not len(read.touched):
            size = program.tensors[name].bytes
            here = np.arange(size, dtype=np.int64)
            run = max(1, size // places[name].runs)
            moved[places[name].offset + here // run * places[name].pitch + here % run] = False
    return moved
