"""Rolling buffers for rows that come from Psram: of stripes that overlap, each loads only what is new.

Two stripes of a convolution read some rows both, and so do two stripes of a cascade: its first op reads rows
that a later one, as the sum at the end of a residual block, needs only stripes later. In a rolling buffer
these stay, as do those that are made inside a cascade (``chipmodel.cascades.rows``), while new rows are
loaded where older ones lay.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import accumulate
from typing import NamedTuple

from chipmodel.geometry.aligned_cuts import AlignedCuts
from chipmodel.geometry.interval import Interval
from chipmodel.geometry.share import WHOLE
from chipmodel.model.cascade_work import CascadeWork
from chipmodel.model.program import Op
from chipmodel.model.work import Conv, Pool


class LoadedRing(NamedTuple):
    """A rolling buffer for ``rows`` of the ``of_rows`` rows of an input, with the ``new`` rows of each stripe
    that reads some."""

    rows: int
    of_rows: int
    new: tuple[tuple[Interval, Interval], ...] = ()

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


def may_roll(op: Op, index: int) -> bool:
    """Whether stripes of ``op`` read some rows of an input several times, and others alone."""
    work = op.work
    if isinstance(work, CascadeWork):
        return loaded_ring(op, index, AlignedCuts(work.rows, work.rows, 1), 1) is not None
    if index or not isinstance(work, Conv | Pool) or work.batch > 1 or op.sliced:
        return False
    window = work.window
    one = op.reads(0, Interval(0, 1), Interval(0, 1))
    rows_alone = one.of_rows == window.in_h and not one.banded and len(one.channels) == one.of_channels
    return rows_alone and not window.transposed and window.reach_h > window.stride_h


@lru_cache(maxsize=1 << 14)
def loaded_ring(op: Op, index: int, stripes: AlignedCuts, depth: int) -> LoadedRing | None:
    """Return the rolling buffer for input ``index`` of ``op``, which ``may_roll``, with room for the new rows
    of ``depth`` stripes; None if no row is read twice, or if it is no smaller than the input.

    A stripe's rows are those from the oldest on that it or a later one reads.
    """
    read = [(stripe, op.reads(index, stripe, Interval(0, 1))) for stripe in stripes]
    read = [(stripe, share) for stripe, share in read if len(share.rows)]
    if not read or any(share == WHOLE or share.banded for _, share in read):
        return None
    starts = [*accumulate((share.rows.start for _, share in reversed(read)), min)][::-1]
    stops = [*accumulate((share.rows.stop for _, share in read), max)]
    ahead = stops[min(depth, len(stops)) - 1 :]
    held = max(stop - start for start, stop in zip(starts, ahead, strict=False))
    new = [
        Interval(max(start, before), stop)
        for start, before, stop in zip(starts, (0, *stops), stops, strict=False)
    ]
    of_rows = read[0][1].of_rows
    if held >= of_rows or sum(map(len, new)) >= sum(len(share.rows) for _, share in read):
        return None
    return LoadedRing(held, of_rows, tuple(zip((stripe for stripe, _ in read), new, strict=True)))
