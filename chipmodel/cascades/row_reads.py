"""Which rows of an operand an op reads for some of its output rows, quickly: cascades ask for each step."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from chipmodel.geometry.interval import Interval
from chipmodel.geometry.share import Share
from chipmodel.geometry.window import Window
from chipmodel.model.program import Op
from chipmodel.model.work import Conv, Pool, Vector

RowReads = Callable[[int, int], tuple[int, int]]
"""For output rows ``[start, stop)``, at least one, the rows of the operand that are read."""


def rows_of(share: Share, rows: int) -> Interval:
    """The rows, of ``rows``, that ``share`` touches."""
    start = share.rows.start * rows // share.of_rows
    return Interval(start, -(-share.rows.stop * rows // share.of_rows))


def all_of(rows: int) -> RowReads:
    """All of an operand with so many rows, whichever are made."""
    return lambda start, stop: (0, rows)


def row_reads(op: Op, operand: int, made: int, of_rows: int) -> RowReads:
    """The rows of an operand, which has ``of_rows``, that an op with ``made`` output rows reads."""
    work = op.work
    if operand in op.whole or op.inputs[operand] == op.sliced:
        return _any_reads(op, operand, made, of_rows)
    if isinstance(work, Conv | Pool) and operand == 0 and not work.solid and work.batch == 1:
        summed = isinstance(work, Conv) and work.summed is not None
        window = work.window
        if not (summed or window.transposed) and (made, of_rows) == (window.out_h, window.in_h):
            return _window_reads(window)
    by_row = isinstance(work, Vector) and not (work.cut or work.reach or operand in work.broadcast)
    if by_row and made == of_rows == work.rows:
        return _same_rows
    return _any_reads(op, operand, made, of_rows)


def _same_rows(start: int, stop: int) -> tuple[int, int]:
    return start, stop


def _window_reads(window: Window) -> RowReads:
    """The same rows as ``Window.input_rows``."""
    stride, pad, of_rows = window.stride_h, window.pad_top, window.in_h
    behind = window.dilation_h * (window.kernel_h - 1) + 1 - pad - stride

    def read(start: int, stop: int) -> tuple[int, int]:
        first = min(max(start * stride - pad, 0), of_rows - 1)
        return first, min(max(stop * stride + behind, first + 1), of_rows)

    return read


def _any_reads(op: Op, operand: int, made: int, of_rows: int) -> RowReads:
    each, channels = op.work.rows // made, Interval(0, op.work.channels)

    @cache
    def read(start: int, stop: int) -> tuple[int, int]:
        rows = rows_of(op.reads(operand, Interval(start * each, stop * each), channels), of_rows)
        return rows.start, rows.stop

    return read
