"""What a concat computes: its inputs side by side along one axis."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from chipmodel.execute.byte_arrays import Bytes
from chipmodel.model.program import Op, Program
from chipmodel.rewrites.in_place import runs_of_concat


def joined(op: Op, program: Program, inputs: Sequence[Bytes]) -> Bytes | None:
    """All bytes of the output of a concat; None for another op, and where the shapes do not tell the axis."""
    if op.kind != "concat" or len(op.outputs) != 1 or op.weights or op.sliced is not None:
        return None
    runs = runs_of_concat(program, op)
    total = program.tensors[op.outputs[0]].bytes
    if runs is None or sum(map(len, inputs)) != total or any(len(each) % runs for each in inputs):
        return None
    return np.concatenate([each.reshape(runs, -1) for each in inputs], axis=1).reshape(-1)
