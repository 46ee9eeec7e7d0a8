"""Evaluate one op, or a part of it, on bytes.

The layout of the bytes of tensors and weight blocks is that of ``chipmodel.model.layout``.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from chipmodel.execute.byte_arrays import Bytes
from chipmodel.execute.concat import joined
from chipmodel.execute.mixer import mix
from chipmodel.model.interval import Interval
from chipmodel.model.program import Op, Program


def evaluate(
    op: Op,
    program: Program,
    inputs: Sequence[Bytes],
    weights: Bytes,
    rows: Interval | None = None,
    channels: Interval | None = None,
    iteration: int = 0,
) -> tuple[Bytes, ...]:
    """All bytes of each output of ``op``, of which those of the part ``rows`` x ``channels`` are right.

    ``inputs`` are all bytes of each input, ``weights`` those of the op's weight block, or of the whole table
    of an op that gathers. Only the shares that ``op.reads`` names, and the weights of the part's channels,
    change the part. ``rows`` and ``channels`` are all by default. An op that moves one slice of a tensor
    moves slice ``iteration`` modulo their number; it keeps the other slices of a tensor that it collects.
    """
    rows = Interval(0, op.work.rows) if rows is None else rows
    channels = Interval(0, op.work.channels) if channels is None else channels
    if op.allocates:
        return tuple(np.zeros(program.tensors[name].bytes, np.uint8) for name in op.outputs)
    whole = joined(op, program, inputs)
    if whole is not None:
        return (whole,)
    number = iteration % op.slices
    given = [
        _slice(op, array, number) if name == op.sliced else array
        for name, array in zip(op.inputs, inputs, strict=True)
    ]
    written = mix(op, program, given, weights, rows, channels)
    return tuple(
        _collected(op, inputs, new, number) if name == op.sliced else new
        for name, new in zip(op.outputs, written, strict=True)
    )


def _slice(op: Op, array: Bytes, number: int) -> Bytes:
    """The slice of ``array`` that is read: none where the op collects slices."""
    return array[:0] if op.collects else array.reshape(op.slices, -1)[number]


def _collected(op: Op, inputs: Sequence[Bytes], new: Bytes, number: int) -> Bytes:
    """The tensor that ``op`` collects, with ``new`` as its slice ``number``."""
    whole = inputs[op.inputs.index(op.sliced or "")].copy()
    whole.reshape(op.slices, -1)[number] = new
    return whole
