"""The bursts of a transfer one by one, and the limits of a Psram on each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from chipmodel.hardware.psram_device import Device, burst_clocks, burst_limit
from chipmodel.records import dataclass


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


def wall(device: Device, write: bool = False) -> int | None:
    """No burst crosses a multiple of this many bytes: the smaller of page and controller boundary."""
    page = None if device.crosses(write) else device.page_bytes
    return min(filter(None, (page, device.boundary_bytes)), default=None)


def bursts_of(
    device: Device, address: int, size: int, write: bool = False, max_burst: int | None = None
) -> Iterator[Burst]:
    """Yield every burst of ``size`` bytes from or to ``address``, each of at most ``max_burst`` bytes and as
    early as is legal without a refresh."""
    skip = address % device.word_bytes
    place, clock = address - skip, 0
    limit, edge = burst_limit(device, write, max_burst), wall(device, write)
    while size and place < address + size:
        most = [address + size - place, *([limit] if limit else []), *([edge - place % edge] if edge else [])]
        moved = min(most)
        low = burst_clocks(device, place, moved, write) + device.ce_setup_hold_clocks
        yield Burst(place + skip, moved - skip, clock, low, write)
        place, skip = place + moved, 0
        clock += low + device.ce_high_min


def held_clocks(device: Device, size: int, write: bool = False, collided: bool = False) -> int:
    """Return the clocks for which the bursts from the start of a page hold the Psram, with CE# high after
    each."""
    idle = device.ce_setup_hold_clocks + device.ce_high_min
    bursts = bursts_of(device, 0, size, write)
    return sum(burst_clocks(device, b.address, b.bytes, write, collided) + idle for b in bursts)


def assert_legal(device: Device, bursts: Iterable[Burst]) -> None:
    """Raises AssertionError unless CE# low, CE# high, page and boundary hold on every burst, in order."""
    high: int | None = None
    for burst in bursts:
        where = f"{device.name}: burst of {burst.bytes} bytes at {burst.address}, clock {burst.start}"
        needed = burst_clocks(device, burst.address, burst.bytes, burst.write)
        needed += device.ce_setup_hold_clocks
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
