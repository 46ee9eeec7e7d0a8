"""Which ops can be split over the cores of a chip, in bands of rows or in slices of output channels.

``chipmodel.rewrites.core_split`` splits them.
"""

from __future__ import annotations

from chipmodel.geometry.interval import Interval
from chipmodel.model.attributes import AxisOrder, Interleaving, PixelBlocks
from chipmodel.model.core_parts import CoreSplit
from chipmodel.model.program import Op, Program, Tensor
from chipmodel.model.work import Conv, Matmul, Pool, Vector
from chipmodel.rewrites.op_shapes import is_pointwise, seen_inputs, seen_outputs

MOVERS = ("concat", "split", "gather")
"""Kinds that only move bytes: a part of one costs as much as the whole moves, or less than its share."""

SLICE_MARK = "@slice"
"""What the names of slices of channels have, and no name of a program that is cut into these."""

FIRST_MARK = "@first"
"""What the names of first runs have, and no name of a program of which ops run twice."""


def has_other_ops(program: Program) -> bool:
    """Return whether ops of ``program`` run in slices of channels, or twice."""
    return any(SLICE_MARK in op.name or FIRST_MARK in op.name for op in program.ops())


def row_axis(tensor: Tensor) -> int | None:
    """Return the axis of ``tensor`` that is outermost in memory, where a range of its indices is a range of
    bytes; None for a single element or a view."""
    stored = tensor.stored
    if stored.shape != tensor.shape:
        return None
    axis = next((axis for axis in stored.order if tensor.shape[axis] > 1), None)
    return None if axis is None or tensor.bytes % tensor.shape[axis] else axis


def channel_axis(tensor: Tensor) -> int | None:
    """Return the axis of channels of ``tensor``: the second one of an image, else the last one."""
    stored = tensor.stored
    if stored.shape != tensor.shape or len(tensor.shape) < 2:
        return None
    axis = 1 if stored.layout == "image" and len(tensor.shape) == 4 else len(tensor.shape) - 1
    return None if tensor.bytes % tensor.shape[axis] else axis


def bands(size: int, cores: int) -> tuple[Interval, ...]:
    """Return ``size`` rows or channels in as many parts as cores, which differ by at most one."""
    return tuple(Interval(size * core // cores, size * (core + 1) // cores) for core in range(cores))


def _alone(program: Program, op: Op) -> bool:
    """Whether nothing about an op stands against parts of it that are ops of their own."""
    plain = op.sliced is None and op.accumulator is None and not op.allocates and not op.gathers
    free = op.core is None and op.cycles is None and not op.cascade and len(op.outputs) == 1
    shapes = tuple(program.tensors[name].shape for name in (*op.inputs, *op.outputs))
    return plain and free and op.views in ((), shapes)


def may_split_rows(program: Program, op: Op, cores: int) -> bool:
    """Return whether ``op`` can be split into bands of rows over ``cores`` cores."""
    work = op.work
    if not _alone(program, op) or not _has_bands(work) or op.kind in MOVERS:
        return False
    out = program.tensors[op.outputs[0]]
    axis = row_axis(out)
    if axis is None or out.shape[axis] != work.rows or work.rows < cores:
        return False
    if isinstance(work, Conv | Pool) and work.window.in_h > 1:
        needed = (len(work.window.input_rows(band)) for band in bands(work.rows, cores))
        if min(needed) < 2:  # a band of one row would pass for work in one dimension
            return False
    return all(_reads_bands(program, op, index) for index in range(len(op.inputs)))


def _has_bands(work: object) -> bool:
    match work:
        case Conv():
            return not (work.solid or work.summed or work.window.transposed) and work.batch == 1
        case Pool():
            return not (work.solid or work.by_rows or work.window.transposed) and work.batch == 1
        case Matmul():
            return not (work.solid or work.summed or work.by_columns) and (
                work.batch == 1 or work.shared_right
            )
        case Vector():
            moves = isinstance(work.attributes, AxisOrder | PixelBlocks | Interleaving)
            return work.cut is None and work.reach is None and not moves
        case _:
            return False


def _reads_bands(program: Program, op: Op, index: int) -> bool:
    """Whether a band reads rows of an input as its tensor has them, or all of it."""
    share = op.reads(index, Interval(0, 1), Interval(0, op.work.channels))
    if share.whole:
        return True
    tensor = program.tensors[op.inputs[index]]
    axis = row_axis(tensor)
    return (
        axis is not None and tensor.shape[axis] == share.of_rows and len(share.channels) == share.of_channels
    )


def may_split_channels(program: Program, op: Op, cores: int) -> bool:
    """Return whether ``op`` can be split into slices of channels over ``cores`` cores: a convolution or dense
    layer, or what treats each channel alike, whose inputs then come in such slices too."""
    work, out = op.work, program.tensors[op.outputs[0]]
    axis = channel_axis(out)
    if not _alone(program, op) or axis is None or out.shape[axis] < cores or op.weights_in_place:
        return False
    channels = out.shape[axis]
    weights = [program.weights[name] for name in op.weights]
    if any(each.bytes % channels or each.elements % channels for each in weights):
        return False
    match work:
        case Conv(solid=False, summed=None, batch=1):
            one = len(op.inputs) == 1 and work.channels == channels
            return one and (work.groups == 1 or (work.depthwise and work.in_c == work.out_c))
        case Matmul(solid=False, summed=None):
            return len(op.inputs) == 1 and bool(op.weights) and work.channels == channels
        case _:
            return channelwise(program, op)


def splittable(program: Program) -> frozenset[str]:
    """Return the names of the ops that can be split over some number of cores."""
    return frozenset(
        op.name
        for op in program.body
        if isinstance(op, Op) and (may_split_rows(program, op, 2) or may_split_channels(program, op, 2))
    )


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


def may_overlap(program: Program, split: CoreSplit) -> tuple[str, ...]:
    """Return the tensors whose halo rows cores may compute again: made in bands, and read in bands by the
    same cores alone."""
    found: list[str] = []
    readers: dict[str, set[str]] = {}
    for op in program.ops():
        for name in op.inputs:
            readers.setdefault(name, set()).add(op.name)
    in_bands = {each.op: each.cores for each in split.ops if each.by == "rows"}
    read_outside = {*program.outputs, *program.conditions.values()}
    for node in program.body:
        if isinstance(node, Op) and node.name in in_bands:
            name, cores = node.outputs[0], in_bands[node.name]
            alike = all(in_bands.get(reader) == cores for reader in readers.get(name, ()))
            if name in readers and alike and name not in read_outside:
                found.append(name)
    return tuple(found)
