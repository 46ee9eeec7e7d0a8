"""Rows looked up in a table of weights."""

from __future__ import annotations

import numpy as np

from chipmodel.execute.byte_arrays import Bytes
from chipmodel.execute.elements import decode, encode, fixed, requantised
from chipmodel.execute.kernels import weight_dtype
from chipmodel.execute.request import PartRequest, placed, to_memory
from chipmodel.model.attributes import AlongAxis
from chipmodel.model.work import Vector


def looked_up(part: PartRequest, work: Vector) -> tuple[Bytes, ...] | None:
    """The row of the table for each index, modulo the number of rows; None for another way to gather."""
    along, out = work.attributes, part.outputs[0]
    if not isinstance(along, AlongAxis) or along.axis or len(part.inputs) != 1 or len(part.outputs) != 1:
        return None
    indices, weights = part.inputs[0], part.program.weights[part.op.weights[0]]
    if len(part.op.weights) != 1 or not indices.elements or out.elements % indices.elements:
        return None
    if work.rows > 1 and (indices.elements % work.rows or not out.stored.plain or not indices.stored.plain):
        return None
    features = out.elements // indices.elements
    numbers = decode(part.block, weight_dtype(part.op, weights) or "uint8")
    if len(numbers) < features:
        return None
    table = numbers[: len(numbers) // features * features].reshape(-1, features)
    found = table[fixed(part.numbers(0)).reshape(-1) % len(table)]
    if weight_dtype(part.op, weights) != out.dtype:
        found = requantised(fixed(found), out.dtype)
    if work.rows == 1:
        return (to_memory(out, found.reshape(out.shape)),)
    each = indices.elements // work.rows
    own = np.ascontiguousarray(found[part.rows.start * each : part.rows.stop * each])
    return (placed(out, (work.rows, 1), (part.rows, part.channels), encode(own, out.dtype)),)
