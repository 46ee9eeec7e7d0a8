"""Elements of tensors as numbers, and numbers as elements.

Integers of any width are computed as 64-bit integers, modulo 2^64; 4-bit ones lie two in a byte, the first in
the low half. Floats are computed as float64; what is not finite counts as 0. Where numbers are added up,
floats are integers of 2^-24 (``fixed``), so that the order of additions does not matter and parts of an op
give the same bytes as the whole.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from chipmodel.execute.byte_arrays import Bytes, mixed
from chipmodel.model.program import DTYPE_BITS

Numbers: TypeAlias = NDArray[Any]
"""int64 or float64."""
Integers: TypeAlias = NDArray[np.int64]

FRACTION_BITS = 24
"""Bits after the point of a float as an integer: float32 has as many in its significand."""
_MOST_FIXED = float(1 << 31)
_LARGEST = {"float16": 65504.0, "bfloat16": 3.38e38, "float32": 3.4e38, "float64": 1e300}
_DRAWN_BITS = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 24}


def is_float(dtype: str) -> bool:
    """Whether elements are floats."""
    return "float" in dtype


def is_signed(dtype: str) -> bool:
    """Whether elements can be negative."""
    return not dtype.startswith("u") and dtype != "bool"


def decode(data: Bytes, dtype: str) -> Numbers:
    """The elements in ``data`` as numbers."""
    bits = DTYPE_BITS[dtype]
    if bits == 4:
        halves = np.stack([data & 15, data >> 4], axis=-1).reshape(-1).astype(np.int64)
        return np.where(halves > 7, halves - 16, halves) if is_signed(dtype) else halves
    if dtype == "bfloat16":
        words = data.view("<u2").astype(np.uint32) << np.uint32(16)
        return _finite(words.view(np.float32).astype(np.float64))
    if is_float(dtype):
        return _finite(data.view(f"<f{bits // 8}").astype(np.float64))
    return data.view(f"<{'i' if is_signed(dtype) else 'u'}{bits // 8}").astype(np.int64)


def encode(numbers: Numbers, dtype: str) -> Bytes:
    """The bytes of ``numbers`` as elements, in C order: integers modulo their width, floats rounded."""
    bits, flat = DTYPE_BITS[dtype], numbers.reshape(-1)
    if is_float(dtype):
        clipped = np.clip(_finite(flat.astype(np.float64)), -_LARGEST[dtype], _LARGEST[dtype])
        if dtype == "bfloat16":
            words = clipped.astype("<f4").view("<u4") >> np.uint32(16)
            return _as_bytes(words.astype("<u2"))
        return _as_bytes(clipped.astype(f"<f{bits // 8}"))
    integers = np.rint(flat).astype(np.int64) if flat.dtype.kind == "f" else flat.astype(np.int64)
    if bits == 4:
        halves = np.zeros(len(integers) + len(integers) % 2, np.uint8)
        halves[: len(integers)] = (integers & 15).astype(np.uint8)
        return _as_bytes(halves[::2] | (halves[1::2] << 4))
    return _as_bytes(integers.astype(f"<i{bits // 8}"))


def _as_bytes(elements: NDArray[Any]) -> Bytes:
    return elements.view(np.uint8)


def _finite(numbers: Numbers) -> Numbers:
    return np.where(np.isfinite(numbers), numbers, 0.0)


def fixed(numbers: Numbers) -> Integers:
    """Numbers as integers: floats in units of 2^-24, at most 2^31 of them in size."""
    if numbers.dtype.kind != "f":
        return numbers.astype(np.int64)
    scaled = np.clip(numbers * float(1 << FRACTION_BITS), -_MOST_FIXED, _MOST_FIXED)
    return np.rint(scaled).astype(np.int64)


def unfixed(integers: Integers, dtype: str) -> Numbers:
    """The inverse of ``fixed`` for elements of ``dtype``."""
    return integers / float(1 << FRACTION_BITS) if is_float(dtype) else integers


def requantised(sums: Integers, dtype: str) -> Numbers:
    """Elements of ``dtype`` for accumulated sums.

    A program does not say by which scales a network is quantised. So a fixed function that spreads sums
    evenly over all values stands for it: the output function of SplitMix64, of which the highest bits are
    taken. Two different sums give two different elements but for a chance of 1 in 2 to the number of bits. A
    float lies from -1 to 1.
    """
    words = mixed(sums.astype(np.int64).view(np.uint64))
    bits = _DRAWN_BITS.get(dtype, DTYPE_BITS[dtype])
    drawn = (words >> np.uint64(64 - bits)).view(np.int64)
    if is_float(dtype):
        return (drawn - (1 << (bits - 1))) / float(1 << (bits - 1))
    return drawn


def summed(sums: Integers, dtype: str, fraction_bits: int, plain: bool) -> Numbers:
    """Elements of ``dtype`` for accumulated sums, which floats have in units of 2^-``fraction_bits``: the
    sums themselves if ``plain``, otherwise as ``requantised``."""
    if not plain:
        return requantised(sums, dtype)
    return sums / float(1 << fraction_bits) if is_float(dtype) else sums


def product(left: Integers, right: Integers) -> Integers:
    """The matrix product, modulo 2^64. It is computed in float64, which is much faster, where it is exact."""
    most = float(np.abs(left).max(initial=0)) * float(np.abs(right).max(initial=0)) * left.shape[-1]
    if most < float(1 << 53):
        return (left.astype(np.float64) @ right.astype(np.float64)).astype(np.int64)
    found: Integers = np.matmul(left, right)
    return found
