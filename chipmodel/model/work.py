"""The work of one op in the numbers that a cycle model needs, and how it can be cut.

Every kind of work can be cut into *parts*: a range of output rows by a range of output channels.
``needs`` is the share of an operand that a part reads, halo rows included, so that an op that is larger than
SharedMemory can run in stripes. A row is the outermost unit of the kind: an output row of an image for
convolution and pooling, a row of the left matrix for matmul, a time step for recurrent work.

Shares are of bytes, in the order that ``chipmodel.geometry.layout`` describes: what a part reads and writes
in them is all that it needs and makes. Work that is ``solid`` cannot be cut: it has one row and one channel.
"""

from __future__ import annotations

from dataclasses import replace

from chipmodel.geometry.axis_cut import AxisCut
from chipmodel.geometry.interval import Interval
from chipmodel.geometry.share import WHOLE, Share, by_channels, by_rows, by_rows_and_channels
from chipmodel.geometry.window import MovedRows, Window
from chipmodel.model.attributes import AlongAxis, Attributes
from chipmodel.model.cascade_work import CascadeWork
from chipmodel.records import dataclass


@dataclass(frozen=True, slots=True)
class SummedPiece:
    """``count`` elements or channels, from ``first`` on, of the ``of`` that make a whole sum."""

    first: int
    count: int
    of: int

    def share(self, rows: Interval, of_rows: int) -> Share:
        """The share of a tensor with these elements in ``rows``."""
        return by_rows_and_channels(rows, of_rows, Interval(self.first, self.first + self.count), self.of)


