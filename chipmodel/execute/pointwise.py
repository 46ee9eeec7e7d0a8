"""Element-wise ops on a range of the elements of their output."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from chipmodel.execute.byte_arrays import Bytes
from chipmodel.execute.curves import combined, curve
from chipmodel.execute.elements import Numbers, decode, encode
from chipmodel.execute.kernels import weight_dtype
from chipmodel.execute.request import PartRequest
from chipmodel.geometry.interval import Interval
from chipmodel.geometry.layout import Layout, Storage
from chipmodel.model.program import DTYPE_BITS
from chipmodel.rewrites.op_shapes import is_pointwise

UNKNOWN_SCALAR = 3
"""Stands for a scalar operand, which is part of the command and whose value a program does not keep."""
_BINARY = frozenset(
    ["add", "sub", "mul", "div", "min", "max", "pow", "mod", "equal", "less", "greater", "and", "or", "xor"]
)


def pointwise(part: PartRequest) -> tuple[Bytes, ...] | None:
    """The elements of the output in ``part.rows``; None for an op of another kind."""
    if not is_pointwise(part.op, part.inputs, part.outputs):
        return None
    out, total = part.outputs[0], part.op.work.rows
    elements = out.bytes * 8 // DTYPE_BITS[out.dtype]
    first, last = elements * part.rows.start // total, elements * part.rows.stop // total
    own = Interval(first, min(last, out.elements))
    operands = [_own_elements(part, index, own) for index in range(len(part.inputs))]
    operands += _constants(part, own)
    if not operands:
        return None
    found = _applied(part, operands)
    result = np.zeros(out.bytes, np.uint8)
    made = encode(found, out.dtype)
    first = own.start * DTYPE_BITS[out.dtype] // 8
    result[first : first + len(made)] = made[: out.bytes - first]
    return (result,)


def _applied(part: PartRequest, operands: list[Numbers]) -> Numbers:
    """The op's function of its operands, one after another."""
    kind = part.op.kind
    if kind == "where" and len(operands) == 3:
        return np.where(operands[0] != 0, operands[1], operands[2])
    if kind == "batch_norm" and len(operands) > 1:
        first, *rest = operands
        for number, each in enumerate(rest):
            first = first + each if number % 2 else first * each
        return first
    if len(operands) == 1 and kind in _BINARY:
        operands = [operands[0], np.full_like(operands[0], UNKNOWN_SCALAR)]
    found = operands[0]
    for each in operands[1:]:
        found = combined(kind, found, each)
    dtype = part.inputs[0].dtype if part.inputs else part.outputs[0].dtype
    if len(operands) > 1 and kind != "bias_gelu":
        return found
    if found.dtype.kind != "f":
        # Sums of integers wrap before a function is taken of them.
        found = decode(encode(found, dtype), dtype)[: found.size]
    made = curve(kind, found, dtype)
    return found * 3 if made is None else made


def _own_elements(part: PartRequest, index: int, own: Interval) -> Numbers:
    """The elements of an input at the places ``own`` of the output in memory."""
    tensor, out, data = part.inputs[index], part.outputs[0], part.data[index]
    work = part.op.work
    if index not in getattr(work, "broadcast", ()) and index not in part.op.whole:
        bits = DTYPE_BITS[tensor.dtype]
        # Elements of two types may fill up different numbers of bytes: only those of whole rows are cut.
        return decode(data[own.start * bits // 8 : -(-own.stop * bits // 8)], tensor.dtype)[: len(own)]
    numbers = part.numbers(index)
    numbers = numbers.reshape(numbers.shape[max(0, numbers.ndim - len(out.shape)) :])
    whole = np.broadcast_to(numbers, out.shape)
    ordered = whole.reshape(out.stored.shape).transpose(out.stored.order).reshape(-1)
    return ordered[own.start : own.stop]


def _constants(part: PartRequest, own: Interval) -> list[Numbers]:
    """Operands that are weights: one for each element of the output, or for each channel, or else repeated
    along memory. One weight with two elements for each channel is a scale and a shift."""
    found: list[Numbers] = []
    first, out = 0, part.outputs[0]
    places = np.arange(own.start, own.stop)
    channel, channels = _channel_of(part, places)
    for name in part.op.weights:
        weight = part.program.weights[name]
        dtype = weight_dtype(part.op, weight)
        numbers = decode(part.block[first : first + weight.bytes], dtype or "uint8")
        first += weight.bytes
        if len(numbers) == channels:
            found.append(numbers[channel])
        elif len(numbers) == 2 * channels and out.elements != len(numbers):
            found += [numbers[channel], numbers[channels + channel]]
        elif len(numbers):
            found.append(numbers[places % len(numbers)])
    return found


def _channel_of(part: PartRequest, places: NDArray[np.int64]) -> tuple[NDArray[np.int64], int]:
    """The channel of each place in memory, and the number of channels."""
    out = part.outputs[0]
    order = out.order or tuple(range(len(out.shape)))
    layout: Layout = "matrix" if order == tuple(range(len(order))) else "image"
    rows, channels, columns = Storage(out.shape, layout).grid
    del rows
    return places // columns % channels, channels
