"""The state of a recurrent layer in a cascade: what a time step leaves for the next one.

A layer on its own keeps its state in the NPU between its parts. In a cascade other ops run between two of its
steps, so that the state lies in SharedMemory: the hidden state h, and for an LSTM the cell state c. The
reference kernels of TensorFlow Lite have c in 16 bits where all else has 8.
"""

from __future__ import annotations

from dataclasses import replace

from chipmodel.model.program import DTYPE_BITS, Op, Program, Tensor
from chipmodel.model.work import Recurrent

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
