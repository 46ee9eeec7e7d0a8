"""Which rows of an operand an op reads, as a line: exact away from the edges, and quick to evaluate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from chipmodel.cascades.row_reads import rows_of
from chipmodel.geometry.interval import Interval
from chipmodel.geometry.window import Window
from chipmodel.model.program import Op
from chipmodel.model.work import Conv, Pool
from dma.cascade_choice.stripe_heights import Counts

FEW_ROWS = 6
"""Rows of an output from which on only those in the middle are looked at, where windows are whole."""

MOST_PROBES = 4096
"""Most rows that are looked at, half of them at either end: rounding repeats after fewer. No image has as
many rows, but a list of millions of elements has."""


@dataclass(frozen=True, slots=True)
class RowReach:
    """For output rows ``[a, b)`` an op reads ``[start(a), stop(b))`` of an operand's ``rows`` rows."""

    rows: int
    rise: int = 0
    chain: int = 1
    start_offset: int = 0
    stop_offset: int = 0

    def start(self, row: int) -> int:
        """The first row read for output rows from ``row`` on."""
        if not self.rise:
            return 0
        return min(self.rows, max(0, row * self.rise // self.chain + self.start_offset))

    def starts(self, rows: Counts) -> Counts:
        """``start`` of each of ``rows``."""
        if not self.rise:
            return np.zeros_like(rows)
        found: Counts = (rows * self.rise // self.chain + self.start_offset).clip(0, self.rows)
        return found

    def stop(self, row: int) -> int:
        """The end of the rows read for output rows before ``row``."""
        if not self.rise:
            return self.rows
        return max(1, min(self.rows, row * self.rise // self.chain + self.stop_offset))

    def stops(self, rows: Counts) -> Counts:
        """``stop`` of each of ``rows``."""
        if not self.rise:
            return np.full_like(rows, self.rows)
        found: Counts = (rows * self.rise // self.chain + self.stop_offset).clip(1, self.rows)
        return found


def row_reach(op: Op, operand: int, rows: Mapping[str, int]) -> RowReach:
    """Return the reach of an op for one of its operands, where ``rows`` are those of each tensor."""
    made, of_rows = rows[op.outputs[0]], rows[op.inputs[operand]]
    each = op.work.rows // made

    def read(start: int, stop: int) -> Interval:
        share = op.reads(operand, Interval(start * each, stop * each), Interval(0, op.work.channels))
        return rows_of(share, of_rows)

    if operand == 0 and isinstance(op.work, Conv | Pool) and op.work.batch == 1 and not op.accumulator:
        window = op.work.window
        if not window.transposed:
            return _window_reach(window)
    first, last = (made // 3, made - made // 3) if made > FEW_ROWS else (0, made - 1)
    one = read(first, first + 1)
    if len(one) >= of_rows:
        return RowReach(of_rows)
    if made == 1:
        return RowReach(of_rows, 1, 1, one.start, one.stop - 1)
    slope = Fraction(read(last, last + 1).start - read(first, first + 1).start, last - first)
    if not slope:
        return RowReach(of_rows)
    rise, chain = slope.numerator, slope.denominator
    probes: Sequence[int] = range(first, last + 1)
    if len(probes) > MOST_PROBES:
        probes = (*probes[: MOST_PROBES // 2], *probes[-MOST_PROBES // 2 :])
    starts = min(read(row, row + 1).start - row * rise // chain for row in probes)
    stops = max(read(row, row + 1).stop - (row + 1) * rise // chain for row in probes)
    return RowReach(of_rows, rise, chain, starts, stops)


def _window_reach(window: Window) -> RowReach:
    reach = window.dilation_h * (window.kernel_h - 1)
    stop = reach + 1 - window.pad_top - window.stride_h
    return RowReach(window.in_h, window.stride_h, 1, -window.pad_top, stop)
