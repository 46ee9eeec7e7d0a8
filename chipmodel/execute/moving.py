"""Ops that move elements without computing with them: joins, slices, transposes, padding, resizing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from chipmodel.execute.elements import Numbers, fixed, is_float, unfixed
from chipmodel.model.attributes import (
    AlongAxis,
    AxisOrder,
    Interleaving,
    Margins,
    PixelBlocks,
    Scaling,
    SliceRanges,
)
from chipmodel.model.program import DTYPE_BITS
from chipmodel.model.work import Vector

Shapes = Sequence[tuple[int, ...]]


def moved(
    kind: str, work: Vector, given: Sequence[Numbers], shapes: Shapes, dtype: str
) -> list[Numbers] | None:
    """The outputs, of ``shapes``; None for an op that is not known."""
    x, shape = given[0], shapes[0]
    match kind, work.attributes:
        case "concat", AlongAxis(axis) if all(each.ndim == len(shape) for each in given):
            joined = np.concatenate(given, axis=axis)
            return [joined] if joined.shape == shape else None
        case "split", AlongAxis(axis) if len(given) == 1:
            return _pieces(x, axis, shapes)
        case "crelu", AlongAxis(axis) if len(given) == 1:
            return [np.maximum(np.concatenate([x, -x], axis=axis), 0)]
        case "transpose", AxisOrder(order) if len(given) == 1:
            return [x.transpose(order)]
        case "transpose", Interleaving(groups) if len(given) == 1:
            return _interleaved(x, groups)
        case "slice", SliceRanges(starts, steps) if len(given) == 1:
            indices = (s + np.arange(n) * p for s, p, n in zip(starts, steps, shape, strict=True))
            return [x[np.ix_(*indices)]]
        case "pad", Margins(before, value) if len(given) == 1:
            return [_padded(x, before, shape, _nearest_number(value, dtype))]
        case "resize", Scaling(linear) if len(given) == 1:
            return [_blended(x, shape, dtype) if linear else _nearest(x, shape)]
        case "expand" | "tile", _ if x.ndim == len(shape):
            return [x[np.ix_(*(np.arange(n) % max(1, m) for n, m in zip(shape, x.shape, strict=True)))]]
        case "depth_to_space", PixelBlocks(size) if x.ndim == 4:
            return _to_space(x, size)
        case "space_to_depth", PixelBlocks(size) if x.ndim == 4:
            return _to_depth(x, size)
        case _:
            return None


def _pieces(x: Numbers, axis: int, shapes: Shapes) -> list[Numbers] | None:
    """Pieces along an axis; None where not all of them are outputs."""
    ends = np.cumsum([shape[axis] for shape in shapes])
    return np.split(x, ends[:-1], axis=axis) if ends[-1] == x.shape[axis] else None


def _interleaved(x: Numbers, groups: int) -> list[Numbers] | None:
    n, c, *rest = x.shape
    if c % groups:
        return None
    return [x.reshape(n, groups, c // groups, *rest).swapaxes(1, 2).reshape(x.shape)]


def _nearest_number(value: float, dtype: str) -> float:
    """``value`` as an element of a tensor of ``dtype``."""
    if is_float(dtype):
        return value
    bits, signed = DTYPE_BITS[dtype], not dtype.startswith("u")
    least, most = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    return round(max(least, min(most, value)))


def _padded(x: Numbers, before: tuple[int, ...], shape: tuple[int, ...], value: float) -> Numbers:
    """``value`` around ``x``; negative amounts leave elements out."""
    result = np.full(shape, value, x.dtype)
    target = tuple(
        slice(max(0, b), max(0, min(n, b + m))) for b, n, m in zip(before, shape, x.shape, strict=True)
    )
    source = tuple(slice(t.start - b, t.stop - b) for t, b in zip(target, before, strict=True))
    result[target] = x[source]
    return result


def _nearest(x: Numbers, shape: tuple[int, ...]) -> Numbers:
    indices = (np.arange(made) * given // made for made, given in zip(shape, x.shape, strict=True))
    return x[np.ix_(*indices)]


def _blended(x: Numbers, shape: tuple[int, ...], dtype: str) -> Numbers:
    """Along each axis in turn a blend of the two elements around each output's centre."""
    found: Numbers = fixed(x)
    for axis, made in enumerate(shape):
        given = int(found.shape[axis])
        if given == made:
            continue
        centres = np.arange(made) * 2 * given + given - made
        low = centres // (2 * made)
        after = (centres - low * 2 * made).reshape(-1, *(1,) * (found.ndim - axis - 1))
        first: Numbers = found.take(np.clip(low, 0, given - 1), axis=axis)
        second: Numbers = found.take(np.clip(low + 1, 0, given - 1), axis=axis)
        found = np.asarray((first * (2 * made - after) + second * after) // (2 * made))
    return unfixed(found, dtype)


def _to_space(x: Numbers, size: int) -> list[Numbers]:
    n, c, h, w = x.shape
    deep = x.reshape(n, size, size, c // size // size, h, w).transpose(0, 3, 4, 1, 5, 2)
    return [deep.reshape(n, c // size // size, h * size, w * size)]


def _to_depth(x: Numbers, size: int) -> list[Numbers]:
    n, c, h, w = x.shape
    flat = x.reshape(n, c, h // size, size, w // size, size).transpose(0, 3, 5, 1, 2, 4)
    return [flat.reshape(n, c * size * size, h // size, w // size)]
