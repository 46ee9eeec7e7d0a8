"""Convolutions and poolings of images so wide that not one row fits, in bands of columns.

The columns that the windows of a band reach are copied out of the image, each band is computed on its own,
and the bands are joined. Every copy counts; only transposed convolutions compute a little twice, the columns
that two bands both need.
"""

from __future__ import annotations

from dataclasses import replace

from chipmodel.cascades.columns import op_columns
from chipmodel.geometry.interval import Interval
from chipmodel.geometry.layout import IMAGE_AXES
from chipmodel.geometry.window import Window
from chipmodel.model.attributes import AlongAxis, SliceRanges
from chipmodel.model.program import DTYPE_BITS, Op, Program, Tensor
from chipmodel.model.work import Conv, Pool, Vector
from chipmodel.rewrites.op_shapes import SeenTensor, seen_inputs, seen_outputs
from chipmodel.rewrites.true_parts import true_op
from dma.residency.rewritten_ops import Rewritten
from dma.residency.tiling import least_stripe

MOST_BANDS = 1024
"""Bands that an image is cut into, at most: each is an op of its own."""
BAND_SHARE = 4
"""An output row by a channel of a band takes at most the capacity by this, for two of each operand."""
WIDTH_AXIS = IMAGE_AXES - 1
"""The axis of columns in an image ``(N, C, H, W)``."""


def in_bands(program: Program, op: Op, capacity: int, share: int = BAND_SHARE) -> Rewritten | None:
    """``op`` as the fewest bands of columns of which one row by one channel takes at most ``capacity`` bytes
    by ``share``; None where that is more than ``MOST_BANDS``, or single columns take more."""
    columns = op_columns(program, op)
    if columns is None or not isinstance(op.work, Conv | Pool):
        return None
    if isinstance(op.work, Conv) and op.work.summed:
        return None
    count = 2
    while count <= min(columns, MOST_BANDS):
        width = -(-columns // count)
        middle = columns // width // 2
        first = _banded(program, op, Interval(middle * width, middle * width + width), "")
        if first is None:
            return None
        if least_stripe(*first) <= capacity // share:
            return _joined(program, op, _intervals(columns, width))
        count += max(1, count // 8)
    return None


def _intervals(columns: int, width: int) -> list[Interval]:
    return [Interval(start, min(columns, start + width)) for start in range(0, columns, width)]


def _joined(program: Program, op: Op, bands: list[Interval]) -> Rewritten | None:
    """The copies and the op of each band, and the concat of what they make."""
    made: list[Op] = []
    parts: list[str] = []
    grown = program
    for number, columns in enumerate(bands):
        banded = _banded(grown, op, columns, f".band{number}")
        if banded is None:
            return None
        grown, part = banded
        made += [_copy(grown, op, index, name, columns) for index, name in enumerate(part.inputs)]
        made.append(true_op(part, grown.tensors))
        parts += part.outputs
    out = seen_outputs(op, program.tensors)[0]
    shapes = (*(grown.tensors[name].shape for name in parts), out.shape)
    rows = out.shape[0] * out.shape[2]
    work = Vector(out.elements, out.bytes, out.bytes, rows, attributes=AlongAxis(WIDTH_AXIS, out.shape[3]))
    join = Op(op.name, "concat", work, tuple(parts), op.outputs, dtype=out.dtype, core=op.core)
    made.append(true_op(replace(join, place=op.place, views=shapes), grown.tensors))
    tensors = tuple(each for name, each in grown.tensors.items() if name not in program.tensors)
    return Rewritten(tuple(made), tensors)


def _banded(program: Program, op: Op, columns: Interval, suffix: str) -> tuple[Program, Op] | None:
    """``op`` for some columns of its output, on copies of the columns of its operands that it reads, and the
    program with these and its output; None where a band would be all padding."""
    work = op.work
    assert isinstance(work, Conv | Pool)
    read = _columns_read(work.window, columns)
    window = _window(work.window, columns, read)
    if window is None:
        return None
    inputs, out = seen_inputs(op, program.tensors), seen_outputs(op, program.tensors)[0]
    made = [_part(out, op.outputs[0] + suffix, columns)]
    given = [
        _part(each, f"{op.name}{suffix}.input{index}", columns if index else read)
        for index, each in enumerate(inputs)
    ]
    shapes = tuple(each.shape for each in (*given, *made))
    names = tuple(each.name for each in given)
    part = replace(
        op,
        name=op.name + suffix,
        work=replace(work, window=window),
        inputs=names,
        outputs=(made[0].name,),
        views=shapes,
        cycles=None,
        overwrites=None,
        absorbs=(),
    )
    known = {**program.tensors, **{each.name: each for each in (*given, *made)}}
    return replace(program, tensors=known), part


def _columns_read(window: Window, columns: Interval) -> Interval:
    """The input columns that a band reads; of a transposed window from where its first one is written."""
    read = window.input_columns(columns)
    if not window.transposed:
        return read
    first = min(read.start, (columns.start + window.pad_left) // window.stride_w)
    return Interval(first, read.stop)


def _window(window: Window, columns: Interval, read: Interval) -> Window | None:
    """The window of a band; None where it would begin to the right of what it reads."""
    reach = window.dilation_w * (window.kernel_w - 1)
    if window.transposed:
        left = window.pad_left + columns.start - read.start * window.stride_w
        right = (len(read) - 1) * window.stride_w + reach + 1 - left - len(columns)
    else:
        left = read.start + window.pad_left - columns.start * window.stride_w
        right = (len(columns) - 1) * window.stride_w + reach + 1 - left - len(read)
    if left < 0:
        return None
    return replace(window, in_w=len(read), out_w=len(columns), pad_left=left, pad_right=max(0, right))


def _part(seen: SeenTensor, name: str, columns: Interval) -> Tensor:
    """A tensor for some columns of another one."""
    shape = (*seen.shape[:WIDTH_AXIS], len(columns))
    size = seen.elements // seen.shape[WIDTH_AXIS] * len(columns) * DTYPE_BITS[seen.dtype] // 8
    return Tensor(name, size, shape, seen.dtype)


def _copy(program: Program, op: Op, index: int, name: str, columns: Interval) -> Op:
    """The op that copies the columns of operand number ``index`` into the tensor ``name``."""
    work, tensor = op.work, program.tensors[name]
    assert isinstance(work, Conv | Pool)
    source = seen_inputs(op, program.tensors)[index]
    read = columns if index else _columns_read(work.window, columns)
    starts = (*(0,) * WIDTH_AXIS, read.start)
    ranges = SliceRanges(starts, (1,) * IMAGE_AXES)
    rows = source.shape[0] * source.shape[2]
    elements = tensor.bytes * 8 // DTYPE_BITS[tensor.dtype]
    vector = Vector(elements, tensor.bytes, tensor.bytes, rows, attributes=ranges)
    views = (source.shape, tensor.shape)
    made = Op(f"{name}.copy", "slice", vector, (source.name,), (name,), dtype=source.dtype, core=op.core)
    return true_op(replace(made, place=op.place, views=views), program.tensors)
