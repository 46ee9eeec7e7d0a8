"""What a rolling buffer holds: bytes of a tensor, of which ``x`` lies at ``first + x`` modulo its own size.

Several tensors may share such a buffer, each from a ``first`` place of its own on: what is written of one of
them replaces bytes of the others.
"""

from __future__ import annotations

from collections.abc import Iterator

from chipmodel.geometry.interval import Interval
from chipmodel.geometry.share import Share, by_rows
from chipmodel.model.commands import DmaStart, Located


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
