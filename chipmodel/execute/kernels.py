"""Kernels and biases of output channels, from the weight block of an op.

A program knows how many elements its weights have, not what they are. The first ``taps`` elements of each
channel are its kernel, one element more is its bias. Whatever else a block holds (scales of a fused
normalisation, say, or weights whose size was given by hand) is mixed into the bias of its channel, so that
every byte counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from chipmodel.execute.byte_arrays import Bytes, digests
from chipmodel.execute.elements import FRACTION_BITS, Integers, Numbers, decode, fixed, is_float
from chipmodel.geometry.interval import Interval
from chipmodel.model.program import Op, Program, Weight

_TYPES = {4: "int4", 8: "int8", 16: "int16", 32: "int32", 64: "int64"}
_FLOATS = {32: "float32", 64: "float64"}


@dataclass(frozen=True, slots=True)
class Kernels:
    """``taps`` is (channels, taps), ``offsets`` (channels,)."""

    taps: Integers
    offsets: Integers


def weight_dtype(op: Op, weight: Weight) -> str | None:
    """The element type of a weight, by its size; None where its elements have no usual number of bits."""
    if not weight.elements or weight.bytes * 8 % weight.elements:
        return None
    bits = weight.bytes * 8 // weight.elements
    if is_float(op.dtype):
        half = op.dtype if op.dtype in ("float16", "bfloat16") else "float16"
        return half if bits == 16 else _FLOATS.get(bits, _TYPES.get(bits))
    return _TYPES.get(bits)


def channel_weights(
    program: Program, op: Op, block: Bytes, count: int, channels: Interval
) -> list[tuple[Bytes, str]]:
    """For each weight of ``op`` the bytes of each of ``channels``, one channel a line, and their type.

    ``count`` are the output channels that the op really has, though it may not be cut by them.
    """
    weights = [program.weights[name] for name in op.weights]
    if op.work.channels != count:
        # The weights lie one after another.
        ends = np.cumsum([0, *(weight.bytes for weight in weights)])
        if any(weight.bytes % count for weight in weights):
            lines = block[: len(block) // count * count].reshape(count, -1)
            rest = np.tile(block[len(lines.reshape(-1)) :], (count, 1))
            return [(lines, "int8"), (rest, "uint8")]
        own = [block[a:b].reshape(count, -1) for a, b in pairwise(ends)]
        types = [weight_dtype(op, weight) or "uint8" for weight in weights]
        return list(zip(own, types, strict=True))
    return _cut_weights(op, weights, block, channels)


def _cut_weights(
    op: Op, weights: Sequence[Weight], block: Bytes, channels: Interval
) -> list[tuple[Bytes, str]]:
    count = op.work.channels
    if any(weight.bytes % count for weight in weights):
        return [(_uneven_lines(block, count, channels), "int8")]
    lines = block.reshape(count, -1)[channels.start : channels.stop]
    found: list[tuple[Bytes, str]] = []
    first = 0
    for weight in weights:
        size = weight.bytes // count
        found.append((lines[:, first : first + size], weight_dtype(op, weight) or "uint8"))
        first += size
    return found


def _uneven_lines(block: Bytes, count: int, channels: Interval) -> Bytes:
    """The bytes of each channel, filled up with zeros where one has a byte less."""
    numbers = np.arange(channels.start, channels.stop + 1)
    starts = -(-len(block) * numbers // count)
    longest = -(-len(block) // count)
    places = starts[:-1, None] + np.arange(longest)[None, :]
    inside = places < starts[1:, None]
    return np.where(inside, block[np.minimum(places, len(block) - 1)], 0).astype(np.uint8)


def kernels(program: Program, op: Op, block: Bytes, count: int, channels: Interval, taps: int) -> Kernels:
    """Kernels of ``taps`` elements and biases for ``channels``."""
    found = np.zeros((len(channels), 0), np.int64)
    offsets = np.zeros(len(channels), np.int64)
    for lines, dtype in channel_weights(program, op, block, count, channels):
        numbers = _numbers(lines, dtype)
        missing = taps - found.shape[1]
        if missing and numbers is not None:
            found = np.concatenate([found, fixed(numbers[:, :missing])], axis=1)
            if numbers.shape[1] > missing:
                offsets += digests(np.ascontiguousarray(lines)).view(np.int64)
        elif numbers is not None and numbers.shape[1] == 1:
            offsets += fixed(numbers[:, 0]) << (FRACTION_BITS if is_float(op.dtype) else 0)
        elif lines.shape[1]:
            offsets += digests(np.ascontiguousarray(lines)).view(np.int64)
    if found.shape[1] < taps:
        found = _repeated(found, taps)
    return Kernels(found, offsets)


def _numbers(lines: Bytes, dtype: str) -> Numbers | None:
    """Elements of each line; None where a line has no whole number of them."""
    size = (
        np.dtype(dtype).itemsize if dtype not in ("int4", "bfloat16") else (2 if dtype == "bfloat16" else 1)
    )
    if not lines.shape[1] or lines.shape[1] % size:
        return None
    return decode(np.ascontiguousarray(lines).reshape(-1), dtype).reshape(len(lines), -1)


def _repeated(found: Integers, taps: int) -> Integers:
    """As many taps, by repeating those that there are, each time one more; odd numbers where there are
    none."""
    own = found.shape[1]
    numbers = np.arange(taps)
    if not own:
        return np.tile(2 * numbers + 1, (len(found), 1))
    result: Integers = found[:, numbers % own] + (numbers // own)[None, :]
    return result
