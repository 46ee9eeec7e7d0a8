"""Pooling over a whole image in a cascade: rows are added up as they arrive, so that none of them stays.

An op needs all rows of its input before it makes anything. In a cascade it holds one accumulator for each
channel instead of those rows: each of its parts reads some rows and what the part before left, and the last
part makes the output. A single part for all rows needs no accumulators.

A sum of integers of up to 16 bits takes 32 bits, one of short floats a float of 32 bits, as in the reference
kernels of TensorFlow Lite; a maximum is as wide as an element. No chip file says otherwise yet.

References
----------
TensorFlow Lite Micro's ``AveragePool`` sums int8 and int16 in ``int32_t``
(tensorflow/lite/kernels/internal/reference/integer_ops/pooling.h); fusing global pooling by an iterative sum:
Huang et al. 2025, "msf-CNN" (arXiv:2505.11483).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from chipmodel.model.program import DTYPE_BITS, Op, Program, Tensor, ops, with_ops
from chipmodel.model.schedule import CascadeOps
from chipmodel.model.work import Pool

SUM_BITS = 32
"""The least bits of an accumulator of a sum."""


def accumulating(program: Program, op: Op) -> Op:
    """Return ``op`` as it runs in a cascade: pooling over a whole image row by row, any other op as it is."""
    work = op.work
    apart = op.whole or op.sliced is not None or op.accumulator is not None or len(op.inputs) != 1
    if not isinstance(work, Pool) or not work.of_whole_image or apart:
        return op
    made = program.tensors[op.outputs[0]]
    bits = max(8 if op.kind == "max_pool" else SUM_BITS, DTYPE_BITS[made.dtype])
    wide = "float32" if "float" in made.dtype else "int32"
    dtype = wide if op.kind != "max_pool" and bits == SUM_BITS else made.dtype
    name = f"{op.outputs[0]}.sums"
    while name in program.tensors:
        name += "'"
    sums = Tensor(name, work.channels_ * bits // 8, (work.channels_,), dtype)
    return replace(op, work=replace(work, by_rows=True), accumulator=sums)


def in_cascades(program: Program, cascades: Iterable[CascadeOps]) -> Program:
    """Return ``program`` with the ops of a plan's cascades as they run there."""
    return with_accumulators(program, {name for cascade in cascades for name in cascade.ops})


def with_accumulators(program: Program, names: set[str]) -> Program:
    """Return ``program`` with the ops ``names`` as they run in a cascade, and their accumulators."""
    body = with_ops(program.body, lambda op: accumulating(program, op) if op.name in names else op)
    added = accumulators(ops(body))
    return replace(program, body=body, tensors={**program.tensors, **added}) if added else program


def accumulators(found: Iterable[Op]) -> dict[str, Tensor]:
    """Return the accumulators of some ops by name."""
    return {op.accumulator.name: op.accumulator for op in found if op.accumulator is not None}
