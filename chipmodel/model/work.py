"""The work of one op in the numbers that a cycle model needs, and how it can be cut.

Every kind of work can be cut into *parts*: a range of output rows by a range of output channels.
``needs`` is the share of an operand that a part reads, halo rows included, so that an op that is larger than
SharedMemory can run in stripes. A row is the outermost unit of the kind: an output row of an image for
convolution and pooling, a row of the left matrix for matmul, a time step for recurrent work.

Shares are of bytes, in the order that ``chipmodel.model.layout`` describes: what a part reads and writes in
them is all that it needs and makes. Work that is ``solid`` cannot be cut: it has one row and one channel.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from chipmodel.model.attributes import AlongAxis, Attributes
from chipmodel.model.interval import Interval, hull


@dataclass(frozen=True, slots=True)
class Share:
    """``rows`` out of ``of_rows`` equal rows, ``channels`` out of ``of_channels`` and ``columns`` out of
    ``of_columns`` of a tensor. A share of some columns has all channels, and counts them one by one."""

    rows: Interval = Interval(0, 1)
    of_rows: int = 1
    channels: Interval = Interval(0, 1)
    of_channels: int = 1
    columns: Interval = Interval(0, 1)
    of_columns: int = 1

    @property
    def whole(self) -> bool:
        return len(self.rows) == self.of_rows and len(self.channels) == self.of_channels and not self.banded

    @property
    def banded(self) -> bool:
        """Whether it has only some of the columns."""
        return len(self.columns) < self.of_columns

    @property
    def runs(self) -> int:
        """Runs of consecutive bytes that it consists of, in a tensor that lies row after row, in each row its
        channels: one for each row where only some of the channels belong to it, one for each channel of each
        row where only some of the columns do, else one."""
        if self.banded:
            return max(1, len(self.rows) * len(self.channels))
        return 1 if len(self.channels) == self.of_channels else max(1, len(self.rows))

    def bytes(self, total: int) -> int:
        """Bytes of this share of a tensor of ``total`` bytes, rounded up."""
        units = self.of_rows * self.of_channels * self.of_columns
        return -(-total * len(self.rows) * len(self.channels) * len(self.columns) // units)

    def band_bytes(self, total: int) -> int:
        """Bytes of all rows of its columns of a tensor of ``total`` bytes."""
        return total * len(self.columns) // self.of_columns

    def in_columns(self, of_channels: int, columns: Interval, of_columns: int) -> Share:
        """The rows of this share in ``columns`` alone."""
        if len(columns) == of_columns:
            return by_rows(self.rows, self.of_rows)
        return Share(self.rows, self.of_rows, Interval(0, of_channels), of_channels, columns, of_columns)


WHOLE = Share()


def by_rows(rows: Interval, of_rows: int) -> Share:
    """The share of a tensor that is cut in ``of_rows`` rows and not in channels."""
    return WHOLE if len(rows) == of_rows else Share(rows, of_rows)


def by_channels(channels: Interval, of_channels: int) -> Share:
    """The share of a tensor that is cut in channels and not in rows."""
    return WHOLE if len(channels) == of_channels else Share(Interval(0, 1), 1, channels, of_channels)


def by_rows_and_channels(rows: Interval, of_rows: int, channels: Interval, of_channels: int) -> Share:
    """The share of a tensor that is cut in ``of_rows`` rows and in ``of_channels`` channels."""
    whole = len(rows) == of_rows and len(channels) == of_channels
    return WHOLE if whole else Share(rows, of_rows, channels, of_channels)


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
        """Input rows that the output rows ``out_rows`` of one image read, with the halo but without
        padding."""
        reach = self.dilation_h * (self.kernel_h - 1)
        if self.transposed:
            # Output row y is fed by input rows i with i * stride - pad_top + tap * dilation == y.
            first = -(-(out_rows.start + self.pad_top - reach) // self.stride_h)
            last = (out_rows.stop - 1 + self.pad_top) // self.stride_h
        else:
            first = out_rows.start * self.stride_h - self.pad_top
            last = (out_rows.stop - 1) * self.stride_h - self.pad_top + reach
        start = min(max(first, 0), self.in_h - 1)
        return Interval(start, min(max(last + 1, start + 1), self.in_h))

    def image_rows(self, rows: Interval) -> Interval:
        """As ``input_rows``, over a batch whose images lie one after another: a contiguous range of rows."""
        if rows.stop <= self.out_h:
            return self.input_rows(rows)
        first, first_row = divmod(rows.start, self.out_h)
        last, last_row = divmod(rows.stop - 1, self.out_h)
        start = self.input_rows(Interval(first_row, self.out_h if last > first else last_row + 1)).start
        stop = self.input_rows(Interval(0 if last > first else first_row, last_row + 1)).stop
        return Interval(first * self.in_h + start, last * self.in_h + stop)


@dataclass(frozen=True, slots=True)
class Conv:
    """A convolution: plain, grouped, depthwise (``groups == in_c``) or transposed."""

    window: Window
    in_c: int
    out_c: int
    groups: int = 1
    batch: int = 1
    solid: bool = False

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
        if operand == 0:
            return by_rows(self.window.image_rows(rows), self.batch * self.window.in_h)
        return output_share(self, rows, channels)

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

    @property
    def macs(self) -> int:
        return 0

    @property
    def rows(self) -> int:
        return 1 if self.solid else self.batch * self.window.out_h

    @property
    def channels(self) -> int:
        return 1 if self.solid else self.channels_

    def needs(self, operand: int, rows: Interval, channels: Interval) -> Share:
        if self.solid:
            return WHOLE
        in_rows = self.window.image_rows(rows)
        return by_rows_and_channels(in_rows, self.batch * self.window.in_h, channels, self.channels)

    def part(self, rows: int, channels: int) -> Pool:
        if self.solid:
            return self
        if rows == self.rows:
            return replace(self, channels_=channels)
        return Pool(replace(self.window, out_h=rows), channels)


@dataclass(frozen=True, slots=True)
class Matmul:
    """``batch`` products of (rows x inner) by (inner x cols); the right matrix is weights or an
    activation."""

    rows_: int
    inner: int
    cols: int
    batch: int = 1
    shared_right: bool = True
    """Whether the whole batch uses one right matrix (always so for weights)."""
    right_transposed: bool = False
    """Whether the right operand, an activation, lies in memory as (cols x inner)."""
    solid: bool = False

    @property
    def macs(self) -> int:
        return self.batch * self.rows_ * self.inner * self.cols

    @property
    def rows(self) -> int:
        return 1 if self.solid else self.batch * self.rows_

    @property
    def channels(self) -> int:
        if self.solid:
            return 1
        return self.cols if self.shared_right or self.batch == 1 else 1

    def needs(self, operand: int, rows: Interval, channels: Interval) -> Share:
        if self.solid:
            return WHOLE
        if operand == 0:
            return by_rows(rows, self.rows)
        if operand > 1:
            return output_share(self, rows, channels)
        if self.channels > 1 and self.right_transposed:
            return by_channels(channels, self.channels)
        if self.channels > 1:
            return by_rows_and_channels(Interval(0, self.inner), self.inner, channels, self.channels)
        if self.shared_right or self.batch == 1:
            return WHOLE
        return by_rows(Interval(rows.start // self.rows_, -(-rows.stop // self.rows_)), self.batch)

    def part(self, rows: int, channels: int) -> Matmul:
        if self.solid:
            return self
        cols = channels if self.channels > 1 else self.cols
        if rows == self.rows:
            return replace(self, cols=cols)
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
        return by_rows(rows, self.rows) if operand == 0 else WHOLE

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

    def input_rows(self, rows: Interval) -> Interval:
        """Of one image; at least one row, as every part reads something."""
        first = (rows.start * self.step + self.offset) // self.scale
        last = ((rows.stop - 1) * self.step + self.offset) // self.scale + self.more
        start = min(max(first, 0), self.in_rows - 1)
        return Interval(start, min(max(last + 1, start + 1), self.in_rows))

    def image_rows(self, rows: Interval) -> Interval:
        """Of all images: a contiguous range of rows."""
        first, first_row = divmod(rows.start, self.out_rows)
        last, last_row = divmod(rows.stop - 1, self.out_rows)
        start = self.input_rows(Interval(first_row, self.out_rows if last > first else last_row + 1)).start
        stop = self.input_rows(Interval(0 if last > first else first_row, last_row + 1)).stop
        return Interval(first * self.in_rows + start, last * self.in_rows + stop)


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

    @property
    def macs(self) -> int:
        return 0

    @property
    def channels(self) -> int:
        return 1

    def needs(self, operand: int, rows: Interval, channels: Interval) -> Share:
        if operand in self.broadcast:
            return WHOLE
        if self.reach is None:
            return by_rows(rows, self.rows)
        return by_rows(self.reach.image_rows(rows), self.reach.images * self.reach.in_rows)

    @property
    def lines(self) -> int:
        """Of work along one axis, how often it is done."""
        along = self.attributes
        return self.elements // along.size if isinstance(along, AlongAxis) and along.size else self.rows

    def part(self, rows: int, channels: int) -> Vector:
        def share(total: int) -> int:
            return -(-total * rows // self.rows)

        sizes = share(self.elements), share(self.in_bytes), share(self.out_bytes)
        return Vector(*sizes, rows, attributes=self.attributes)


@dataclass(frozen=True, slots=True)
class Band:
    """Some of the columns of an op's output, which has ``of`` columns."""

    columns: Interval
    of: int


