"""Whole units that hold a size, and sizes rounded up to them."""

from __future__ import annotations


def ceil_div(size: int, unit: int) -> int:
    """Return the number of units that hold ``size``."""
    return -(-size // unit)


def round_up(size: int, unit: int) -> int:
    """Return the lowest multiple of ``unit`` that is not below ``size``."""
    return -(-size // unit) * unit
