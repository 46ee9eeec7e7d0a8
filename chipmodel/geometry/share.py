"""Shares of a tensor: ranges of its rows, channels and columns.

They are of bytes, in the order that ``chipmodel.geometry.layout`` describes.
"""

from __future__ import annotations

from chipmodel.geometry.interval import Interval
from chipmodel.records import dataclass


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
        return self.columns.stop - self.columns.start < self.of_columns

    @property
    def runs(self) -> int:
        """Runs of consecutive bytes that it consists of, in a tensor that lies row after row, in each row its
        channels: one for each row where only some of the channels belong to it, one for each channel of each
        row where only some of the columns do, else one."""
        if self.banded:
            return max(1, len(self.rows) * len(self.channels))
        return 1 if len(self.channels) == self.of_channels else max(1, len(self.rows))

    def overlaps(self, other: Share) -> bool:
        """Whether some rows are in both, whatever their channels and columns.

        >>> by_rows(Interval(0, 2), 8).overlaps(by_rows(Interval(1, 3), 4))
        False
        """
        before = self.rows.stop * other.of_rows <= other.rows.start * self.of_rows
        return not before and self.rows.start * other.of_rows < other.rows.stop * self.of_rows

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
