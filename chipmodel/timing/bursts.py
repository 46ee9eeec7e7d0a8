"""A transfer as legal bursts, and these as Psram clocks.

``PsramTransfer.bursts`` lists every burst with its start, ``split.split`` gives the same as a
few runs of equal bursts, and ``PsramTransfer.totals`` adds those up: O(1) in the transfer's bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import ceil

from chipmodel.hardware.psram_device import Device, burst_clocks, ce_low_clocks, latency_clocks
from chipmodel.timing.refresh import Collision, PreviousBurst, collides, hidden, hit_share, phased
from chipmodel.timing.split import BurstGroup, sizes, split, wall


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
class BurstTotals:
    """Sums over the bursts of a transfer.

    They hold the Psram for ``clocks`` clocks, each burst with its CE# high after it; ``pulses`` are the clock
    pulses that the device receives, ``collided`` the bursts that collide with a refresh.
    """

    bursts: int
    clocks: int
    pulses: int
    collided: int = 0


@dataclass(frozen=True, slots=True)
class PsramTransfer:
    """A transfer of ``size`` bytes from or to ``address``, the first burst with CE# low at clock ``start``.

    ``max_burst`` limits the bytes of a burst. ``collision`` is the user's choice of what a refresh does:
    ``none``, every burst ``worst``, the ``expected`` share of them, or by ``phase``, with refreshes due on
    multiples of their interval.
    """

    device: Device
    address: int
    size: int
    write: bool = False
    max_burst: int | None = None
    collision: Collision = "none"
    start: int = 0

    def bursts(self) -> Iterator[Burst]:
        """Every burst, each as early as is legal. With ``expected`` collisions none is lengthened, as these
        are no property of a single burst."""
        device, write = self.device, self.write
        skip = self.address % device.word_bytes
        place, clock, before = self.address - skip, self.start, PreviousBurst()
        for moved in sizes(self._groups()):
            hit = collides(device, write, self.collision, before, clock)
            low = ce_low_clocks(device, place, moved, write, hit)
            yield Burst(place + skip, moved - skip, clock, low, write)
            place, skip = place + moved, 0
            before = PreviousBurst(clock, clock + low)
            clock += low + device.ce_high_min

    def totals(self) -> BurstTotals:
        """The sums over all bursts."""
        device, write, groups = self.device, self.write, self._groups()
        plain = _sum(device, groups, write)
        if self.collision == "none" or hidden(device, write):
            return plain
        hits = self._collided(groups, plain.bursts)
        more = hits * (latency_clocks(device, write, True) - latency_clocks(device, write))
        return BurstTotals(plain.bursts, plain.clocks + more, plain.pulses + more, hits)

    def _groups(self) -> tuple[BurstGroup, ...]:
        return split(self.device, self.address, self.size, self.write, self.max_burst)

    def _collided(self, groups: tuple[BurstGroup, ...], bursts: int) -> int:
        if self.collision == "phase":
            return phased(self.device, groups, self.write, self.start)
        return ceil(bursts * hit_share(self.device, self.collision))


def _sum(device: Device, groups: tuple[BurstGroup, ...], write: bool) -> BurstTotals:
    bursts = pulses = 0
    for group in groups:
        for run in group.runs:
            bursts += group.repeat * run.count
            pulses += group.repeat * run.count * burst_clocks(device, 0, run.bytes, write)
    clocks = pulses + bursts * (device.ce_setup_hold_clocks + device.ce_high_min)
    return BurstTotals(bursts, clocks, pulses)


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
