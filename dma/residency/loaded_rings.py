"""Rolling buffers for rows that come from Psram: of stripes that overlap, each loads only what is new.

Two stripes of a convolution read some rows both. In a rolling buffer these stay, as in a cascade
(``chipmodel.cascades.rows``), while new rows are loaded where older ones lay.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from chipmodel.geometry.interval import Interval
from chipmodel.model.program import Op
from chipmodel.model.work import Conv, Pool


class LoadedRing(NamedTuple):
    """A rolling buffer for ``rows`` of the ``of_rows`` rows of an input."""

    rows: int
    of_rows: int

    def bytes(self, size: int) -> int:
        """Bytes of the buffer for an input of ``size`` bytes."""
        return self.rows * (size // self.of_rows)

    def pieces(self, rows: Interval) -> Iterator[Interval]:
        """Yield the pieces of ``rows`` that do not go round the buffer's end."""
        start = rows.start
        while start < rows.stop:
            stop = min(rows.stop, (start // self.rows + 1) * self.rows)
            yield Interval(start, stop)
            start = stop


def may_roll(op: Op) -> bool:
    """Whether two stripes of ``op`` read some rows of its first input both, and others alone."""
    work = op.work
    if not isinstance(work, Conv | Pool) or work.batch > 1 or op.sliced:
        return False
    window = work.window
    one = op.reads(0, Interval(0, 1), Interval(0, 1))
    rows_alone = one.of_rows == window.in_h and not one.banded and len(one.channels) == one.of_channels
    return rows_alone and not window.transposed and window.reach_h > window.stride_h


@lru_cache(maxsize=1 << 14)
def loaded_ring(op: Op, rows: int, depth: int) -> LoadedRing | None:
    """Return the rolling buffer for the first input of ``op`` in stripes of ``rows`` rows, with room for the
    new rows of ``depth`` stripes; None for none, or one that is no smaller than the input."""
    if not may_roll(op):
        return None
    assert isinstance(op.work, Conv | Pool)
    window = op.work.window
    held = (depth * rows - 1) * window.stride_h + window.reach_h
    return LoadedRing(held, window.in_h) if held < window.in_h else None
