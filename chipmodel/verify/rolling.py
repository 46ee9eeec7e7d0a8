"""What a rolling buffer holds: which bytes of a tensor, where byte ``x`` lies at ``x`` modulo its size."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from chipmodel.model.interval import Interval, merged
from chipmodel.model.work import WHOLE, Share


@dataclass(frozen=True, slots=True)
class RollingRows:
    """The bytes ``held`` of a tensor of ``total`` bytes, in a rolling buffer of ``ring`` bytes."""

    total: int
    ring: int
    held: tuple[Interval, ...] = ()

    def __contains__(self, share: Share) -> bool:
        wanted = share_bytes(share, self.total)
        if len(share.channels) < share.of_channels:
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
        """The contents after ``share`` is written: it replaces what lay in its bytes of the buffer."""
        written = share_bytes(share, self.total)
        kept = [piece for old in self.held for piece in _without(old, written, self.ring)]
        if len(share.channels) == share.of_channels and len(written) <= self.ring:
            kept.append(written)
        return replace(self, held=merged(kept))


def share_bytes(share: Share, total: int) -> Interval:
    """The bytes of the rows of ``share`` in a tensor of ``total`` bytes, to whole bytes outwards."""
    start = total * share.rows.start // share.of_rows
    return Interval(start, -(-total * share.rows.stop // share.of_rows))


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
