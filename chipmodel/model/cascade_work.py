"""The work of several ops in stripes, one after another: the steps, and which rows exist between them."""

from __future__ import annotations

from dataclasses import replace

from chipmodel.geometry.interval import Interval, hull
from chipmodel.geometry.share import Share, by_rows
from chipmodel.records import dataclass


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
    again: bool = False
    """Whether the rows are made again for each step that reads some, so that none stays after it."""

    def bytes_in(self, band: int) -> int:
        """Bytes of the rows in band number ``band``: those of the widest one are ``bytes``."""
        if not self.columns:
            return self.bytes
        return self.bytes * len(self.columns[band]) // max(map(len, self.columns))


@dataclass(frozen=True, slots=True)
class CascadeWork:
    """Several ops in stripes, one after another; a row is a group of steps: up to one of the last op or, in
    bands or with rows made again, before the next one of the first op.

    ``reads`` and ``makes`` are by input and output of the whole cascade, ``held`` the tensors inside it.
    """

    groups: tuple[tuple[CascadeStep, ...], ...]
    reads: tuple[RowsInTurn, ...]
    makes: tuple[RowsInTurn, ...]
    held: tuple[HeldRows, ...]
    heights: tuple[int, ...]
    """For each op, the most rows of its output that one step computes."""
    macs: int
    reloaded: tuple[int, ...] = ()
    """The ops whose weights do not stay: they take turns in one buffer of ``reload_bytes``, and are loaded
    again whenever another op's were there."""
    reload_bytes: int = 0
    bands: int = 1
    """Bands of columns of the last op's output, each of which has as many groups, one band after another."""
    together: tuple[frozenset[str], ...] = ()
    """The sets of tensors made again that are in SharedMemory at once."""

    def __hash__(self) -> int:
        """A hash of a few fields: there may be thousands of groups, and much is cached by work."""
        return hash((len(self.groups), self.heights, self.macs, self.held, self.reloaded, self.bands))

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
    def period(self) -> int:
        """Groups up to a step of the last op, rounded up: away from an image's edges they are alike."""
        last = len(self.heights) - 1
        return -(-len(self.groups) // sum(step.op == last for step in self.steps))

    @property
    def workspace(self) -> int:
        """Bytes of SharedMemory for the tensors inside, and for the weights that do not stay."""
        again = {each.tensor: each.bytes for each in self.held if each.again}
        most = max((sum(again[name] for name in names) for names in self.together), default=0)
        return sum(each.bytes for each in self.held if not each.again) + most + self.reload_bytes

    @property
    def steps(self) -> tuple[CascadeStep, ...]:
        return tuple(step for group in self.groups for step in group)

    def needs(self, operand: int, rows: Interval, channels: Interval) -> Share:
        return self.reads[operand].share(rows)

    def part(self, rows: int, channels: int) -> CascadeWork:
        """The work of the first ``rows`` groups, for its size only."""
        return replace(self, groups=self.groups[:rows])