@dataclass(frozen=True, slots=True)
class CascadeStep:
    """Output ``rows`` of op number ``op`` of a cascade, in the rows of that op's own work, in all columns or
    those of a ``band``."""

    op: int
    rows: Interval
    band: Band | None = None

    @property
    def columns(self) -> Interval | None:
        """The columns of the op's output that it computes; None for all."""
        return None if self.band is None else self.band.columns


@dataclass(frozen=True, slots=True)
class ColumnsInTurn:
    """The columns of a tensor that each group of a cascade's steps reads or makes."""

    of_channels: int
    of_columns: int
    of_group: tuple[Interval, ...]


@dataclass(frozen=True, slots=True)
class RowsInTurn:
    """The rows of a tensor, of ``of_rows``, that each group of a cascade's steps reads or makes; possibly
    none. ``columns`` is None for all of them."""

    of_rows: int
    of_group: tuple[Interval, ...]
    columns: ColumnsInTurn | None = None

    def share(self, groups: Interval) -> Share:
        """All that the ``groups`` read or make: the least rows by columns around it."""
        numbers = [
            n for n in range(groups.start, min(groups.stop, len(self.of_group))) if len(self.of_group[n])
        ]
        if not numbers:
            return Share(Interval(0, 0), self.of_rows)
        rows = hull(self.of_group[n] for n in numbers)
        if self.columns is None:
            return by_rows(rows, self.of_rows)
        columns = hull(self.columns.of_group[n] for n in numbers)
        share = Share(rows, self.of_rows)
        return share.in_columns(self.columns.of_channels, columns, self.columns.of_columns)


