"""Convolutions and pooling on parts of images."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from chipmodel.execute.byte_arrays import Bytes
from chipmodel.execute.elements import (
    FRACTION_BITS,
    Integers,
    decode,
    encode,
    fixed,
    is_float,
    product,
    summed,
    unfixed,
)
from chipmodel.execute.kernels import kernels
from chipmodel.execute.request import PartRequest, placed
from chipmodel.geometry.interval import Interval
from chipmodel.geometry.window import Window
from chipmodel.model.work import Conv, Pool

MOST_ELEMENTS = 1 << 22
"""Elements of window contents that are gathered at a time (limits memory)."""


class Taps(NamedTuple):
    """For each output place and each tap of a window the input place, and whether there is one."""

    places: NDArray[np.int64]
    inside: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class WindowAxis:
    """One axis of a window."""

    size: int
    kernel: int
    stride: int
    pad: int
    dilation: int
    transposed: bool

    def taps(self, outputs: NDArray[np.int64]) -> Taps:
        """The taps of the output places ``outputs``."""
        reach = np.arange(self.kernel)[None, :] * self.dilation
        if self.transposed:
            spread = outputs[:, None] + self.pad - reach
            places, inside = spread // self.stride, spread % self.stride == 0
        else:
            places = outputs[:, None] * self.stride - self.pad + reach
            inside = np.ones_like(places, dtype=np.bool_)
        inside &= (places >= 0) & (places < self.size)
        return Taps(np.where(inside, places, 0), inside)


def _axes(w: Window) -> tuple[WindowAxis, WindowAxis]:
    return (
        WindowAxis(w.in_h, w.kernel_h, w.stride_h, w.pad_top, w.dilation_h, w.transposed),
        WindowAxis(w.in_w, w.kernel_w, w.stride_w, w.pad_left, w.dilation_w, w.transposed),
    )


class _Patches(NamedTuple):
    """What the windows of some output rows see: (rows, columns, channels, kernel rows, kernel columns), zero
    outside of the image; and which taps are inside: (rows, columns, kernel rows, kernel columns)."""

    rows: Interval
    values: Integers
    inside: NDArray[np.bool_]


def _patches(part: PartRequest, work: Conv | Pool, rows: Interval, channels: Interval) -> Iterator[_Patches]:
    """The windows of output ``rows`` over the input ``channels``, a few rows at a time."""
    window, vertical, horizontal = work.window, *_axes(work.window)
    columns = horizontal.taps(np.arange(window.out_w))
    image = _Image(part, work)
    each = window.kernel_h * window.kernel_w * window.out_w * len(channels)
    step = max(1, MOST_ELEMENTS // max(1, each))
    for start in range(rows.start, rows.stop, step):
        some = Interval(start, min(rows.stop, start + step))
        numbers = np.arange(some.start, some.stop)
        taps = vertical.taps(numbers % window.out_h)
        needed = window.image_rows(some)
        seen = image.rows(needed, channels)
        places = taps.places + (numbers // window.out_h * window.in_h)[:, None] - needed.start
        lines = seen[np.clip(places, 0, len(seen) - 1)]  # rows, kernel rows, channels, width
        found = lines[..., columns.places]  # rows, kernel rows, channels, columns, kernel columns
        inside = taps.inside[:, None, :, None] & columns.inside[None, :, None, :]
        values = found.transpose(0, 3, 2, 1, 4) * inside[:, :, None]
        yield _Patches(some, values, inside)


class _Image:
    """Rows of an input image, decoded when they are needed."""

    def __init__(self, part: PartRequest, work: Conv | Pool) -> None:
        self.count = work.in_c if isinstance(work, Conv) else work.channels_
        self.width = work.window.in_w
        self.total = work.batch * work.window.in_h
        self.dtype = part.inputs[0].dtype
        self.data: Bytes = part.stored_as(0, "image")

    def rows(self, rows: Interval, channels: Interval) -> Integers:
        """(rows, channels, width)"""
        if len(self.data) % self.total:
            size = self.total * self.count * self.width
            whole = decode(self.data, self.dtype)[:size].reshape(self.total, self.count, self.width)
            return fixed(whole[rows.start : rows.stop, channels.start : channels.stop])
        own = np.ascontiguousarray(self.data.reshape(self.total, -1)[rows.start : rows.stop])
        elements = decode(own.reshape(-1), self.dtype)
        found = elements.reshape(len(rows), self.count, self.width)
        return fixed(found[:, channels.start : channels.stop])


def _lines(part: PartRequest, work: Conv | Pool, count: int) -> tuple[Interval, Interval]:
    """Rows and channels to be computed: all of work that cannot be cut."""
    if work.solid:
        return Interval(0, work.batch * work.window.out_h), Interval(0, count)
    return part.rows, part.channels


def convolve(part: PartRequest, work: Conv) -> tuple[Bytes, ...] | None:
    """The output of a convolution; None where operands do not fit its window."""
    window = work.window
    rows, channels = _lines(part, work, work.out_c)
    sizes = work.batch * work.in_c * window.in_h * window.in_w
    if len(part.outputs) != 1 or part.inputs[0].elements != sizes:
        return None
    taps = work.in_c // work.groups * window.kernel_h * window.kernel_w
    own = kernels(part.program, part.op, part.block, work.out_c, channels, taps)
    per_group, fan_in = work.out_c // work.groups, work.in_c // work.groups
    groups = Interval(channels.start // per_group, -(-channels.stop // per_group))
    read = Interval(groups.start * fan_in, groups.stop * fan_in)
    sums = np.zeros((len(rows), len(channels), window.out_w), np.int64)
    group_of = np.arange(channels.start, channels.stop) // per_group - groups.start
    for patch in _patches(part, work, rows, read):
        some = _products(patch.values, own.taps, group_of, len(groups))
        sums[patch.rows.start - rows.start : patch.rows.stop - rows.start] = some.transpose(0, 2, 1)
    sums += own.offsets[None, :, None]
    for index in range(1, len(part.inputs)):
        if part.inputs[index].elements != part.outputs[0].elements:
            return None
        sums = sums * (1 if part.plain else 3) + _residual(part, work, index, rows, channels)
    out = part.outputs[0]
    result = encode(summed(sums, out.dtype, 2 * FRACTION_BITS, part.plain), out.dtype)
    return (placed(out, (work.rows, work.channels), (rows, channels), result),)


def _products(values: Integers, taps: Integers, group_of: NDArray[np.int64], groups: int) -> Integers:
    """(rows, columns, output channels): each output channel's kernel times its group's channels."""
    rows, columns = values.shape[:2]
    grouped = values.reshape(rows * columns, groups, -1)
    if groups == 1:
        return product(grouped[:, 0], taps.T).reshape(rows, columns, -1)
    if taps.shape[1] * len(group_of) <= 4096 or len(group_of) == groups:
        found = [(grouped[:, g] * taps[k][None, :]).sum(axis=-1) for k, g in enumerate(group_of.tolist())]
        return np.stack(found, axis=-1).reshape(rows, columns, -1)
    result = np.zeros((rows * columns, len(group_of)), np.int64)
    for group in range(groups):
        own = np.flatnonzero(group_of == group)
        result[:, own] = product(grouped[:, group], taps[own].T)
    return result.reshape(rows, columns, -1)


def _residual(part: PartRequest, work: Conv, index: int, rows: Interval, channels: Interval) -> Integers:
    """The part of another operand, of the output's shape, at the same place."""
    window, tensor = work.window, part.inputs[index]
    data = decode(part.stored_as(index, "image"), tensor.dtype)
    grid = data[: tensor.elements].reshape(work.batch * window.out_h, work.out_c, window.out_w)
    own = fixed(grid[rows.start : rows.stop, channels.start : channels.stop])
    return own << (FRACTION_BITS if is_float(tensor.dtype) else 0)


