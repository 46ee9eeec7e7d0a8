"""A part of an op to be evaluated: its operands as the op sees them, with their bytes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod

import numpy as np

from chipmodel.execute.byte_arrays import Bytes
from chipmodel.execute.elements import Numbers, decode, encode
from chipmodel.geometry.interval import Interval
from chipmodel.geometry.layout import Layout, Storage
from chipmodel.model.program import Op, Program
from chipmodel.rewrites.op_shapes import SeenTensor, seen_inputs, seen_outputs


@dataclass
class RecurrentState:
    """What the NPU keeps between the parts of one run of an op: for each time step of a recurrent layer the
    hidden and the cell state, (steps, batch, hidden), as far as they have been computed."""

    hidden: Numbers | None = None
    cell: Numbers | None = None


@dataclass(frozen=True, slots=True)
class PartRequest:
    """The part ``rows`` x ``channels`` of ``op``. ``data`` are the bytes of the inputs, of a sliced one those
    of the slice; ``block`` is the weight block."""

    program: Program
    op: Op
    data: Sequence[Bytes]
    block: Bytes
    rows: Interval
    channels: Interval
    inputs: tuple[SeenTensor, ...]
    outputs: tuple[SeenTensor, ...]
    state: RecurrentState = field(default_factory=RecurrentState)
    plain: bool = False
    """Whether sums are elements as they are, rather than spread evenly over all values."""

    def numbers(self, index: int) -> Numbers:
        """Input number ``index`` in the shape under which the op sees it."""
        return from_memory(self.inputs[index], self.data[index])

    def stored_as(self, index: int, layout: Layout) -> Bytes:
        """The bytes of an input in the order that ``layout`` gives to the shape that the op sees."""
        tensor = self.inputs[index]
        wanted = Storage(tensor.shape, layout)
        if tensor.stored.same_order(wanted):
            return self.data[index]
        return encode(self.numbers(index).transpose(wanted.order), tensor.dtype)


def request(
    program: Program,
    op: Op,
    data: Sequence[Bytes],
    block: Bytes,
    rows: Interval,
    channels: Interval,
    state: RecurrentState,
    plain: bool = False,
) -> PartRequest:
    """The request for a part of ``op``."""
    tensors = program.tensors
    inputs, outputs = seen_inputs(op, tensors), seen_outputs(op, tensors)
    return PartRequest(program, op, data, block, rows, channels, inputs, outputs, state, plain)


def from_memory(tensor: SeenTensor, data: Bytes) -> Numbers:
    """The elements of ``tensor`` in its shape, from its bytes."""
    stored = tensor.stored
    elements = decode(data, tensor.dtype)[: prod(stored.shape)]
    if stored.plain:
        return elements.reshape(tensor.shape)
    return elements.reshape(stored.sizes).transpose(np.argsort(stored.order)).reshape(tensor.shape)


def to_memory(tensor: SeenTensor, numbers: Numbers) -> Bytes:
    """The bytes of ``tensor`` from its elements in its shape: the inverse of ``from_memory``."""
    stored = tensor.stored
    ordered = numbers if stored.plain else numbers.reshape(stored.shape).transpose(stored.order)
    found = encode(ordered, tensor.dtype)
    result = np.zeros(tensor.bytes, np.uint8)
    result[: len(found)] = found
    return result


def placed(tensor: SeenTensor, lines: tuple[int, int], part: tuple[Interval, Interval], own: Bytes) -> Bytes:
    """All bytes of an output of ``lines`` (rows, channels), of which ``part`` is ``own``, and the rest 0."""
    result = np.zeros(tensor.bytes, np.uint8)
    rows, channels = part
    if lines == (1, 1):
        result[: len(own)] = own
        return result
    grid = result.reshape(*lines, -1)
    shape = (len(rows), len(channels), -1)
    grid[rows.start : rows.stop, channels.start : channels.stop] = own.reshape(shape)
    return result
