"""Parts of ops with some of the columns of their output: which columns of their operands those need.

Only ops whose columns are independent of each other but for the reach of a window have such parts:
convolutions, pooling, element-wise ops and concats of channels, on images that lie
``[rows][channels][columns]`` (``chipmodel.geometry.layout``).
"""

from __future__ import annotations

from functools import lru_cache

from chipmodel.geometry.interval import Interval
from chipmodel.geometry.layout import IMAGE_AXES, Storage
from chipmodel.geometry.share import Share, by_rows
from chipmodel.model.attributes import AlongAxis
from chipmodel.model.cascade_work import Band
from chipmodel.model.program import DTYPE_BITS, NO_SHARE, Op, Program, Tensor
from chipmodel.model.work import Conv, Pool, Vector
from chipmodel.rewrites.op_shapes import SeenTensor, is_pointwise, seen_inputs, seen_outputs

CHANNEL_AXIS = 1
"""The axis of columns in an image ``(N, C, H, W)``."""


def op_columns(program: Program, op: Op) -> int | None:
    """The number of columns of an op's output, if a part of it may have some of them; None otherwise."""
    tensors = tuple(program.tensors[name] for name in (*op.inputs, *op.outputs))
    return _op_columns(op, tensors)


@lru_cache(maxsize=4096)
def _op_columns(op: Op, tensors: tuple[Tensor, ...]) -> int | None:
    if op.sliced is not None or op.gathers or op.allocates or op.whole or op.cascade or len(op.outputs) != 1:
        return None
    if op.views and len(op.views) != len(tensors):
        return None
    known = {tensor.name: tensor for tensor in tensors}
    inputs, output = seen_inputs(op, known), seen_outputs(op, known)[0]
    if not inputs or not _is_image(output) or output.shape[3] < 2:
        return None
    match op.work:
        case Conv() | Pool():
            apart = _window_fits(op.work, inputs, output)
        case Vector():
            apart = _same_places(op, op.work, inputs, output)
        case _:
            apart = False
    return output.shape[3] if apart else None


def _is_image(seen: SeenTensor) -> bool:
    """Whether a tensor lies as the image that the op sees, each column of each channel in whole bytes."""
    image = Storage(seen.shape, "image")
    whole = DTYPE_BITS[seen.dtype] % 8 == 0 and seen.elements * DTYPE_BITS[seen.dtype] == 8 * seen.bytes
    return len(seen.shape) == IMAGE_AXES and seen.stored == image and whole


def _window_fits(work: Conv | Pool, inputs: tuple[SeenTensor, ...], output: SeenTensor) -> bool:
    """Whether the operands of a window are the images that it says, and further ones are like the output."""
    window, image = work.window, inputs[0]
    in_c, out_c = (work.in_c, work.out_c) if isinstance(work, Conv) else (work.channels_, work.channels_)
    return (
        not work.solid
        and _is_image(image)
        and image.shape == (work.batch, in_c, window.in_h, window.in_w)
        and output.shape == (work.batch, out_c, window.out_h, window.out_w)
        and all(_is_image(each) and each.shape == output.shape for each in inputs[1:])
    )


def _same_places(op: Op, work: Vector, inputs: tuple[SeenTensor, ...], output: SeenTensor) -> bool:
    """Whether vector work makes each column from the same column of what it does not read as a whole."""
    rows = output.shape[0] * output.shape[2]
    if work.reach is not None or (work.rows % rows and rows % work.rows):
        return False
    cut = [each for index, each in enumerate(inputs) if index not in work.broadcast]
    if op.kind == "concat":
        along = isinstance(work.attributes, AlongAxis) and work.attributes.axis == CHANNEL_AXIS
        rest = (output.shape[0], *output.shape[2:])
        return (
            along
            and len(cut) == len(inputs)
            and all(_is_image(each) and (each.shape[0], *each.shape[2:]) == rest for each in inputs)
        )
    return is_pointwise(op, inputs, (output,)) and all(
        _is_image(each) and each.shape == output.shape for each in cut
    )


def columns_read(program: Program, op: Op, operand: int, columns: Interval) -> Interval | None:
    """The columns of an operand that an op reads for ``columns`` of its output; None for all.

    For all columns it reads all, also those that no window has.
    """
    if len(columns) == tensor_columns(program, op.outputs[0]):
        return None
    if isinstance(op.work, Vector) and operand in op.work.broadcast:
        return None
    if isinstance(op.work, Conv | Pool) and operand == 0:
        columns = op.work.window.input_columns(columns)
    return None if len(columns) == tensor_columns(program, op.inputs[operand]) else columns


def tensor_columns(program: Program, name: str) -> int:
    """The number of columns of a tensor as it lies in memory."""
    return _grid(program.tensors[name])[2]


@lru_cache(maxsize=1 << 14)
def _grid(tensor: Tensor) -> tuple[int, int, int]:
    """Rows, channels and columns. Cached, as each step of a cascade asks for them."""
    return tensor.stored.grid


def part_reads(
    program: Program, op: Op, operand: int, rows: Interval, channels: Interval, columns: Interval | None
) -> Share:
    """The share of an operand that a part with some of the output's columns reads; None for all columns."""
    share = op.reads(operand, rows, channels)
    if columns is None or share == NO_SHARE:
        return share
    return with_columns(program, op.inputs[operand], share, columns_read(program, op, operand, columns))


def part_writes(
    program: Program, op: Op, name: str, rows: Interval, channels: Interval, columns: Interval | None
) -> Share:
    """The share of an output that a part with some of its columns writes; None for all columns."""
    return with_columns(program, name, op.writes(name, rows, channels), columns)


def with_columns(program: Program, name: str, share: Share, columns: Interval | None) -> Share:
    """The rows of ``share`` in some of the columns of a tensor; None for all."""
    if columns is None:
        return share
    rows, channels, of = _grid(program.tensors[name])
    start, stop = share.rows.start * rows // share.of_rows, -(-share.rows.stop * rows // share.of_rows)
    if columns.stop - columns.start == of:
        return by_rows(Interval(start, stop), rows)
    return Share(Interval(start, stop), rows, Interval(0, channels), channels, columns, of)


def band_of(program: Program, op: Op, columns: Interval | None) -> Band | None:
    """The band that ``columns`` of an op's output are; None for all of them."""
    return None if columns is None else Band(columns, tensor_columns(program, op.outputs[0]))
