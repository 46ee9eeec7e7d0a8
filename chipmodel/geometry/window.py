"""Which input rows and columns those of an output need: sliding windows, and rows that are moved."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from chipmodel.geometry.interval import Interval, merged
from chipmodel.records import dataclass


@dataclass(frozen=True, slots=True)
class Reach:
    """Which indices of an axis those of the output need: output ``y`` those from ``(y * step + offset) /
    scale``, rounded down, on, ``more`` after it included. Where no such index exists (padding) the nearest
    one is read, as every part reads something; but nothing if the axis lies ``apart``, in pieces."""

    step: int = 1
    offset: int = 0
    scale: int = 1
    more: int = 0

    def needed(self, made: Interval, size: int, apart: bool = False) -> Interval:
        """The indices below ``size`` that the outputs ``made`` need."""
        first = (made.start * self.step + self.offset) // self.scale
        last = ((made.stop - 1) * self.step + self.offset) // self.scale + self.more
        if not apart:
            return within(first, last, size)
        start = min(max(first, 0), size)
        return Interval(start, max(start, min(last + 1, size)))

    def needed_by_any(self, count: int, size: int, apart: bool = False) -> int:
        """How many indices below ``size`` the outputs 0 to ``count`` need together, in no time for many.

        >>> Reach(step=4, more=1).needed_by_any(3, size=10)
        6
        """

        def part(y: int) -> Interval:
            return self.needed(Interval(y, y + 1), size, apart)

        step, scale, more = self.step, self.scale, self.more
        if step <= scale * (more + 1):
            return len(Interval(part(0).start, part(count - 1).stop))
        # No index is needed twice but the first and the last one, and most outputs need all that is theirs.
        low = max(0, -(self.offset // step))
        high = min(count, ((size - more) * scale - 1 - self.offset) // step + 1)
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
    def _reach(self) -> Reach:
        """Input rows that an output row reads, but of a transposed convolution."""
        return Reach(self.stride_h, -self.pad_top, more=self.reach_h - 1)

    @property
    def rows_read(self) -> int:
        """Input rows that any output row reads."""
        if self.transposed:  # Output rows one after another read rows one after another.
            first, last = (
                self.input_rows(Interval(0, 1)),
                self.input_rows(Interval(self.out_h - 1, self.out_h)),
            )
            return len(Interval(first.start, last.stop))
        return self._reach.needed_by_any(self.out_h, self.in_h)

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
        if not self.transposed:
            return self._reach.needed(out_rows, self.in_h)
        # Output row y is fed by input rows i with i * stride - pad_top + tap * dilation == y.
        first = -(-(out_rows.start + self.pad_top - self.reach_h + 1) // self.stride_h)
        last = (out_rows.stop - 1 + self.pad_top) // self.stride_h
        return within(first, last, self.in_h)

    def image_rows(self, rows: Interval) -> Interval:
        """Input rows as by ``input_rows``, over a batch of images in turn: a contiguous range of rows."""
        return over_images(self.input_rows, rows, self.out_h, self.in_h)


@dataclass(frozen=True, slots=True)
class MovedRows:
    """The input rows that an output row needs, within each of several images one after another."""

    in_rows: int
    out_rows: int
    images: int
    reach: Reach

    @property
    def rows_read(self) -> int:
        """Input rows of one image that any output row reads."""
        return self.reach.needed_by_any(self.out_rows, self.in_rows)

    def input_rows(self, rows: Interval) -> Interval:
        """Input rows of one image: at least one row, as every part reads something."""
        return self.reach.needed(rows, self.in_rows)

    def image_rows(self, rows: Interval) -> Interval:
        """Input rows of all images: a contiguous range."""
        return over_images(self.input_rows, rows, self.out_rows, self.in_rows)
