"""Which bytes of a tensor lie at which addresses of SharedMemory, as runs of consecutive ones.

``chipmodel.execute.places`` says the same byte by byte, for ``check --execute``: neither uses the other.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from chipmodel.geometry.interval import Interval
from chipmodel.geometry.layout import spans
from chipmodel.geometry.share import WHOLE, Share
from chipmodel.model.commands import Located

MAX_RUNS = 1 << 20
"""A part that lies in more runs than this is taken for one that lies nowhere."""


class PlacedRun(NamedTuple):
    """Consecutive bytes of a tensor, from its byte ``first`` on, at consecutive addresses."""

    address: int
    first: int
    bytes: int


@lru_cache(maxsize=1 << 12)
def bytes_of_share(share: Share, total: int) -> tuple[Interval, ...]:
    """The bytes of ``share`` of a tensor of ``total`` bytes."""
    lines = len(share.rows) * (len(share.channels) if share.banded else 1)
    return tuple(spans(share, total)) if lines <= MAX_RUNS else ()


@lru_cache(maxsize=1 << 12)
def placed_runs(place: Located, total: int) -> tuple[PlacedRun, ...]:
    """The runs in which a part of a tensor of ``total`` bytes lies at its place.

    The place is a line of bytes that is cut into pieces of ``length``, a piece every ``pitch`` addresses; one
    that rolls puts all of its pieces at the same addresses.
    """
    share = place.part.share
    length, pitch = (place.bytes, 0) if place.rolls else (total // place.runs, place.pitch)
    in_tensor = place.in_tensor or place.rolls or share == WHOLE
    length = max(1, length if in_tensor else total)
    runs: list[PlacedRun] = []
    before = 0
    for span in bytes_of_share(share, total):
        at = before
        if place.rolls and share.banded:
            at += place.first + share.band_bytes(total) * share.rows.start // share.of_rows
        elif in_tensor:
            at = place.first + span.start
        before += len(span)
        if len(span) // length > MAX_RUNS - len(runs):
            return ()
        shift = at - span.start
        while at < span.stop + shift:
            size = min(span.stop + shift - at, length - at % length)
            runs.append(PlacedRun(place.offset + at // length * pitch + at % length, at - shift, size))
            at += size
    return tuple(runs)