@dataclass(frozen=True, slots=True)
class HeldRows:
    """Rows of a tensor inside a cascade: at most ``bytes`` of it are in SharedMemory at once.

    It ``rolls`` if byte ``x`` of the tensor is at ``x mod bytes``; otherwise the buffer holds the rows that
    one group of steps makes, from its first byte on.
    """

    tensor: str
    bytes: int
    rolls: bool
    columns: tuple[Interval, ...] = ()
    """The columns that are held in each band; empty where there are no bands."""

    def bytes_in(self, band: int) -> int:
        """Bytes of the rows in band number ``band``: those of the widest one are ``bytes``."""
        if not self.columns:
            return self.bytes
        return self.bytes * len(self.columns[band]) // max(map(len, self.columns))


@dataclass(frozen=True, slots=True)
class CascadeWork:
    """Several ops in stripes, one after another; a row is a group of steps up to one of the last op.

    ``reads`` and ``makes`` are by input and output of the whole cascade, ``held`` the tensors inside it.
    """

    groups: tuple[tuple[CascadeStep, ...], ...]
    reads: tuple[RowsInTurn, ...]
    makes: tuple[RowsInTurn, ...]
    held: tuple[HeldRows, ...]
    heights: tuple[int, ...]
    """By op, the most rows of its output that one step computes."""
    macs: int
    reloaded: tuple[int, ...] = ()
    """The ops whose weights do not stay: they take turns in one buffer of ``reload_bytes``, and are loaded
    again whenever another op's were there."""
    reload_bytes: int = 0
    bands: int = 1
    """Bands of columns of the last op's output, each of which has as many groups, one band after another."""

    @property
    def rows(self) -> int:
        return len(self.groups)

    def band_of(self, group: int) -> int:
        """The number of the band of group number ``group``."""
        return group * self.bands // len(self.groups)

    @property
    def channels(self) -> int:
        return 1

    @property
    def workspace(self) -> int:
        """Bytes of SharedMemory for the tensors inside, and for the weights that do not stay."""
        return sum(each.bytes for each in self.held) + self.reload_bytes

    @property
    def steps(self) -> tuple[CascadeStep, ...]:
        return tuple(step for group in self.groups for step in group)

    def needs(self, operand: int, rows: Interval, channels: Interval) -> Share:
        return self.reads[operand].share(rows)

    def part(self, rows: int, channels: int) -> CascadeWork:
        """The work of the first ``rows`` groups, for its size only."""
        return replace(self, groups=self.groups[:rows])


SingleWork = Conv | Pool | Matmul | Recurrent | Vector
"""The work of one op."""


def in_band(work: Conv | Pool | Vector, band: Band) -> Conv | Pool | Vector:
    """The work of all rows of ``band``, for its cost only."""
    if isinstance(work, Conv | Pool):
        return replace(work, window=work.window.in_band(band.columns))
    elements, in_bytes, out_bytes = (
        -(-each * len(band.columns) // band.of) for each in (work.elements, work.in_bytes, work.out_bytes)
    )
    return Vector(elements, in_bytes, out_bytes, work.rows, attributes=work.attributes)


Work = SingleWork | CascadeWork


def output_share(work: Work, rows: Interval, channels: Interval) -> Share:
    """The share of an op's output (and of a fused residual input) that a part writes (reads)."""
    if isinstance(work, Recurrent) and work.directions > 1:
        rows = Interval(0, work.steps)  # one part runs all time steps, each of which is a row of the output
        return by_rows_and_channels(rows, work.steps, channels, work.channels)
    if isinstance(work, Recurrent):
        # (steps, directions, batch, hidden): some units of all of the batch.
        rows = Interval(rows.start * work.batch, rows.stop * work.batch)
        return by_rows_and_channels(rows, work.rows * work.batch, channels, work.channels)
    return by_rows_and_channels(rows, work.rows, channels, work.channels)
