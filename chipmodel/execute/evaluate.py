"""Evaluate a part of an op on bytes.

A plan decides which bytes an op reads, not what it computes of them. So no op computes its own function: each
is the same pseudo-random function of the bytes that it reads (``chipmodel.execute.mixer``). Only a concat
moves its inputs truly, as a plan may let them lie where its output is. The layout of the bytes of tensors and
weight blocks is that of ``chipmodel.geometry.layout``.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from chipmodel.execute.byte_arrays import Bytes
from chipmodel.execute.mixer import mix
from chipmodel.execute.op_part import OpPart
from chipmodel.model.program import Op, Program
from chipmodel.rewrites.in_place import runs_of_concat


def evaluate(
    op: Op, program: Program, inputs: Sequence[Bytes], weights: Bytes, part: OpPart
) -> tuple[Bytes, ...]:
    """All bytes of each output of ``op``, of which those of ``part`` are right.

    ``inputs`` are all bytes of each input, ``weights`` those of the op's weight block, or of the whole table
    of an op that gathers. Only the shares that ``op.reads`` names, and the weights of the part's channels,
    change the part. An op that moves one slice of a tensor moves the slice of the part's iteration, modulo
    their number; it keeps the other slices of a tensor that it collects.
    """
    if op.allocates:
        return tuple(np.zeros(program.tensors[name].bytes, np.uint8) for name in op.outputs)
    whole = _joined(op, program, inputs)
    if whole is not None:
        return (whole,)
    number = part.iteration % op.slices
    given = [
        _slice(op, array, number) if name == op.sliced else array
        for name, array in zip(op.inputs, inputs, strict=True)
    ]
    with np.errstate(over="ignore"):  # words are modulo 2^64
        written = mix(op, program, given, weights, part)
    return tuple(
        _collected(op, inputs, new, number) if name == op.sliced else new
        for name, new in zip(op.outputs, written, strict=True)
    )


def _joined(op: Op, program: Program, inputs: Sequence[Bytes]) -> Bytes | None:
    """All bytes of the output of a concat; None for another op, and where the shapes do not tell the axis."""
    if op.kind != "concat" or len(op.outputs) != 1 or op.weights or op.sliced is not None:
        return None
    runs = runs_of_concat(program, op)
    total = program.tensors[op.outputs[0]].bytes
    if runs is None or sum(map(len, inputs)) != total or any(len(each) % runs for each in inputs):
        return None
    return np.concatenate([each.reshape(runs, -1) for each in inputs], axis=1).reshape(-1)


def _slice(op: Op, array: Bytes, number: int) -> Bytes:
    """The slice of ``array`` that is read: none where the op collects slices."""
    return array[:0] if op.collects else array.reshape(op.slices, -1)[number]


def _collected(op: Op, inputs: Sequence[Bytes], new: Bytes, number: int) -> Bytes:
    """The tensor that ``op`` collects, with ``new`` as its slice ``number``."""
    whole = inputs[op.inputs.index(op.sliced or "")].copy()
    whole.reshape(op.slices, -1)[number] = new
    return whole
