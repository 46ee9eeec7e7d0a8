"""A cut of an op along axes of its output, and the boxes of its operands that a part needs.

The output's axes in the order of memory are cut in three: the outermost ones are rows, the next ones
channels, and the innermost ones belong to every part as a whole. A part, a range of rows by a range of
channels, is a box of indices. Each axis of an operand follows one of these axes, as it is or moved, or every
part needs all of it. So a part needs a box of each operand, and reads the rows by channels of the operand
that enclose the box.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate
from math import prod

from chipmodel.geometry.interval import Interval
from chipmodel.geometry.share import WHOLE, Share, by_rows_and_channels
from chipmodel.geometry.window import Reach
from chipmodel.records import dataclass

NOTHING_READ = Share(Interval(0, 0))
"""No byte of a tensor: an operand that a part does not read."""


@dataclass(frozen=True, slots=True)
class OperandAxis:
    """An axis of an operand, of ``size`` indices; ``follows`` is the number of the output's axis, or None.
    An operand that is a piece of a concat lies ``apart``."""

    size: int
    follows: int | None = None
    reach: Reach = Reach()
    apart: bool = False

    def needed(self, box: Sequence[Interval]) -> Interval:
        """The indices that the part ``box`` needs; possibly none of an operand that lies apart."""
        if self.follows is None:
            return Interval(0, self.size)
        return self.reach.needed(box[self.follows], self.size, self.apart)


@dataclass(frozen=True, slots=True)
class OperandAxes:
    """The axes of an operand in the order of memory; the ``split`` outermost ones make its rows."""

    axes: tuple[OperandAxis, ...]
    split: int = 0

    def share(self, box: Sequence[Interval]) -> Share:
        """The rows by channels that enclose what the part ``box`` needs."""
        needed = [axis.needed(box) for axis in self.axes]
        if not all(len(each) for each in needed):
            return NOTHING_READ
        return self.enclosing(needed)

    def enclosing(self, needed: Sequence[Interval]) -> Share:
        """The rows by channels that enclose a box of indices."""
        sizes = [axis.size for axis in self.axes]
        rows, channels = sizes[: self.split], sizes[self.split :]
        return by_rows_and_channels(
            _enclosing(needed[: self.split], rows),
            prod(rows),
            _enclosing(needed[self.split :], channels),
            prod(channels),
        )


@dataclass(frozen=True, slots=True)
class AxisCut:
    """The output's axes of ``sizes`` in the order of memory: ``row_axes`` outermost ones are rows, the
    ``channel_axes`` after them channels. ``operands`` without axes are needed as a whole."""

    sizes: tuple[int, ...]
    row_axes: int
    channel_axes: int
    operands: tuple[OperandAxes | None, ...]

    @property
    def rows(self) -> int:
        return prod(self._row_sizes)

    @property
    def channels(self) -> int:
        return prod(self._channel_sizes)

    @property
    def _row_sizes(self) -> tuple[int, ...]:
        return self.sizes[: self.row_axes]

    @property
    def _channel_sizes(self) -> tuple[int, ...]:
        return self.sizes[self.row_axes : self.row_axes + self.channel_axes]

    @property
    def row_blocks(self) -> tuple[int, ...]:
        """Rows of all indices of an axis and those inside of it, the outermost axis first: parts of fewer
        rows should not be in two of these blocks, as the box around them is much larger."""
        return _blocks(self._row_sizes)

    @property
    def channel_blocks(self) -> tuple[int, ...]:
        """The same as ``row_blocks``, for channels."""
        return _blocks(self._channel_sizes)

    def needs(self, operand: int, rows: Interval, channels: Interval) -> Share:
        """The share of input number ``operand`` that a part reads."""
        axes = self.operands[operand]
        return WHOLE if axes is None else axes.share(self.box(rows, channels))

    def read_share(self, operand: int) -> Fraction:
        """The least share of an operand that all parts read: of axes that are moved some may be skipped."""
        axes = self.operands[operand]
        found = Fraction(1)
        for axis in axes.axes if axes else ():
            reach = axis.reach
            skips = reach.step != reach.scale + reach.more
            if axis.follows is not None and (skips or not axis.apart):
                needed = reach.needed_by_any(self.sizes[axis.follows], axis.size, axis.apart)
                found *= Fraction(needed, axis.size)
        return found

    def most_needed(self, operand: int) -> Share:
        """A share of an operand that is as large as what any single row by single channel needs, at least."""
        axes, of_parts = self.operands[operand], self.row_axes + self.channel_axes
        if axes is None:
            return WHOLE
        all_inside = [Interval(0, 1)] * of_parts + [Interval(0, size) for size in self.sizes[of_parts:]]
        most = [
            axis.reach.more + 1
            if axis.follows is not None and axis.follows < of_parts
            else len(axis.needed(all_inside))
            for axis in axes.axes
        ]
        return axes.enclosing([Interval(0, min(m, a.size)) for m, a in zip(most, axes.axes, strict=True)])

    def beginnings(self) -> tuple[list[int], list[int]]:
        """Rows and channels at which operands that lie apart begin."""
        rows, channels = [0], [0]
        for axis in (axis for axes in self.operands if axes for axis in axes.axes):
            if axis.apart and axis.follows is not None and axis.follows < self.row_axes:
                rows.append(-axis.reach.offset * self.row_blocks[axis.follows + 1])
            elif axis.apart and axis.follows is not None and axis.follows < self.row_axes + self.channel_axes:
                channels.append(-axis.reach.offset * self.channel_blocks[axis.follows - self.row_axes + 1])
        return rows, channels

    def box(self, rows: Interval, channels: Interval) -> tuple[Interval, ...]:
        """The indices of each axis of the output that a part has, or a few more where it is no box."""
        inside = (Interval(0, size) for size in self.sizes[self.row_axes + self.channel_axes :])
        return (*_box(rows, self._row_sizes), *_box(channels, self._channel_sizes), *inside)


def _blocks(sizes: Sequence[int]) -> tuple[int, ...]:
    inner = accumulate(reversed(sizes), lambda product, size: product * size, initial=1)
    return tuple(reversed(tuple(inner)))


def _box(numbers: Interval, sizes: Sequence[int]) -> list[Interval]:
    """The least box of indices, of axes of ``sizes``, around consecutive ``numbers`` of elements."""
    found: list[Interval] = []
    first, last = numbers.start, numbers.stop - 1
    for inner in _blocks(sizes)[1:]:
        if first // inner != last // inner or not len(numbers):
            found.append(Interval(first // inner, last // inner + 1))
            return found + [Interval(0, size) for size in sizes[len(found) :]]
        found.append(Interval(first // inner, first // inner + 1))
        first, last = first % inner, last % inner
    return found


def _enclosing(box: Sequence[Interval], sizes: Sequence[int]) -> Interval:
    """The consecutive numbers of elements from the first of a box to its last."""
    first = last = 0
    for each, size in zip(box, sizes, strict=True):
        first, last = first * size + each.start, last * size + each.stop - 1
    return Interval(first, last + 1)
