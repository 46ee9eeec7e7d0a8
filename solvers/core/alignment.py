"""Rounding of offsets."""

from __future__ import annotations


def align(offset: int, alignment: int) -> int:
    """Return the lowest multiple of ``alignment`` that is not below ``offset``."""
    return -(-offset // alignment) * alignment
