"""Evaluate one op, or a part of it, on bytes.

The layout of the bytes of tensors and weight blocks is that of ``chipmodel.geometry.layout``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from chipmodel.execute.byte_arrays import Bytes
from chipmodel.execute.concat import joined
from chipmodel.execute.mixer import mix
from chipmodel.execute.products import matmul, recur
from chipmodel.execute.request import PartRequest, RecurrentState, request
from chipmodel.execute.vectors import vector
from chipmodel.execute.windows import convolve, pool
from chipmodel.geometry.interval import Interval
from chipmodel.model.program import Op, Program
from chipmodel.model.work import Conv, Matmul, Pool, Recurrent, Vector


def evaluate(
    op: Op,
    program: Program,
    inputs: Sequence[Bytes],
    weights: Bytes,
    rows: Interval | None = None,
    channels: Interval | None = None,
    iteration: int = 0,
    state: RecurrentState | None = None,
    plain: bool = False,
    stand_ins: set[str] | None = None,
) -> tuple[Bytes, ...]:
    """All bytes of each output of ``op``, of which those of the part ``rows`` x ``channels`` are right.

    ``inputs`` are all bytes of each input, ``weights`` those of the op's weight block, or of the whole table
    of an op that gathers. Only the shares that ``op.reads`` names, and the weights of the part's channels,
    change the part. ``rows`` and ``channels`` are all by default. An op that moves one slice of a tensor
    moves slice ``iteration`` modulo their number; it keeps the other slices of a tensor that it collects.
    ``state`` is one object for all parts of one run of the op, in order: what the NPU keeps between them.
    With ``plain`` sums of products and normalised values are elements as they are; by default a fixed
    function spreads them evenly over all values, so that a wrong byte anywhere shows. The name of an op whose
    function is not known, for which a fixed function of the same bytes stands, is added to ``stand_ins``.
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
    part = request(program, op, given, weights, rows, channels, state or RecurrentState(), plain)
    with np.errstate(all="ignore"):
        written = _known(part)
        if written is None:
            if stand_ins is not None:
                stand_ins.add(op.name)
            written = mix(op, program, given, weights, rows, channels)
    return tuple(
        _collected(op, inputs, new, number) if name == op.sliced else new
        for name, new in zip(op.outputs, written, strict=True)
    )


def evaluate_plainly(
    op: Op,
    program: Program,
    inputs: Sequence[Bytes],
    weights: Bytes,
    rows: Interval,
    channels: Interval,
    iteration: int,
    state: RecurrentState,
) -> tuple[Bytes, ...]:
    """As ``evaluate``, with values as a network has them: for comparing with other evaluators.

    What a program does not keep is as by ONNX's defaults or as the function's module says: scales of
    quantisation are 1, epsilons 1e-5, and functions fused into another op are left out.
    """
    return evaluate(op, program, inputs, weights, rows, channels, iteration, state, plain=True)


def _known(part: PartRequest) -> tuple[Bytes, ...] | None:
    """The outputs of an op that is known; None for any other."""
    work = part.op.work
    if not all(len(data) == each.bytes for data, each in zip(part.data, part.inputs, strict=True)):
        part = _without_collected(part)
    match work:
        case Vector():
            return vector(part, work)
        case Conv() if part.inputs:
            return convolve(part, work)
        case Pool() if part.inputs:
            return pool(part, work)
        case Matmul() if part.inputs:
            return matmul(part, work)
        case Recurrent() if part.inputs:
            return recur(part, work)
        case _:
            return None


def _without_collected(part: PartRequest) -> PartRequest:
    """``part`` without the tensor of which it writes one slice, which it does not read."""
    op = part.op
    kept = [index for index, name in enumerate(op.inputs) if name != op.sliced]
    views = tuple(op.views[i] for i in (*kept, *range(len(op.inputs), len(op.views)))) if op.views else ()
    op = replace(op, inputs=tuple(op.inputs[i] for i in kept), views=views)
    data = [part.data[i] for i in kept]
    return replace(part, op=op, data=data, inputs=tuple(part.inputs[i] for i in kept))


def _slice(op: Op, array: Bytes, number: int) -> Bytes:
    """The slice of ``array`` that is read: none where the op collects slices."""
    return array[:0] if op.collects else array.reshape(op.slices, -1)[number]


def _collected(op: Op, inputs: Sequence[Bytes], new: Bytes, number: int) -> Bytes:
    """The tensor that ``op`` collects, with ``new`` as its slice ``number``."""
    whole = inputs[op.inputs.index(op.sliced or "")].copy()
    whole.reshape(op.slices, -1)[number] = new
    return whole
