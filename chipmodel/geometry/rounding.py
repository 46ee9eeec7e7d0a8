"""Whole units that hold a size, sizes rounded up to them, and sizes that plans of many capacities share."""

from __future__ import annotations

from math import ceil, log2


def ceil_div(size: int, unit: int) -> int:
    """Return the number of units that hold ``size``."""
    return -(-size // unit)


def round_up(size: int, unit: int) -> int:
    """Return the lowest multiple of ``unit`` that is not below ``size``."""
    return -(-size // unit) * unit


SIZES_PER_OCTAVE = 4
"""Sizes from one to the double of it."""


def smaller_sizes(size: int, count: int, per_octave: int = SIZES_PER_OCTAVE) -> list[int]:
    """Return the largest ``count`` sizes below ``size`` bytes of a ladder that all capacities share.

    >>> smaller_sizes(1000, 2), smaller_sizes(900, 2)
    ([861, 724], [861, 724])
    """
    top = ceil(per_octave * log2(size)) - 1
    return [int(2 ** (each / per_octave)) for each in range(top, top - count, -1)]
