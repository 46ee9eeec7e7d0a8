"""Make parts of ops true: what a part reads and writes, in bytes, is all that it needs and makes.

``with_true_parts`` decides for every tensor the order of its elements in memory, and then for every op into
how many rows it may be cut, and which inputs every part reads completely. An op that can be cut as its maker
wished stays as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import prod

from chipmodel.geometry.layout import Layout, Storage
from chipmodel.model.cascade_work import CascadeWork
from chipmodel.model.program import Op, Program, Tensor, with_ops
from chipmodel.model.work import Conv, Matmul, Pool, Recurrent, Vector
from chipmodel.rewrites.op_shapes import SeenTensor, same_lines, seen_inputs, seen_outputs
from chipmodel.rewrites.storages import storages
from chipmodel.rewrites.vector_rows import cut_truly

Seen = tuple[SeenTensor, ...]


def with_true_parts(program: Program) -> Program:
    """``program`` with the storage of its tensors, and with ops whose parts are true."""
    stored = storages(program)
    tensors = {name: replace(t, storage=stored[name]) for name, t in program.tensors.items()}
    return replace(program, tensors=tensors, body=with_ops(program.body, lambda op: true_op(op, tensors)))


def true_op(op: Op, tensors: Mapping[str, Tensor]) -> Op:
    """``op`` with true parts, its ``tensors`` stored as they are."""
    inputs, outputs = seen_inputs(op, tensors), seen_outputs(op, tensors)
    work = op.work
    if isinstance(work, Vector):
        return replace(op, work=cut_truly(op, work, inputs, outputs))
    if isinstance(work, CascadeWork):
        return op
    if isinstance(work, Recurrent):
        whole = {index for index, each in enumerate(inputs) if index or not _lies(each, "matrix")}
    elif isinstance(work, Matmul):
        whole = _whole_factors(work, inputs, outputs)
    else:
        whole = {
            index
            for index, each in enumerate(inputs)
            if not _lies(each, "image") or (index and each.shape != outputs[0].shape)
        }
    op = replace(op, whole=tuple(sorted({*op.whole, *whole})))
    return op if _divides(op, inputs, outputs) else replace(op, work=replace(work, solid=True))


def _lies(tensor: SeenTensor, layout: Layout) -> bool:
    return tensor.stored.same_order(Storage(tensor.shape, layout))


def _whole_factors(work: Matmul, inputs: Seen, outputs: Seen) -> set[int]:
    """Operands of a product whose rows or columns lie in another order; a single row may be in any."""
    whole = {index for index, each in enumerate(inputs) if not _lies(each, "matrix")}
    if len(inputs) == 1 and (work.rows == 1 or same_lines(inputs[0], outputs[0])):
        whole.clear()
    sizes = [work.batch * work.rows_ * work.inner, work.inner * work.cols]
    sizes[1] *= 1 if work.shared_right else work.batch
    for index, each in enumerate(inputs):
        wanted = sizes[index] if index < 2 else outputs[0].elements
        if each.elements != wanted:
            whole.add(index)
    return whole


def _divides(op: Op, inputs: Seen, outputs: Seen) -> bool:
    """Whether rows and channels of everything that is cut are whole bytes."""
    work = op.work
    lines = work.rows * work.channels * (work.batch if isinstance(work, Recurrent) else 1)
    if isinstance(work, Recurrent) and any(_is_last_state(work, output) for output in outputs):
        return False
    if any(output.bytes % lines or output.elements % lines for output in outputs):
        return False
    for index, each in enumerate(inputs):
        if index not in op.whole and each.bytes % _input_lines(op, index):
            return False
    return True


def _is_last_state(work: Recurrent, output: SeenTensor) -> bool:
    """Whether an output is a state after all time steps, not the sequence."""
    return output.elements < work.steps * work.directions * work.batch * work.hidden


def _input_lines(op: Op, index: int) -> int:
    """Into how many parts an input of an op is cut at most."""
    work = op.work
    match work:
        case Conv() if index == 0:
            return work.batch * work.window.in_h
        case Pool() if index == 0:
            return work.batch * work.window.in_h * work.channels_
        case Matmul() if index == 1:
            return prod((work.cols, work.inner)) if work.channels > 1 else work.batch
        case Conv() | Pool() | Matmul() if index > 0:
            return work.rows * work.channels
        case _:
            return work.rows