@dataclass(frozen=True, slots=True)
class Conv:
    """A convolution: plain, grouped, depthwise (``groups == in_c``) or transposed."""

    window: Window
    in_c: int
    out_c: int
    groups: int = 1
    batch: int = 1
    solid: bool = False
    summed: SummedPiece | None = None
    """The input channels that it sums over, where they are a piece of the input's: a partial sum."""

    @property
    def macs(self) -> int:
        w = self.window
        positions = w.in_h * w.in_w if w.transposed else w.out_h * w.out_w
        return self.batch * positions * self.out_c * (self.in_c // self.groups) * w.kernel_h * w.kernel_w

    @property
    def rows(self) -> int:
        return 1 if self.solid else self.batch * self.window.out_h

    @property
    def channels(self) -> int:
        return 1 if self.solid else self.out_c

    @property
    def depthwise(self) -> bool:
        return self.groups > 1 and self.groups == self.in_c

    def needs(self, operand: int, rows: Interval, channels: Interval) -> Share:
        if self.solid:
            return WHOLE
        if operand == 0 and self.summed:
            return self.summed.share(self.window.image_rows(rows), self.batch * self.window.in_h)
        if operand == 0:
            return by_rows(self.window.image_rows(rows), self.batch * self.window.in_h)
        return by_rows_and_channels(rows, self.rows, channels, self.channels)

    def part(self, rows: int, channels: int) -> Conv:
        """The work of ``rows`` output rows by ``channels`` output channels, for its cost only."""
        if self.solid:
            return self
        groups = self.groups
        in_c = self.in_c
        if self.depthwise:
            groups = in_c = max(1, -(-channels * self.groups // self.out_c))
        elif groups > 1:
            per_group = self.out_c // self.groups
            groups = max(1, -(-channels // per_group))
            in_c = self.in_c // self.groups * groups
            channels = min(channels, per_group) * groups
        window = self.window
        if rows != self.rows:
            in_rows = -(-rows * window.in_h // window.out_h) if window.transposed else window.in_h
            window = replace(window, out_h=rows, in_h=in_rows)
            return Conv(window, in_c, channels, groups, 1)
        return replace(self, in_c=in_c, out_c=channels, groups=groups)


@dataclass(frozen=True, slots=True)
class Pool:
    """Max or average pooling; ``window`` covers the whole image for global pooling."""

    window: Window
    channels_: int
    batch: int = 1
    solid: bool = False
    by_rows: bool = False
    """Whether a row of the work is one of the image, not of the output, which is a single element of each
    channel: parts add up (``Op.accumulator``)."""

    @property
    def macs(self) -> int:
        return 0

    @property
    def rows(self) -> int:
        if self.by_rows:
            return self.window.in_h
        return 1 if self.solid else self.batch * self.window.out_h

    @property
    def of_whole_image(self) -> bool:
        """Whether it pools all of one image."""
        w = self.window
        whole = (w.kernel_h, w.kernel_w) == (w.in_h, w.in_w) and not any((w.pad_top, w.pad_left))
        return whole and (w.out_h, w.out_w, self.batch) == (1, 1, 1) and not self.solid

    @property
    def takes_rows(self) -> bool:
        """Whether it pools all of one image, which has several rows, and so may take them one by one."""
        return self.of_whole_image and self.window.in_h > 1

    @property
    def channels(self) -> int:
        return 1 if self.solid else self.channels_

    def needs(self, operand: int, rows: Interval, channels: Interval) -> Share:
        if self.solid:
            return WHOLE
        in_rows = rows if self.by_rows else self.window.image_rows(rows)
        return by_rows_and_channels(in_rows, self.batch * self.window.in_h, channels, self.channels)

    def part(self, rows: int, channels: int) -> Pool:
        if self.solid:
            return self
        if rows == self.rows:
            return replace(self, channels_=channels)
        if self.by_rows:
            return Pool(replace(self.window, in_h=rows, kernel_h=rows), channels)
        return Pool(replace(self.window, out_h=rows), channels)


@dataclass(frozen=True, slots=True)
class Matmul:
    """``batch`` products of (rows x inner) by (inner x cols); on the right weights or an activation."""

    rows_: int
    inner: int
    cols: int
    batch: int = 1
    shared_right: bool = True
    """Whether the whole batch uses one right matrix (always so for weights)."""
    right_transposed: bool = False
    """Whether the right operand, an activation, lies in memory as (cols x inner)."""
    solid: bool = False
    summed: SummedPiece | None = None
    """The elements of a row that it sums over, where they are a piece of the row: a partial sum."""
    by_columns: bool = False
    """Whether parts have some of the columns, although every product has a right matrix of its own."""
    pieces: int = 1
    """Equal pieces of the only left row that are added up, each a row of the work (``Op.accumulator``)."""

    @property
    def macs(self) -> int:
        return self.batch * self.rows_ * self.inner * self.cols

    @property
    def rows(self) -> int:
        return 1 if self.solid else self.batch * self.rows_ * self.pieces

    @property
    def channels(self) -> int:
        if self.solid:
            return 1
        return self.cols if self.shared_right or self.batch == 1 or self.by_columns else 1

    def needs(self, operand: int, rows: Interval, channels: Interval) -> Share:
        if self.solid:
            return WHOLE
        if operand == 0 and self.summed:
            return self.summed.share(rows, self.rows)
        if operand == 0:
            return by_rows(rows, self.rows)
        if operand > 1:
            return by_rows_and_channels(rows, self.rows, channels, self.channels)
        if self.by_columns:
            return self._own_columns(rows, channels)
        if self.channels > 1 and self.right_transposed:
            return by_channels(channels, self.channels)
        if self.channels > 1:
            return by_rows_and_channels(Interval(0, self.inner), self.inner, channels, self.channels)
        if self.shared_right or self.batch == 1:
            return WHOLE
        return by_rows(Interval(rows.start // self.rows_, -(-rows.stop // self.rows_)), self.batch)

    def _own_columns(self, rows: Interval, channels: Interval) -> Share:
        """Some columns of right matrices of products with ``rows``; of transposed ones from the first on."""
        first, stop = rows.start // self.rows_, -(-rows.stop // self.rows_)
        if self.right_transposed:
            lines = Interval(first * self.cols + channels.start, (stop - 1) * self.cols + channels.stop)
            return by_rows(lines, self.batch * self.cols)
        lines = Interval(first * self.inner, stop * self.inner)
        return by_rows_and_channels(lines, self.batch * self.inner, channels, self.cols)

    def part(self, rows: int, channels: int) -> Matmul:
        if self.solid:
            return self
        cols = channels if self.channels > 1 else self.cols
        if rows == self.rows:
            return replace(self, cols=cols)
        if self.pieces > 1:
            return Matmul(1, -(-self.inner * rows // self.pieces), cols)
        return Matmul(rows, self.inner, cols)


@dataclass(frozen=True, slots=True)
class Recurrent:
    """``steps`` steps of an RNN (1 gate), GRU (3) or LSTM (4); a step needs all of the weights.

    The NPU keeps the hidden state between the parts of one run, so a part reads only its own time steps. Two
    directions are two channels: each has its own weights, and needs the whole sequence.
    """

    steps: int
    inputs: int
    hidden: int
    gates: int
    directions: int = 1
    batch: int = 1
    solid: bool = False
    backward: bool = False
    """Whether a single direction runs from the last time step to the first: row 0 is the last step."""

    @property
    def macs(self) -> int:
        per_step = self.gates * self.hidden * (self.inputs + self.hidden)
        return self.batch * self.steps * self.directions * per_step

    @property
    def rows(self) -> int:
        # The backward direction starts at the last time step, so it needs the whole sequence.
        return self.steps if self.directions == 1 and not self.solid else 1

    @property
    def channels(self) -> int:
        if self.solid:
            return 1
        return self.hidden if self.directions == 1 else self.directions

    def needs(self, operand: int, rows: Interval, channels: Interval) -> Share:
        return by_rows(self.time_steps(rows), self.rows) if operand == 0 else WHOLE

    def time_steps(self, rows: Interval) -> Interval:
        """The time steps that ``rows`` are."""
        return Interval(self.rows - rows.stop, self.rows - rows.start) if self.backward else rows

    def part(self, rows: int, channels: int) -> Recurrent:
        if self.solid:
            return self
        if self.directions > 1:
            return replace(self, directions=channels)
        if channels == self.channels:
            return replace(self, steps=rows)
        # A slice of the hidden units still reads the whole input and the whole hidden state: its
        # MACs are that share of the step's, written as one direction with fewer gate rows.
        rows_of_gates = self.gates * channels
        return Recurrent(rows, self.inputs + self.hidden - 1, 1, rows_of_gates, 1, self.batch)


@dataclass(frozen=True, slots=True)
class Vector:
    """Element-wise, normalising, reducing and data-moving work: its bytes through the NPU's ports.

    ``broadcast`` lists operands that every part reads completely, such as a scale per channel.
    """

    elements: int
    in_bytes: int
    out_bytes: int
    rows: int = 1
    broadcast: tuple[int, ...] = ()
    attributes: Attributes | None = None
    """What the op does, where its kind alone does not say it."""
    reach: MovedRows | None = None
    """Which rows of its other operands an output row needs; None for those at the same place."""
    cut: AxisCut | None = None
    """Along which axes it is cut, where rows alone are too large; it then says what parts need."""

    @property
    def macs(self) -> int:
        return 0

    @property
    def channels(self) -> int:
        return self.cut.channels if self.cut else 1

    def needs(self, operand: int, rows: Interval, channels: Interval) -> Share:
        if self.cut:
            return self.cut.needs(operand, rows, channels)
        if operand in self.broadcast:
            return WHOLE
        if self.reach is None:
            return by_rows(rows, self.rows)
        return by_rows(self.reach.image_rows(rows), self.reach.images * self.reach.in_rows)

    @property
    def lines(self) -> int:
        """How often work along one axis is done; a part may have less than a line."""
        along = self.attributes
        return -(-self.elements // along.size) if isinstance(along, AlongAxis) and along.size else self.rows

    def part(self, rows: int, channels: int) -> Vector:
        def share(total: int) -> int:
            return -(-total * rows * channels // (self.rows * self.channels))

        sizes = share(self.elements), share(self.in_bytes), share(self.out_bytes)
        return Vector(*sizes, rows, self.broadcast, self.attributes)


SingleWork = Conv | Pool | Matmul | Recurrent | Vector
"""The work of one op."""


Work = SingleWork | CascadeWork


def output_share(work: Work, rows: Interval, channels: Interval) -> Share:
    """The share of an op's output (and of a fused residual input) that a part writes (reads)."""
    if isinstance(work, Recurrent) and work.directions > 1:
        rows = Interval(0, work.steps)  # one part runs all time steps, each of which is a row of the output
        return by_rows_and_channels(rows, work.steps, channels, work.channels)
    if isinstance(work, Recurrent):
        # (steps, directions, batch, hidden): some units of all of the batch.
        rows = work.time_steps(rows)
        rows = Interval(rows.start * work.batch, rows.stop * work.batch)
        return by_rows_and_channels(rows, work.rows * work.batch, channels, work.channels)
    return by_rows_and_channels(rows, work.rows, channels, work.channels)
