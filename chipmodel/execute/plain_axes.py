"""Softmax, normalisations and reductions of floats as ONNX defines them, to compare with other evaluators.

``chipmodel.execute.over_axes`` computes them in integers, so that parts give the bytes of the whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from chipmodel.execute.elements import FRACTION_BITS, Numbers
from chipmodel.execute.over_axes import axes_of, channel_sums, scale_and_shift
from chipmodel.execute.request import PartRequest
from chipmodel.model.attributes import ChannelWindow, OverGroups
from chipmodel.model.work import Vector

EPSILON = 1e-5
"""What ONNX adds to a variance unless a node says otherwise."""
_UNIT = float(1 << FRACTION_BITS)


def plainly_over_axes(part: PartRequest, work: Vector, given: Sequence[Numbers]) -> Numbers | None:
    """The only output of a known kind; None for another."""
    x, kind = given[0], part.op.kind
    if kind == "lrn" and isinstance(work.attributes, ChannelWindow):
        own = work.attributes
        return np.asarray(x / (own.bias + own.alpha / own.size * channel_sums(x * x, own)) ** own.beta)
    axes = axes_of(work, x.ndim)
    if axes is None or len(given) > 1:
        return None
    shape = part.outputs[0].shape
    match kind:
        case "softmax" | "log_softmax":
            below = x - x.max(axis=axes, keepdims=True)
            logarithm = below - np.log(np.exp(below).sum(axis=axes, keepdims=True))
            return np.asarray(logarithm if kind == "log_softmax" else np.exp(logarithm))
        case "hardmax" if len(axes) == 1:
            result = np.zeros_like(x)
            np.put_along_axis(result, x.argmax(axis=axes[0], keepdims=True), 1.0, axes[0])
            return result
        case "layer_norm" | "rms_norm" | "instance_norm" | "group_norm":
            return _normalised(part, work, x, axes)
        case "reduce_l1":
            return np.asarray(np.abs(x).sum(axis=axes)).reshape(shape)
        case "reduce_l2":
            return np.asarray(np.sqrt((x * x).sum(axis=axes))).reshape(shape)
        case "reduce_sumsquare":
            return np.asarray((x * x).sum(axis=axes)).reshape(shape)
        case "reduce_prod":
            return np.asarray(x.prod(axis=axes)).reshape(shape)
        case _:
            return None


def _normalised(part: PartRequest, work: Vector, x: Numbers, axes: tuple[int, ...]) -> Numbers:
    """Deviations from the mean over their root mean square, scaled and shifted."""
    shape = x.shape
    if isinstance(work.attributes, OverGroups):
        grouped = x.reshape(shape[0], work.attributes.groups, -1)
        even = _even(grouped, (2,), 0.0).reshape(shape)
        channels, sizes = shape[1], (1, shape[1], *(1,) * (len(shape) - 2))
    else:
        even = _even(x, axes, x.mean(axis=axes, keepdims=True) if part.op.kind == "rms_norm" else 0.0)
        channels = prod(shape[a] for a in axes)
        sizes = tuple(size if a in axes else 1 for a, size in enumerate(shape))
    if not part.op.weights:
        return np.asarray(even)
    scale, shift = scale_and_shift(part.program, part.op, part.block, channels)
    return np.asarray(even * (scale / _UNIT).reshape(sizes) + (shift / _UNIT).reshape(sizes))


def _even(x: Numbers, axes: tuple[int, ...], kept: Numbers | float) -> Numbers:
    """Deviations from the mean, of which ``kept`` is not taken away, over their root mean square."""
    away = x - x.mean(axis=axes, keepdims=True) + kept
    return np.asarray(away / np.sqrt((away * away).mean(axis=axes, keepdims=True) + EPSILON))
