"""What a rolling buffer holds: which bytes of a tensor, where byte ``x`` lies at ``x`` modulo its size."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from chipmodel.geometry.interval import Interval, merged
from chipmodel.geometry.share import WHOLE, Share, by_rows

ALL_COLUMNS = (Interval(0, 1), 1)
"""Columns and their number, of a share of rows alone."""


@dataclass(frozen=True, slots=True)
class RollingRows:
    """The bytes ``held`` of a tensor of ``total`` bytes, in a rolling buffer of ``ring`` bytes.

    Where the buffer has only some ``columns`` of the tensor, bytes are counted in what is left of it.
    """

    total: int
    ring: int
    held: tuple[Interval, ...] = ()
    columns: tuple[Interval, int] = ALL_COLUMNS

    def __contains__(self, share: Share) -> bool:
        wanted = share_bytes(share, self.total)
        if len(share.channels) < share.of_channels or _columns(share) != self.columns:
            return False
        return not len(wanted) or any(h.start <= wanted.start and wanted.stop <= h.stop for h in self.held)

    def holds(self, share: Share) -> bool:
        """Whether all of ``share`` is there."""
        return share in self

    @property
    def complete(self) -> bool:
        return WHOLE in self

    @property
    def shares(self) -> frozenset[Share]:
        """No part of the tensor is known to be elsewhere."""
        return frozenset({WHOLE})

    def add(self, share: Share) -> RollingRows:
        """The contents after ``share`` is written: it replaces what lay in its bytes of the buffer, and all
        that was there of other columns."""
        written = share_bytes(share, self.total)
        before = self.held if _columns(share) == self.columns else ()
        kept = [piece for old in before for piece in _without(old, written, self.ring)]
        if len(share.channels) == share.of_channels and len(written) <= self.ring:
            kept.append(written)
        return replace(self, held=merged(kept), columns=_columns(share))


def _columns(share: Share) -> tuple[Interval, int]:
    return (share.columns, share.of_columns) if share.banded else ALL_COLUMNS


def share_bytes(share: Share, total: int) -> Interval:
    """The bytes of the rows of ``share`` in a tensor of ``total`` bytes, of which there are only the columns
    of ``share``, to whole bytes outwards."""
    total = share.band_bytes(total)
    start = total * share.rows.start // share.of_rows
    return Interval(start, -(-total * share.rows.stop // share.of_rows))


def rows_in_columns(share: Share, held: Share) -> Share:
    """The rows of ``share`` in all the columns of ``held``, if those of ``share`` are among them."""
    if share.banded == held.banded and share.columns == held.columns:
        return share
    if not held.banded:
        return by_rows(share.rows, share.of_rows)
    inside = held.columns.start <= share.columns.start and share.columns.stop <= held.columns.stop
    fits = share.banded and share.of_columns == held.of_columns and inside
    return share.in_columns(held.of_channels, held.columns, held.of_columns) if fits else share


def touched_in_ring(share: Share, total: int, ring: int) -> Interval:
    """The bytes of a rolling buffer that a step moves: all of it where the rows pass its end."""
    rows = share_bytes(share, total)
    start = rows.start % ring if ring else 0
    return Interval(start, start + len(rows)) if start + len(rows) <= ring else Interval(0, ring)


def _without(old: Interval, written: Interval, ring: int) -> Iterable[Interval]:
    """The pieces of ``old`` that share no byte modulo ``ring`` with ``written``."""
    if not len(written):
        return (old,)
    if len(written) >= ring:
        return ()
    return _pieces(old, written, ring)


def _pieces(old: Interval, written: Interval, ring: int) -> Iterator[Interval]:
    at = old.start
    turn = (old.start - written.stop) // ring
    while at < old.stop:
        start, stop = written.start + turn * ring, written.stop + turn * ring
        if start > at:
            yield Interval(at, min(start, old.stop))
        at = max(at, stop)
        turn += 1
