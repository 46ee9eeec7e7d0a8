"""Slices of the channels of an op: which ops can have them, and what a slice is."""

from __future__ import annotations

from dataclasses import replace

from chipmodel.geometry.interval import Interval
from chipmodel.geometry.layout import Storage
from chipmodel.model.program import Op, Program, Tensor
from chipmodel.model.work import Conv, Matmul, Pool, SingleWork, Vector
from chipmodel.rewrites.op_shapes import is_pointwise, seen_inputs, seen_outputs

SLICE_MARK = "@slice"
"""What the names of slices of channels have, and no name of a program that is cut into these."""


def has_other_ops(program: Program) -> bool:
    """Return whether ops of ``program`` run in slices of channels."""
    return any(SLICE_MARK in op.name for op in program.ops())


def channel_axis(tensor: Tensor) -> int | None:
    """Return the axis of channels of ``tensor``: the second one of an image, else the last one."""
    stored = tensor.stored
    if stored.shape != tensor.shape or len(tensor.shape) < 2:
        return None
    axis = 1 if stored.layout == "image" and len(tensor.shape) == 4 else len(tensor.shape) - 1
    return None if tensor.bytes % tensor.shape[axis] else axis


def bands(size: int, count: int) -> tuple[Interval, ...]:
    """Return ``size`` channels in ``count`` parts, which differ by at most one."""
    return tuple(Interval(size * part // count, size * (part + 1) // count) for part in range(count))


def _alone(program: Program, op: Op) -> bool:
    """Whether nothing about an op stands against parts of it that are ops of their own."""
    plain = op.sliced is None and op.accumulator is None and not (op.allocates or op.gathers or op.scratch)
    free = op.core is None and op.cycles is None and not op.cascade and len(op.outputs) == 1
    shapes = tuple(program.tensors[name].shape for name in (*op.inputs, *op.outputs))
    return plain and free and op.views in ((), shapes)


def may_split_channels(program: Program, op: Op, count: int) -> bool:
    """Return whether ``op`` can be split into ``count`` slices of channels: a convolution or dense layer, or
    what treats each channel alike, whose inputs then come in such slices too."""
    work, out = op.work, program.tensors[op.outputs[0]]
    axis = channel_axis(out)
    if not _alone(program, op) or axis is None or out.shape[axis] < count or op.weights_in_place:
        return False
    channels = out.shape[axis]
    weights = [program.weights[name] for name in op.weights]
    if any(weight.bytes % channels or weight.elements % channels for weight in weights):
        return False
    match work:
        case Conv(solid=False, summed=None, batch=1):
            one = len(op.inputs) == 1 and work.channels == channels
            return one and (work.groups == 1 or (work.depthwise and work.in_c == work.out_c))
        case Matmul(solid=False, summed=None):
            return len(op.inputs) == 1 and bool(op.weights) and work.channels == channels
        case _:
            return channelwise(program, op)


def channelwise(program: Program, op: Op) -> bool:
    """Return whether a slice of channels of ``op`` reads the same channels of each input, no others."""
    work = op.work
    if isinstance(work, Conv):
        return work.depthwise
    if isinstance(work, Pool):
        return not (work.solid or work.by_rows) and work.batch == 1 and len(op.inputs) == 1
    out = program.tensors[op.outputs[0]]
    alike = all(program.tensors[name].shape == out.shape for name in op.inputs)
    inputs, outputs = seen_inputs(op, program.tensors), seen_outputs(op, program.tensors)
    if not isinstance(work, Vector) or work.broadcast or work.rows % (out.shape[channel_axis(out) or 0] or 1):
        return False
    return alike and not op.weights and is_pointwise(op, inputs, outputs)


def part_tensor(whole: Tensor, name: str, axis: int, size: int) -> Tensor:
    """Return a tensor like ``whole`` with ``size`` indices along ``axis``."""
    shape = tuple(size if place == axis else each for place, each in enumerate(whole.shape))
    storage = None if whole.storage is None else Storage(shape, whole.storage.layout)
    return Tensor(name, whole.bytes // whole.shape[axis] * size, shape, whole.dtype, storage)


def slice_work(work: SingleWork, channels: Interval, of: int) -> SingleWork:
    """Return the work of a slice of the output channels, of which there are ``of``."""
    match work:
        case Conv() if work.depthwise:
            return replace(work, in_c=len(channels), out_c=len(channels), groups=len(channels))
        case Conv():
            return replace(work, out_c=len(channels))
        case Pool():
            return replace(work, channels_=len(channels))
        case Matmul():
            return replace(work, cols=len(channels))
        case Vector():
            return _vector_share(replace(work, rows=work.rows * len(channels) // of), work, len(channels), of)
        case _:
            raise ValueError(f"no slices of {type(work).__name__}")


def _vector_share(work: Vector, whole: Vector, part: int, of: int) -> Vector:
    def share(total: int) -> int:
        return -(-total * part // of)

    return replace(
        work, elements=share(whole.elements), in_bytes=share(whole.in_bytes), out_bytes=share(whole.out_bytes)
    )
