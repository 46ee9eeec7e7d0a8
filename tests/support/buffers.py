"""Buffers with one lifetime, and problems of such buffers."""

from chipmodel.geometry.interval import Interval
from chipmodel.model.plan import Buffer, Problem


def buffer(name: str, size: int, start: int = 0, stop: int = 9, alignment: int = 1) -> Buffer:
    """A buffer that is alive at the positions from ``start`` to before ``stop``."""
    return Buffer(name, size, (Interval(start, stop),), alignment)


def alive(*rows: tuple[int, int, int]) -> Problem:
    """A problem of buffers called 0, 1, 2 ... with these bytes, starts and stops."""
    return Problem(tuple(buffer(str(number), *row) for number, row in enumerate(rows)))
