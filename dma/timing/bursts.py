"""A transfer becomes legal bursts, and these become Psram clocks.

``bursts_of`` lists every burst with its place in time, ``dma.timing.split.split`` says the same as a few runs
of equal bursts, and ``transfer_clocks`` adds them up without walking: O(1) in the transfer's bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from chipmodel.chip.psram_device import Device, burst_clocks, ce_low_clocks, latency_clocks
from dma.timing.refresh import Collision, PreviousBurst, collides, expected, hidden, phased
from dma.timing.split import BurstGroup, sizes, split, wall


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


@dataclass(frozen=True, slots=True)
class TransferClocks:
    """``bursts`` bursts hold the Psram for ``clocks`` clocks, each with its CE# high after it;
    ``pulses`` are the clocks that the device really gets, ``collided`` the bursts that met a refresh."""

    bursts: int
    clocks: int
    pulses: int
    collided: int = 0


def bursts_of(
    device: Device,
    address: int,
    size: int,
    write: bool = False,
    max_burst: int | None = None,
    collision: Collision = "none",
    start: int = 0,
) -> Iterator[Burst]:
    """Every burst of the transfer, each as early as is legal, the first with CE# low at clock ``start``.

    ``expected`` collisions are no property of a single burst: none is lengthened.
    """
    skip = address % device.word_bytes
    place, clock, gap = address - skip, start, PreviousBurst()
    for moved in sizes(split(device, address, size, write, max_burst)):
        hit = collides(device, write, collision, gap, clock)
        low = ce_low_clocks(device, place, moved, write, hit)
        yield Burst(place + skip, moved - skip, clock, low, write)
        place, skip = place + moved, 0
        gap = PreviousBurst(clock, clock + low)
        clock += low + device.ce_high_min


def transfer_clocks(
    device: Device,
    address: int,
    size: int,
    write: bool = False,
    max_burst: int | None = None,
    collision: Collision = "none",
    start: int = 0,
) -> TransferClocks:
    """What the bursts of a transfer cost together, the first with CE# low at clock ``start``.

    ``collision`` is the user's choice of what a refresh does: ``none``, every burst ``worst``, the
    ``expected`` share of them, or by ``phase``, refreshes falling due on multiples of their interval.
    """
    groups = split(device, address, size, write, max_burst)
    plain = _sum(device, groups, write)
    if collision == "none" or hidden(device, write):
        return plain
    hits = _hits(device, groups, write, collision, start, plain.bursts)
    more = hits * (latency_clocks(device, write, True) - latency_clocks(device, write))
    return TransferClocks(plain.bursts, plain.clocks + more, plain.pulses + more, hits)


def _hits(
    device: Device, groups: tuple[BurstGroup, ...], write: bool, collision: Collision, start: int, bursts: int
) -> int:
    if collision == "worst":
        return bursts
    return phased(device, groups, write, start) if collision == "phase" else expected(device, bursts)


def _sum(device: Device, groups: tuple[BurstGroup, ...], write: bool) -> TransferClocks:
    bursts = pulses = 0
    for group in groups:
        for run in group.runs:
            bursts += group.repeat * run.count
            pulses += group.repeat * run.count * burst_clocks(device, 0, run.bytes, write)
    return TransferClocks(
        bursts, pulses + bursts * (device.ce_setup_hold_clocks + device.ce_high_min), pulses
    )


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
