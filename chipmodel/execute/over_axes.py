"""Softmax, normalisation, reductions and the like. Sums are of integers, so they do not depend on order."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chipmodel.execute.byte_arrays import Bytes, digests, mixed
from chipmodel.execute.elements import Integers, Numbers, decode, fixed, is_float, requantised, unfixed
from chipmodel.execute.kernels import weight_dtype
from chipmodel.execute.weights import separated
from chipmodel.model.attributes import AlongAxis, ChannelWindow, OverAxes, OverGroups
from chipmodel.model.program import DTYPE_BITS, Op, Program
from chipmodel.model.work import Vector

_NORMS = ("layer_norm", "rms_norm", "instance_norm", "group_norm")
_SOFTMAX = ("softmax", "log_softmax", "hardmax")
_ONE = 1 << 16


def over_axes(
    program: Program,
    op: Op,
    work: Vector,
    given: Sequence[Numbers],
    block: Bytes,
    shape: tuple[int, ...],
    dtype: str,
) -> Numbers | None:
    """The output, of ``shape``; None for an op that is not known."""
    x = given[0]
    if op.kind == "lrn" and isinstance(work.attributes, ChannelWindow) and len(given) == 1 and not len(block):
        whole = fixed(x)
        return requantised(whole * 3 + channel_sums(whole * whole, work.attributes), dtype)
    for more in given[1:]:
        x = np.asarray(x + np.broadcast_to(more, x.shape))
    axes = axes_of(work, x.ndim)
    if axes is None:
        return None
    if op.kind in _NORMS:
        return _normalised(program, op, work, fixed(x), axes, block, dtype)
    if len(block):
        return None
    if op.kind in _SOFTMAX and len(axes):
        return _softmax(x, axes, dtype)
    if op.kind in ("argmax", "argmin") and len(axes) == 1:
        found: Numbers = x.argmax(axis=axes[0]) if op.kind == "argmax" else x.argmin(axis=axes[0])
        return found.reshape(shape).astype(np.int64)
    if op.kind.startswith("reduce_"):
        return _reduced(op.kind, fixed(x), axes, dtype).reshape(shape)
    return None


def channel_sums(x: NDArray[Any], window: ChannelWindow) -> NDArray[Any]:
    """For each element the sum of those of the channels around it, at the same place."""
    count = x.shape[1]
    ends = [window.channels(channel, count) for channel in range(count)]
    return np.stack([x[:, first:stop].sum(axis=1) for first, stop in ends], axis=1)


def axes_of(work: Vector, rank: int) -> tuple[int, ...] | None:
    """The axes over which an op of ``rank`` axes works; None where it does not say."""
    match work.attributes:
        case AlongAxis(axis):
            return (axis,)
        case OverAxes(axes):
            return axes
        case OverGroups():
            return tuple(range(1, rank))
        case _:
            return None


def _reduced(kind: str, x: Integers, axes: tuple[int, ...], dtype: str) -> Numbers:
    match kind:
        case "reduce_sum":
            return unfixed(x.sum(axis=axes), dtype)
        case "reduce_mean":
            return unfixed(x.sum(axis=axes) // max(1, prod(x.shape[a] for a in axes)), dtype)
        case "reduce_max":
            return unfixed(x.max(axis=axes), dtype)
        case "reduce_min":
            return unfixed(x.min(axis=axes), dtype)
        case _:
            spread = mixed(x.view(np.uint64)).view(np.int64)
            return requantised(spread.sum(axis=axes), dtype)


def _softmax(x: Numbers, axes: tuple[int, ...], dtype: str) -> Numbers:
    """Powers of two in place of those of e, which integers hold exactly."""
    whole = fixed(x)
    below = whole.max(axis=axes, keepdims=True) - whole
    step = 1 << 22 if is_float(dtype) else 16
    powers = (_ONE >> np.minimum(below // step, 16)) + np.maximum(step - below % step, 0) % step
    share = powers * _ONE // np.maximum(powers.sum(axis=axes, keepdims=True), 1)
    if is_float(dtype):
        return np.asarray(share / float(_ONE))
    return np.asarray(share * ((1 << (min(DTYPE_BITS[dtype], 32) - 1)) - 1) // _ONE)


def _normalised(
    program: Program, op: Op, work: Vector, x: Integers, axes: tuple[int, ...], block: Bytes, dtype: str
) -> Numbers:
    """Deviations from the mean over the mean deviation, scaled and shifted, spread evenly over all values."""
    shape: tuple[int, ...] = x.shape
    if isinstance(work.attributes, OverGroups):
        channels = shape[1]
        x = x.reshape(shape[0], work.attributes.groups, -1)
        axes = (2,)
        sizes = (1, channels, *(1,) * (len(shape) - 2))
    else:
        channels = prod(shape[a] for a in axes)
        sizes = tuple(size if a in axes else 1 for a, size in enumerate(shape))
    numbers = np.arange(channels).reshape(sizes)
    count = max(1, prod(x.shape[a] for a in axes))
    deviation = x if op.kind == "rms_norm" else x - x.sum(axis=axes, keepdims=True) // count
    size = np.abs(deviation).sum(axis=axes, keepdims=True) // count + 1
    even = (deviation * 256 // size).reshape(shape)
    scale, shift = scale_and_shift(program, op, block, channels)
    return requantised(even * scale[numbers] + shift[numbers], dtype)


def scale_and_shift(program: Program, op: Op, block: Bytes, channels: int) -> tuple[Integers, Integers]:
    """The first number of each channel in the weights, and what follows: the second, and digests of more."""
    found: list[Integers] = []
    for name, own in zip(op.weights, separated(program, op, block), strict=True):
        found.append(fixed(decode(own, weight_dtype(op, program.weights[name]) or "uint8")))
    every = np.concatenate([*found, np.zeros(0, np.int64)])
    scale = np.ones(channels, np.int64)
    shift = np.zeros(channels, np.int64)
    scale[: len(every)] = every[:channels]
    rest = every[channels : 2 * channels]
    shift[: len(rest)] = rest
    if len(every) > 2 * channels:
        shift += digests(block[None, :]).view(np.int64)
    return scale, shift
