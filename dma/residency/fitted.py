"""Cut ops finer whose operands do not fit SharedMemory, so that every op that can run does.

An op of which not even one row by one channel fits as it is cut by ``chipmodel.passes.true_parts`` is cut
along other axes of its output (``chipmodel.passes.axis_cuts``). All other ops stay as they are.
"""

from __future__ import annotations

from dataclasses import replace

from chipmodel.hardware.chip import Chip
from chipmodel.model.axis_cut import AxisCut
from chipmodel.model.program import Op, Program, with_ops
from chipmodel.model.work import Vector
from chipmodel.passes.axis_cuts import CutNeeds, axis_cut
from chipmodel.passes.axis_relations import relations
from chipmodel.passes.in_place import may_die
from chipmodel.passes.op_shapes import is_pointwise, seen_inputs, seen_outputs
from dma.residency.tiling import least_stripe, slice_bytes

WEIGHTS_SHARE = 4
"""Weights of at most the capacity by this may stay in SharedMemory for all parts of an op (chosen)."""
_NORMS = ("instance_norm", "group_norm", "layer_norm", "batch_norm")


def fitted(program: Program, chip: Chip) -> Program:
    """``program`` with the ops that do not fit the SharedMemory of ``chip`` cut finer, where that is known to
    be possible."""
    capacity = chip.shared_memory.bytes
    large = [op.name for op in program.ops() if least_part(program, op) > capacity]
    if not large:
        return program
    dying = {name: set(each.absorbs) for name, each in may_die(program, "all").items() if each.absorbs}
    small = {name for name in large if name in dying and _in_place(program, name, dying[name]) <= capacity}
    chosen = set(large) - small

    def change(op: Op) -> Op:
        return _cut(program, op, capacity) if op.name in chosen else op

    return replace(program, body=with_ops(program.body, change))


def least_part(program: Program, op: Op) -> int:
    """Bytes of the smallest part of an op, with its weights."""
    if op.allocates or not op.work.rows or not op.work.channels:
        return 0
    return least_stripe(program, op) + slice_bytes(program, op, 1)


def _in_place(program: Program, name: str, dying: set[str]) -> int:
    """Bytes of a concat whose inputs ``dying`` are made in its output."""
    op = next(op for op in program.ops() if op.name == name)
    moved = {each for each in op.inputs if each not in dying}
    return sum(program.tensors[each].bytes for each in (*moved, *op.outputs))


def _cut(program: Program, op: Op, capacity: int) -> Op:
    """``op`` cut finer; as it is where that is not known to be possible."""
    if not isinstance(op.work, Vector) or op.collects or op.allocates:
        return op
    cut = _axis_cut(program, op, op.work, capacity)
    if cut is None:
        return op
    fine = replace(op, work=replace(op.work, rows=cut.rows, reach=None, cut=cut))
    return fine if least_part(program, fine) < least_part(program, op) else op


def _axis_cut(program: Program, op: Op, work: Vector, capacity: int) -> AxisCut | None:
    inputs, outputs = seen_inputs(op, program.tensors), seen_outputs(op, program.tensors)
    if not all(each.bytes and each.elements for each in (*inputs, *outputs)):
        return None
    found = relations(op, work, inputs, outputs)
    if found is None:
        return None
    return axis_cut(inputs, outputs, found, capacity, _needs(program, op, capacity))


def _needs(program: Program, op: Op, capacity: int) -> CutNeeds:
    """What weights demand of a cut."""
    block = program.block_bytes(op)
    if op.gathers:
        return CutNeeds(weighted=True)
    if not block:
        return CutNeeds()
    inputs, outputs = seen_inputs(op, program.tensors), seen_outputs(op, program.tensors)
    weights = [program.weights[name] for name in op.weights]
    out = outputs[0]
    if op.kind in _NORMS and len(out.shape) > 1 and all(w.elements == out.shape[1] for w in weights):
        return CutNeeds(channels=out.shape[1])
    alike = len(weights) == 1 and weights[0].elements == out.elements
    if is_pointwise(op, inputs, outputs) and alike and block > capacity // WEIGHTS_SHARE:
        return CutNeeds(weighted=True)
    return CutNeeds(fixed=True)
