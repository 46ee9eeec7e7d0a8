"""Which outputs may take the memory of an input row by row, by what the parts of an op read and write."""

from __future__ import annotations

from collections.abc import Mapping

from chipmodel.geometry.interval import Interval
from chipmodel.model.program import Op, Program
from chipmodel.model.work import Conv, Matmul, Pool, Vector
from chipmodel.rewrites.in_place import dying_here


def may_take_rows(program: Program, op: Op, name: str) -> bool:
    """Return whether ``op`` can run in stripes of whole rows of its input ``name`` and only output."""
    if op.sliced or op.gathers or op.allocates or op.cascade or op.absorbs or op.accumulator:
        return False
    if not isinstance(op.work, Conv | Pool | Matmul | Vector) or not op.along_rows or len(op.outputs) != 1:
        return False
    if op.inputs.count(name) != 1 or op.work.rows < 2:
        return False
    channels = Interval(0, op.work.channels)
    read = op.reads(op.inputs.index(name), Interval(0, 1), channels)
    return (
        read.of_rows > 1
        and len(read.channels) == read.of_channels
        and program.tensors[name].bytes % read.of_rows == 0
        and program.tensors[op.outputs[0]].bytes % op.work.rows == 0
        and all(row_bytes(program, each) for each in (name, op.outputs[0]))
    )


def row_bytes(program: Program, name: str) -> int:
    """Return the bytes of a row of a tensor as it lies in memory; 0 where they are no whole number."""
    tensor = program.tensors[name]
    rows = tensor.stored.grid[0]
    return 0 if not rows or tensor.bytes % rows else tensor.bytes // rows


def rows_to_take(program: Program) -> Mapping[str, str]:
    """Return the input whose memory each op could take row by row, by the name of the op: of those that die
    there the largest. No tensor that the DMA engine moves, or that decides a branch, is among them, nor one
    that has the memory of such a tensor."""
    dies = dying_here(program)
    fixed = {*program.inputs, *program.outputs, *program.conditions.values()}
    shared: dict[str, str] = {}
    for op in program.ops():
        if op.overwrites and not op.by_rows:
            shared[op.outputs[0]] = shared.get(op.overwrites, op.overwrites)
    roots = {shared.get(name, name) for name in fixed}
    found: dict[str, str] = {}
    for op in program.ops():
        if op.overwrites or not op.outputs or shared.get(op.outputs[0], op.outputs[0]) in roots:
            continue
        dying = [
            name
            for name in dict.fromkeys(op.inputs)
            if shared.get(name, name) not in roots and may_take_rows(program, op, name) and dies(op, name)
        ]
        if dying:
            found[op.name] = max(dying, key=lambda name: program.tensors[name].bytes)
    return found
