"""Which input rows and columns those of an output need: sliding windows, and rows that are moved."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from chipmodel.geometry.interval import Interval, merged
from chipmodel.records import dataclass


def indices_needed(
    count: int, size: int, step: int = 1, offset: int = 0, scale: int = 1, more: int = 0, nearest: bool = True
) -> int:
    """Return how many of ``size`` indices the outputs 0 to ``count`` need together.

    Output ``y`` needs the indices from ``(y * step + offset) / scale``, rounded down, on, ``more`` after it
    included; where no such index exists the ``nearest`` one, or none. Takes no time for many outputs.

    >>> indices_needed(3, 10, step=4, more=1)
    6
    """

    def part(y: int) -> Interval:
        first = (y * step + offset) // scale
        if nearest:
            return within(first, first + more, size)
        return Interval(max(first, 0), min(first + more + 1, size))

    if step <= scale * (more + 1):
        return len(Interval(part(0).start, part(count - 1).stop))
    # No index is needed twice but the first and the last one, and most outputs need all that is theirs.
    low, high = max(0, -(offset // step)), min(count, ((size - more) * scale - 1 - offset) // step + 1)
    beside = {0, count - 1, *(at + by for at in (low, high) for by in (-1, 0, 1) if 0 <= at + by < count)}
    others = max(0, high - low) - sum(low <= y < high for y in beside)
    return sum(map(len, merged(map(part, beside)))) + others * (more + 1)


def within(first: int, last: int, size: int) -> Interval:
    """Return the indices from ``first`` to ``last`` of those below ``size``, or else the nearest one."""
    start = min(max(first, 0), size - 1)
    return Interval(start, min(max(last + 1, start + 1), size))


def over_images(of_image: Callable[[Interval], Interval], rows: Interval, made: int, given: int) -> Interval:
    """Return the input rows that ``rows`` of images of ``made`` rows one after another need: a contiguous
    range of those of images of ``given`` rows."""
    if rows.stop <= made:
        return of_image(rows)
    first, first_row = divmod(rows.start, made)
    last, last_row = divmod(rows.stop - 1, made)
    start = of_image(Interval(first_row, made if last > first else last_row + 1)).start
    stop = of_image(Interval(0 if last > first else first_row, last_row + 1)).stop
    return Interval(first * given + start, last * given + stop)


@dataclass(frozen=True, slots=True)
class Window:
    """The sliding window of a convolution or pooling, in elements; 1-D work has ``in_h == 1``."""

    in_h: int
    in_w: int
    out_h: int
    out_w: int
    kernel_h: int
    kernel_w: int
    stride_h: int = 1
    stride_w: int = 1
    pad_top: int = 0
    pad_left: int = 0
    pad_bottom: int = 0
    pad_right: int = 0
    dilation_h: int = 1
    dilation_w: int = 1
    transposed: bool = False

    @property
    def turned(self) -> Window:
        """The window with rows and columns exchanged."""
        return Window(
            *(self.in_w, self.in_h, self.out_w, self.out_h),
            *(self.kernel_w, self.kernel_h, self.stride_w, self.stride_h),
            *(self.pad_left, self.pad_top, self.pad_right, self.pad_bottom),
            *(self.dilation_w, self.dilation_h),
            self.transposed,
        )

    @property
    def reach_h(self) -> int:
        """Input rows from the first to the last that an output row reads, with padding."""
        return self.dilation_h * (self.kernel_h - 1) + 1

    @property
    def rows_read(self) -> int:
        """Input rows that any output row reads."""
        if self.transposed:  # Output rows one after another read rows one after another.
            first, last = (
                self.input_rows(Interval(0, 1)),
                self.input_rows(Interval(self.out_h - 1, self.out_h)),
            )
            return len(Interval(first.start, last.stop))
        return indices_needed(self.out_h, self.in_h, self.stride_h, -self.pad_top, 1, self.reach_h - 1)

    def input_columns(self, out_columns: Interval) -> Interval:
        """Input columns that the output columns ``out_columns`` read, without padding."""
        return self.turned.input_rows(out_columns)

    def in_band(self, columns: Interval) -> Window:
        """The window for the output ``columns`` alone, for its cost, padded only where it is at a border.

        Bands together have at least the input columns of the whole, and none is 1-D for being narrow.
        """
        in_w = max(-(-len(columns) * self.in_w // self.out_w), min(2, self.in_w))
        if self.transposed:
            return replace(self, out_w=len(columns), in_w=in_w)
        in_w = max(in_w, len(self.input_columns(columns)))
        left = self.pad_left if columns.start == 0 else 0
        right = self.pad_right if columns.stop == self.out_w else 0
        return replace(self, out_w=len(columns), in_w=in_w, pad_left=left, pad_right=right)

    def input_rows(self, out_rows: Interval) -> Interval:
        """Input rows that the output rows ``out_rows`` of an image read, with halo but without padding."""
        reach = self.dilation_h * (self.kernel_h - 1)
        if self.transposed:
            # Output row y is fed by input rows i with i * stride - pad_top + tap * dilation == y.
            first = -(-(out_rows.start + self.pad_top - reach) // self.stride_h)
            last = (out_rows.stop - 1 + self.pad_top) // self.stride_h
        else:
            first = out_rows.start * self.stride_h - self.pad_top
            last = (out_rows.stop - 1) * self.stride_h - self.pad_top + reach
        return within(first, last, self.in_h)

    def image_rows(self, rows: Interval) -> Interval:
        """Input rows as by ``input_rows``, over a batch of images in turn: a contiguous range of rows."""
        return over_images(self.input_rows, rows, self.out_h, self.in_h)


@dataclass(frozen=True, slots=True)
class MovedRows:
    """The input rows that an output row needs, within each of several images one after another.

    Output row ``y`` reads the rows from ``(y * step + offset) / scale``, rounded down, on, ``more`` rows
    after it included, and nothing where no such row exists (padding).
    """

    in_rows: int
    out_rows: int
    images: int = 1
    step: int = 1
    offset: int = 0
    scale: int = 1
    more: int = 0

    @property
    def rows_read(self) -> int:
        """Input rows of one image that any output row reads."""
        return indices_needed(self.out_rows, self.in_rows, self.step, self.offset, self.scale, self.more)

    def input_rows(self, rows: Interval) -> Interval:
        """Input rows of one image: at least one row, as every part reads something."""
        first = (rows.start * self.step + self.offset) // self.scale
        last = ((rows.stop - 1) * self.step + self.offset) // self.scale + self.more
        return within(first, last, self.in_rows)

    def image_rows(self, rows: Interval) -> Interval:
        """Input rows of all images: a contiguous range."""
        return over_images(self.input_rows, rows, self.out_rows, self.in_rows)
