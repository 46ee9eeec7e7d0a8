"""Check the operands of a step: what it reads and writes, in order, and which bytes of it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile, zip_longest

from chipmodel.cascades.columns import part_reads, part_writes
from chipmodel.geometry.interval import Interval
from chipmodel.geometry.share import WHOLE, Share, by_channels
from chipmodel.model.commands import Compute, Located
from chipmodel.model.program import NO_SHARE, Op, Program
from chipmodel.model.schedule import Part
from chipmodel.records import dataclass
from chipmodel.verify.cascade_table import CascadeTable
from chipmodel.verify.parts import part_label, same_thing
from chipmodel.verify.rolling import rows_in_columns, share_bytes, touched_in_ring
from chipmodel.verify.step_cost import inputs_in_place

NOTHING = Interval(0, 0)


@dataclass(frozen=True, slots=True)
class _ExpectedOperand:
    """A part that a step must read or write, and the bytes of its place that this takes."""

    part: Part
    touches: Interval
    whole: bool = False
    """Whether the place must name all of the tensor, of which the step needs ``part``."""
    in_tensor: bool = False
    advances: tuple[int, ...] = (0,)
    """Bytes by which it may move on with each iteration."""


def operand_faults(program: Program, op: Op, step: Compute, cascades: CascadeTable) -> Iterator[str]:
    """What ``step`` does not read or write as ``op`` demands, or does without need."""
    subject = f"step {step.label!r}"
    yield from _faults(subject, "read", step.reads, tuple(_reads(program, op, step, cascades)))
    yield from _faults(subject, "write", step.writes, tuple(_writes(program, op, step, cascades)))
    yield from cascades.place_faults(step)


def _faults(
    subject: str, verb: str, places: tuple[Located, ...], expected: tuple[_ExpectedOperand, ...]
) -> Iterator[str]:
    for place, operand in zip_longest(places, expected):
        if operand is None:
            yield f"{subject} {verb}s {part_label(place.part)}, which is none of its operands"
        elif place is None or not _fills(place.part, operand):
            yield f"{subject} does not {verb} {part_label(operand.part)}"
            return
        else:
            yield from (f"{subject} {fault}" for fault in _place_faults(place, operand))


def _fills(part: Part, operand: _ExpectedOperand) -> bool:
    if not same_thing(part, operand.part):
        return False
    return part.share == WHOLE if operand.whole else part == operand.part


def _place_faults(place: Located, operand: _ExpectedOperand) -> Iterator[str]:
    touched = Interval(0, place.bytes) if place.touched is None else place.touched
    what = part_label(place.part)
    if touched != operand.touches:
        yield f"touches bytes {touched} of {what}, expected {operand.touches}"
    if place.in_tensor != operand.in_tensor:
        where = "in its tensor" if operand.in_tensor else "alone"
        yield f"does not say that {what} lies {where}"
    if place.advance not in operand.advances:
        yield f"advances {place.advance} bytes in {what} in each iteration, expected {operand.advances[0]}"


def _reads(program: Program, op: Op, step: Compute, cascades: CascadeTable) -> Iterator[_ExpectedOperand]:
    """An operand for each input, then the weights. A tensor in SharedMemory is named as a whole; in a cascade
    a buffer may hold more rows than one step needs."""
    in_place = inputs_in_place(program, op, step)
    following = iter(step.reads)
    for index, name in enumerate(op.inputs):
        share = part_reads(program, op, index, step.rows, step.channels, step.columns)
        if share == NO_SHARE and not _holds_whole(program, step.writes, name):
            continue
        place = next(following, None)
        size, slices = program.tensors[name].bytes, _slice_bytes(program, op, name)
        if name in in_place or share == NO_SHARE:
            yield _ExpectedOperand(Part(name), NOTHING, True)
        elif place is not None and place.part == Part(name) and share != WHOLE:
            yield _ExpectedOperand(Part(name, share), _rows(size, share), True, advances=(slices,))
        elif place is not None and place.rolls:
            rows = rows_in_columns(share, place.part.share)
            yield _ExpectedOperand(Part(name, rows), touched_in_ring(rows, size, place.bytes, place.first))
        elif place is not None and cascades.wider(op.name, place.part, Part(name, share)):
            within = share_bytes(rows_in_columns(share, place.part.share), size)
            first = share_bytes(place.part.share, size).start
            yield _ExpectedOperand(place.part, Interval(within.start - first, within.stop - first))
        else:
            single = (0, slices) if share == WHOLE else (0,)
            yield _ExpectedOperand(Part(name, share), Interval(0, share.bytes(size)), advances=single)
    if (sums := op.continued(step.rows)) is not None:
        yield _ExpectedOperand(Part(sums.name), Interval(0, sums.bytes))
    if block := program.block_bytes(op):
        share = by_channels(step.channels, op.work.channels)
        yield _ExpectedOperand(Part(op.name, share, weights=True), Interval(0, share.bytes(block)))


def _writes(program: Program, op: Op, step: Compute, cascades: CascadeTable) -> Iterator[_ExpectedOperand]:
    """An operand for each output; none where an op only reserves a tensor in Psram."""
    if op.allocates and not step.writes:
        return
    in_place = inputs_in_place(program, op, step)
    for name in op.fills(step.rows):
        size = program.tensors[name].bytes
        share = part_writes(program, op, name, step.rows, step.channels, step.columns)
        slices, part = _slice_bytes(program, op, name), Part(name, share)
        place = next((p for p in step.writes if p.part.name == name), None)
        if in_place:
            yield _ExpectedOperand(part, _left_in_concat(program, op, in_place), in_tensor=share != WHOLE)
        elif place is not None and place.rolls:
            yield _ExpectedOperand(part, touched_in_ring(share, size, place.bytes, place.first))
        elif share != WHOLE and place is not None and cascades.has_tensor(op.name, place):
            yield _ExpectedOperand(part, _rows(size, share), in_tensor=True, advances=(slices,))
        else:
            single = (0, slices) if share == WHOLE else (0,)
            yield _ExpectedOperand(part, Interval(0, share.bytes(size)), advances=single)


def _slice_bytes(program: Program, op: Op, name: str) -> int:
    """Bytes from a slice of a tensor to that of the next iteration; 0 where it is not sliced."""
    return program.tensors[name].bytes // op.slices if name == op.sliced else 0


def _holds_whole(program: Program, places: tuple[Located, ...], name: str) -> bool:
    """Whether the place of the tensor ``name`` has bytes for all of it."""
    return any(p.part.name == name and p.bytes >= program.tensors[name].bytes for p in places)


def _rows(size: int, share: Share) -> Interval:
    """The bytes of the rows of ``share`` in a tensor of ``size`` bytes."""
    start = size * share.rows.start // share.of_rows
    if share.banded:
        return Interval(start, size * share.rows.stop // share.of_rows)
    return Interval(start, min(size, start + share.bytes(size)))


def _left_in_concat(program: Program, op: Op, in_place: frozenset[str]) -> Interval:
    """The bytes of a concat's output that its inputs have not filled already."""
    before = sum(program.tensors[n].bytes for n in takewhile(in_place.__contains__, op.inputs))
    filled = sum(program.tensors[n].bytes for n in in_place)
    return Interval(before, before + program.tensors[op.outputs[0]].bytes - filled)
