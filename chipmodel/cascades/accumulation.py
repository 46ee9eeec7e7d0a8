"""Pooling over a whole image, or a dense layer of one, in a cascade: rows are added up as they arrive.

Such an op needs all rows of its input before it makes anything. In a cascade it holds one accumulator for
each channel instead of those rows: each of its parts reads some rows and what the part before left, and the
last part makes the output. A single part for all rows needs no accumulators.

A sum of integers of up to 16 bits takes 32 bits, one of short floats a float of 32 bits, as in the reference
kernels of TensorFlow Lite; a maximum is as wide as an element. No chip file says otherwise yet.

A recurrent layer on its own keeps its state in the NPU between its parts. In a cascade other ops run between
two of its time steps, so that the state lies in SharedMemory: the hidden state h, and for an LSTM the cell
state c, which those kernels have in 16 bits where all else has 8.

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
from chipmodel.model.work import Matmul, Pool, Recurrent

SUM_BITS = 32
"""The least bits of an accumulator of a sum."""


def accumulating(program: Program, op: Op) -> Op:
    """Return ``op`` as it runs in a cascade: pooling over a whole image and a product of a flat one with
    weights row by row, a recurrent layer with its state, any other op as it is."""
    if isinstance(op.work, Recurrent):
        return with_state(program, op, op.work)
    apart = op.whole or op.sliced is not None or op.accumulator is not None or len(op.inputs) != 1
    work = None if apart else _by_rows(program, op)
    if work is None:
        return op
    made = program.tensors[op.outputs[0]]
    bits = max(8 if op.kind == "max_pool" else SUM_BITS, DTYPE_BITS[made.dtype])
    wide = "float32" if "float" in made.dtype else "int32"
    dtype = wide if op.kind != "max_pool" and bits == SUM_BITS else made.dtype
    name = free_name(program, f"{op.outputs[0]}.sums")
    sums = Tensor(name, work.channels * bits // 8, (work.channels,), dtype)
    return replace(op, work=work, accumulator=sums)


def _by_rows(program: Program, op: Op) -> Pool | Matmul | None:
    """The work of an op that adds up several rows of its first input, each a row of the work; None for any
    other op. A dense layer may add up in any order, as its weights can lie in that of the input."""
    match op.work:
        case Pool() if op.work.takes_rows:
            return replace(op.work, by_rows=True)
        case Matmul(solid=False, summed=None) if op.work.rows == 1:
            image = program.tensors[op.inputs[0]]
            rows = image.stored.grid[0]
            return replace(op.work, pieces=rows) if rows > 1 and image.bytes % rows == 0 else None
        case _:
            return None


def in_cascades(program: Program, cascades: Iterable[CascadeOps]) -> Program:
    """Return ``program`` with the ops of a plan's cascades as they run there."""
    return with_accumulators(program, {name for cascade in cascades for name in cascade.ops})


def with_accumulators(program: Program, names: set[str]) -> Program:
    """Return ``program`` with the ops ``names`` as they run in a cascade, and what these carry."""
    body = with_ops(program.body, lambda op: accumulating(program, op) if op.name in names else op)
    added = accumulators(ops(body))
    return replace(program, body=body, tensors={**program.tensors, **added}) if added else program


def accumulators(found: Iterable[Op]) -> dict[str, Tensor]:
    """Return the accumulators, and the states, of some ops by name."""
    return {op.carried.name: op.carried for op in found if op.carried is not None}


CELL_BITS = 16
"""The least bits of an element of a cell state."""
LSTM_GATES = 4


def with_state(program: Program, op: Op, work: Recurrent) -> Op:
    """Return a recurrent ``op`` with the state that its parts hand on; as it is where it has no parts that
    are time steps in their order."""
    if work.rows == 1 or work.backward or op.state is not None:
        return op
    dtype, units = program.tensors[op.outputs[0]].dtype, work.batch * work.hidden
    cell = max(CELL_BITS, DTYPE_BITS[dtype]) if work.gates == LSTM_GATES else 0
    size = units * (DTYPE_BITS[dtype] + cell) // 8
    return replace(op, state=Tensor(free_name(program, f"{op.outputs[0]}.state"), size))


def free_name(program: Program, name: str) -> str:
    """Return ``name``, with as many primes as it takes to be no tensor of ``program``."""
    while name in program.tensors:
        name += "'"
    return name
