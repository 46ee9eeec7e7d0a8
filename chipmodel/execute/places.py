"""Which bytes of a tensor lie at which addresses of SharedMemory."""

from __future__ import annotations

from functools import lru_cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from chipmodel.geometry.layout import spans
from chipmodel.geometry.share import WHOLE, Share
from chipmodel.model.commands import Located

Numbers: TypeAlias = NDArray[np.int64]
"""Numbers of bytes in a tensor, or addresses."""


@lru_cache(maxsize=16)
def numbers(share: Share, total: int) -> Numbers:
    """The bytes of ``share`` of a tensor of ``total`` bytes, in ascending order."""
    pieces = [np.arange(span.start, span.stop, dtype=np.int64) for span in spans(share, total)]
    result = np.concatenate([*pieces, np.zeros(0, np.int64)])
    result.flags.writeable = False
    return result


def part_addresses(place: Located, total: int, iteration: int) -> Numbers:
    """The address of each byte of the part at ``place``, in the order of the tensor of ``total`` bytes."""
    own = numbers(place.part.share, total)
    if place.rolls:
        turned = place.first + own - _before_band(place.part.share, total, own)
        return place.offset + turned % max(1, place.bytes)
    if not lies_in_tensor(place):
        return place.offset + np.arange(len(own), dtype=np.int64)
    return tensor_addresses(place, total, own, iteration)


def _before_band(share: Share, total: int, own: Numbers) -> Numbers | int:
    """How many of the bytes before each byte ``own`` of a share of some columns belong to other columns."""
    if not share.banded:
        return 0
    first = share.band_bytes(total) * share.rows.start // share.of_rows
    return own - first - np.arange(len(own), dtype=np.int64)


def tensor_addresses(place: Located, total: int, own: Numbers, iteration: int) -> Numbers:
    """The addresses of the bytes ``own`` of a tensor of ``total`` bytes, all of which ``place`` holds."""
    moved = (own + place.advance * iteration) % max(1, total) if place.advance else own
    if place.runs == 1:
        return place.offset + moved
    run = max(1, total // place.runs)
    return place.offset + moved // run * place.pitch + moved % run


def lies_in_tensor(place: Located) -> bool:
    """Whether ``place`` is that of the whole tensor, in which the part lies where its share says."""
    return place.in_tensor or place.part.share == WHOLE


def touched_addresses(place: Located, total: int, iteration: int) -> tuple[Numbers, Numbers]:
    """The bytes of the part that a step moves: their numbers in the tensor, and their addresses.

    The numbers are those of the first slice where the tensor is sliced by a loop.
    """
    own = numbers(place.part.share, total)
    addresses = part_addresses(place, total, iteration)
    if place.touched is None or place.rolls:  # what is touched of a rolling buffer is its part
        return own, addresses
    at = own if lies_in_tensor(place) else np.arange(len(own), dtype=np.int64)
    inside = (at >= place.touched.start) & (at < place.touched.stop)
    return own[inside], addresses[inside]
