"""A transfer as legal bursts, and these as Psram clocks.

``bursts_of`` lists every burst with its start, ``split.split`` gives the same as a few runs of equal bursts,
and ``held_clocks`` adds those up: O(1) in the transfer's bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import ceil

from chipmodel.hardware.psram_device import Collision, Device, burst_clocks, ce_low_clocks, latency_clocks
from chipmodel.records import dataclass
from chipmodel.timing.refresh import hidden, hit_share
from chipmodel.timing.split import sizes, split, wall


@dataclass(frozen=True, slots=True)
class Burst:
    """One access: CE# is low for ``[start, start + low)``, in clocks of the device."""

    address: int
    bytes: int
    start: int
    low: int
    write: bool = False

    @property
    def end(self) -> int:
        """The clock at which CE# goes high."""
        return self.start + self.low


def bursts_of(
    device: Device, address: int, size: int, write: bool = False, max_burst: int | None = None
) -> Iterator[Burst]:
    """Yield every burst of ``size`` bytes from or to ``address``, each of at most ``max_burst`` bytes and as
    early as is legal without a refresh."""
    skip = address % device.word_bytes
    place, clock = address - skip, 0
    for moved in sizes(split(device, address, size, write, max_burst)):
        low = ce_low_clocks(device, place, moved, write)
        yield Burst(place + skip, moved - skip, clock, low, write)
        place, skip = place + moved, 0
        clock += low + device.ce_high_min


def held_clocks(
    device: Device,
    size: int,
    write: bool = False,
    max_burst: int | None = None,
    collision: Collision = "none",
) -> int:
    """Return the clocks for which ``size`` bytes from the start of a page hold the Psram: each burst with CE#
    high after it, and what the bursts wait longer that collide with a refresh. Those that do so by ``phase``
    are found by the simulation."""
    groups = split(device, 0, size, write, max_burst)
    runs = [(group.repeat * run.count, run.bytes) for group in groups for run in group.runs]
    count = sum(number for number, _ in runs)
    clocks = sum(number * burst_clocks(device, 0, moved, write) for number, moved in runs)
    clocks += count * (device.ce_setup_hold_clocks + device.ce_high_min)
    if hidden(device, write):
        return clocks
    longer = latency_clocks(device, write, True) - latency_clocks(device, write)
    return clocks + ceil(count * hit_share(device, collision)) * longer


def assert_legal(device: Device, bursts: Iterable[Burst]) -> None:
    """Raises AssertionError unless CE# low, CE# high, page and boundary hold on every burst, in order."""
    high: int | None = None
    for burst in bursts:
        where = f"{device.name}: burst of {burst.bytes} bytes at {burst.address}, clock {burst.start}"
        needed = ce_low_clocks(device, burst.address, burst.bytes, burst.write)
        assert burst.bytes > 0, f"{where} is empty"
        assert burst.low >= needed, f"{where} ends after {burst.low} clocks, its data need {needed}"
        limit = device.ce_low_limit
        assert limit is None or burst.low <= limit, f"{where} holds CE# low {burst.low} of at most {limit}"
        edge = wall(device, burst.write)
        last = burst.address + burst.bytes - 1
        assert edge is None or burst.address // edge == last // edge, f"{where} crosses {edge} bytes"
        if high is not None:
            gap = burst.start - high
            assert gap >= device.ce_high_min, f"{where} follows CE# high of {gap}, not {device.ce_high_min}"
        high = burst.end