def _pooled(patch: _Patches, largest: bool, whole: bool) -> Integers:
    """(rows, columns, channels): the largest or the mean of what a window sees; 0 where that is nothing.

    With ``whole``, the mean is over all elements of the window.
    """
    inside = patch.inside[:, :, None]
    if not largest:
        seen = np.int64(inside.shape[3] * inside.shape[4]) if whole else inside.sum(axis=(3, 4))
        mean: Integers = patch.values.sum(axis=(3, 4)) // np.maximum(seen, 1)
        return mean
    most = np.where(inside, patch.values, np.iinfo(np.int64).min).max(axis=(3, 4))
    return np.where(inside.any(axis=(3, 4)), most, 0)


def pool(part: PartRequest, work: Pool) -> tuple[Bytes, ...] | None:
    """The largest or mean element of each window; padding counts only where the work says so."""
    window, out = work.window, part.outputs[0]
    rows, channels = _lines(part, work, work.channels_)
    sizes = work.batch * work.channels_ * window.in_h * window.in_w
    if len(part.outputs) != 1 or len(part.inputs) != 1 or part.inputs[0].elements != sizes or len(part.block):
        return None
    found = np.zeros((len(rows), len(channels), window.out_w), np.int64)
    for patch in _patches(part, work, rows, channels):
        some = _pooled(patch, part.op.kind == "max_pool", work.counts_padding)
        found[patch.rows.start - rows.start : patch.rows.stop - rows.start] = some.transpose(0, 2, 1)
    result = encode(unfixed(found, out.dtype), out.dtype)
    return (placed(out, (work.rows, work.channels), (rows, channels), result),)
