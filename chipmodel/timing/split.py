"""A transfer cut into legal bursts: a few runs of equal bursts for any size."""

from __future__ import annotations

from chipmodel.errors import BadInput
from chipmodel.hardware.psram_device import Device, worst_overhead
from chipmodel.records import dataclass


@dataclass(frozen=True, slots=True)
class EqualBursts:
    """``count`` bursts of ``bytes`` bytes, one after the other."""

    count: int
    bytes: int


@dataclass(frozen=True, slots=True)
class BurstGroup:
    """The same ``runs``, ``repeat`` times: the chunks between two walls."""

    repeat: int
    runs: tuple[EqualBursts, ...]


def burst_limit(device: Device, write: bool = False, max_burst: int | None = None) -> int | None:
    """The most bytes of one burst, by CE# low with the longest latency and by ``max_burst``; ``None``: no
    limit.

    Raises BadInput where not even one word fits.
    """
    limits = [] if max_burst is None else [max_burst]
    if device.ce_low_limit is not None:
        room = device.ce_low_limit - worst_overhead(device, write)
        limits.append(max(0, int(room * device.wire.bytes_per_clock)))
    if not limits:
        return None
    words = min(limits) // device.word_bytes
    if words < 1:
        raise BadInput(
            f"{device.name}: no burst fits into {min(limits)} bytes",
            hint="raise the clock, the CE# low limit or the maximum burst",
        )
    return words * device.word_bytes


def wall(device: Device, write: bool = False) -> int | None:
    """No burst crosses a multiple of this many bytes: the smaller of page and controller boundary.

    Raises BadInput where one of the two is not a multiple of the other.
    """
    walls = [
        b
        for b in (None if device.crosses(write) else device.page_bytes, device.boundary_bytes)
        if b is not None
    ]
    if not walls:
        return None
    if max(walls) % min(walls) or min(walls) % device.word_bytes:
        raise BadInput(
            f"{device.name}: page of {device.page_bytes} and boundary of {device.boundary_bytes} bytes",
            hint="make one a multiple of the other, and both of a word",
        )
    return min(walls)


def split(
    device: Device, address: int, size: int, write: bool = False, max_burst: int | None = None
) -> tuple[BurstGroup, ...]:
    """The bursts of a transfer of ``size`` bytes from ``address``, in order, in at most three groups.

    Sizes count from the word that holds ``address``: an odd start moves the other half of its word too.
    """
    if size < 0 or address < 0:
        raise BadInput(f"a transfer of {size} bytes from address {address}", hint="neither may be negative")
    if not size:
        return ()
    start = address - address % device.word_bytes
    end = address + size
    limit = burst_limit(device, write, max_burst)
    edge = wall(device, write)
    if edge is None or start // edge == (end - 1) // edge:
        return (BurstGroup(1, _runs(end - start, limit)),)
    head, body, tail = -start % edge, end // edge - -(-start // edge), end % edge
    pieces = ((1, head), (body, edge), (1, tail))
    return tuple(BurstGroup(repeat, _runs(chunk, limit)) for repeat, chunk in pieces if repeat and chunk)


def _runs(chunk: int, limit: int | None) -> tuple[EqualBursts, ...]:
    if limit is None:
        return (EqualBursts(1, chunk),)
    full, rest = divmod(chunk, limit)
    return tuple(run for run in (EqualBursts(full, limit), EqualBursts(1, rest)) if run.count and run.bytes)
