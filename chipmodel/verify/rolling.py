"""What a rolling buffer holds: bytes of a tensor, of which ``x`` lies at ``first + x`` modulo its own size.

Several tensors may share such a buffer, each from a ``first`` place of its own on: what is written of one of
them replaces bytes of the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from chipmodel.geometry.interval import Interval, merged
from chipmodel.geometry.layout import spans
from chipmodel.geometry.share import WHOLE, Share, by_rows
from chipmodel.model.commands import DmaStart, Located
from chipmodel.records import dataclass

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
    first: int = 0

    def __contains__(self, share: Share) -> bool:
        if _columns(share) != self.columns:
            return False
        return all(
            any(held.start <= wanted.start and wanted.stop <= held.stop for held in self.held)
            for wanted in pieces(share, self.total)
        )

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
        """The contents once ``share`` is written: gone are its bytes, and what was of other columns."""
        written = pieces(share, self.total)
        kept = self.held if _columns(share) == self.columns else ()
        for piece in written:
            kept = tuple(left for old in kept for left in _without(old, piece, self.ring))
        if sum(map(len, written)) <= self.ring:
            kept += written
        return replace(self, held=merged(kept), columns=_columns(share))

    def without(self, place: Located, total: int) -> RollingRows:
        """The contents after another tensor of ``total`` bytes is written at ``place`` of the same buffer."""
        kept = self.held
        for piece in pieces(place.part.share, total):
            lost = Interval(piece.start + place.first - self.first, piece.stop + place.first - self.first)
            kept = tuple(left for old in kept for left in _without(old, lost, self.ring))
        return replace(self, held=kept)


def pieces(share: Share, total: int) -> tuple[Interval, ...]:
    """The bytes of ``share`` in a tensor of ``total`` bytes; those of some columns as in ``share_bytes``."""
    if share.banded or len(share.channels) == share.of_channels:
        whole = share_bytes(share, total)
        return (whole,) if len(whole) else ()
    return tuple(span for span in spans(share, total) if len(span))


def clash(a: Located, of_a: int, b: Located, of_b: int) -> bool:
    """Whether parts of two tensors, of ``of_a`` and ``of_b`` bytes, share bytes of one rolling buffer."""
    held = RollingRows(of_a, a.bytes, pieces(a.part.share, of_a), first=a.first)
    return held.without(b, of_b) != held


def turn_faults(place: Located, total: int, rows: int, turns: bool, made: bool) -> Iterator[str]:
    """What is wrong with the place of a tensor of ``total`` bytes and so many ``rows`` in a rolling buffer:
    with room for all of it where a step ``made`` it; ``turns`` where the NPU can go on at its start after a
    row."""
    what = f"{place.part.name!r} in a rolling buffer of {place.bytes} bytes"
    end = place.bytes - place.first
    if place.part.weights or (made and total > place.bytes) or not 0 <= place.first < place.bytes:
        yield f"{what} from {place.first} on, which has no room for its {total}"
    elif total > end and (not turns or not rows or total % rows or _is_in_row(place, total, total // rows)):
        yield f"{what}, whose end after {end} bytes lies within a row, or which the NPU cannot address"


def _is_in_row(place: Located, total: int, row: int) -> bool:
    """Whether the end of a rolling buffer lies within a row of ``row`` bytes, the first time or later."""
    later = place.bytes % row if total > place.bytes else 0
    return bool(later or (place.bytes - place.first) % row)


def load_faults(start: DmaStart, total: int) -> Iterator[str]:
    """What is wrong with a transfer of rows of a tensor of ``total`` bytes in a rolling buffer: these are
    loaded, and consecutive there."""
    at = start.at
    expected = touched_in_ring(at.part.share, total, at.bytes, at.first)
    if at.part.weights or start.direction == "store":
        yield f"transfer {start.name!r} moves rows of a rolling buffer"
    elif at.touched != expected or len(expected) != start.bytes:
        what = f"transfer {start.name!r} of {start.bytes} bytes fills bytes {at.touched} of a rolling buffer"
        yield f"{what}, expected {expected}"


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


def touched_in_ring(share: Share, total: int, ring: int, first: int = 0) -> Interval:
    """The bytes of a rolling buffer that a step moves: all of it where the rows pass its end, and, of some
    channels of rows, as many from where the rows begin."""
    rows = share_bytes(share, total)
    some = not share.banded and len(share.channels) < share.of_channels
    size = min(share.bytes(total), total - rows.start) if some else len(rows)
    start = (first + rows.start) % ring if ring else 0
    return Interval(start, start + size) if start + size <= ring else Interval(0, ring)


def _without(old: Interval, written: Interval, ring: int) -> Iterable[Interval]:
    """The pieces of ``old`` that share no byte modulo ``ring`` with ``written``."""
    if not len(written):
        return (old,)
    if len(written) >= ring:
        return ()
    return _left(old, written, ring)


def _left(old: Interval, written: Interval, ring: int) -> Iterator[Interval]:
    at = old.start
    turn = (old.start - written.stop) // ring
    while at < old.stop:
        start, stop = written.start + turn * ring, written.stop + turn * ring
        if start > at:
            yield Interval(at, min(start, old.stop))
        at = max(at, stop)
        turn += 1
