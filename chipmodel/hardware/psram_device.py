"""Psram devices as data: the clocks of one burst, and the limits on CE#.

Every number comes from the part's datasheet (docs/reference/hardware.md, "Psram devices"); a device's
``assumed`` names the fields that the datasheet does not give.
"""

from __future__ import annotations

from fractions import Fraction
from math import floor
from typing import Literal

from chipmodel.errors import BadInput
from chipmodel.hardware.clocks import Clock
from chipmodel.records import dataclass

Protocol = Literal["SPI", "QPI", "1-4-4", "Xccela x8", "Xccela x16", "HyperBus", "HyperBus x16"]
LatencyMode = Literal["fixed", "variable"]
Crossing = Literal["never", "reads", "always"]
Collision = Literal["none", "phase", "worst", "expected"]


@dataclass(frozen=True, slots=True)
class Wire:
    """Constants of a protocol: data per clock, clocks of command and address, and how many of these the
    latency count overlaps (double-rate protocols count from the last address clock)."""

    bytes_per_clock: Fraction
    command_clocks: int
    address_clocks: int
    overlap_clocks: int


WIRES: dict[Protocol, Wire] = {
    "SPI": Wire(Fraction(1, 8), 8, 24, 0),
    "QPI": Wire(Fraction(1, 2), 2, 6, 0),
    "1-4-4": Wire(Fraction(1, 2), 8, 6, 0),
    "Xccela x8": Wire(Fraction(2), 1, 2, 1),
    "Xccela x16": Wire(Fraction(4), 1, 2, 1),
    "HyperBus": Wire(Fraction(2), 0, 3, 1),
    "HyperBus x16": Wire(Fraction(4), 0, 3, 1),
}
"""From the datasheets: APS6404L (SPI, QPI, 1-4-4), APS256XXN-OBR (Xccela), S27KL/KS0642 and S80KS2564
(HyperBus, and its extended IO)."""


@dataclass(frozen=True, slots=True)
class Refresh:
    """Array refresh: one row every ``interval_us``, which keeps the array busy for ``busy_ns``."""

    interval_us: Fraction
    busy_ns: Fraction


@dataclass(frozen=True, slots=True)
class Device:
    """One Psram part in one mode of operation. Sizes are bytes; names carry the units of times.

    ``latency_codes`` are ``(up to MHz, clocks)`` in rising order; in ``fixed`` mode every access waits
    ``fixed_multiple`` times the code, in ``variable`` mode only one that collides with a refresh.
    """

    name: str
    protocol: Protocol
    clock_mhz: Fraction
    latency_codes: tuple[tuple[Fraction, int], ...]
    latency_mode: LatencyMode = "fixed"
    fixed_multiple: int = 1
    collided_multiple: int = 1
    """Multiple of the code that a read waits in ``variable`` mode when it collides with a refresh."""
    write_latency: int | None = None
    """Wait clocks of a write; None for the latency code, as for a read."""
    ce_low_max_us: Fraction | None = None
    ce_high_ns: Fraction = Fraction(0)
    ce_high_clocks: int = 0
    """CE# high is at least ``ce_high_ns`` and at least ``ce_high_clocks``."""
    ce_setup_hold_clocks: int = 0
    """Clocks of CE# low that the controller adds before the first and after the last clock pulse."""
    recovery_ns: Fraction = Fraction(0)
    """From CE# high to the end of the next command and address (tRWR of HyperRAM)."""
    page_bytes: int = 1024
    crossing: Crossing = "never"
    crossing_mhz: Fraction | None = None
    """The fastest clock at which bursts may cross pages; None for any."""
    boundary_bytes: int | None = None
    """Address boundary at which the controller ends every burst; None for no boundary."""
    refresh: Refresh | None = None
    assumed: tuple[str, ...] = ()

    @property
    def wire(self) -> Wire:
        """Constants of its protocol."""
        return WIRES[self.protocol]

    @property
    def clock(self) -> Clock:
        """The device's clock."""
        return Clock(self.clock_mhz)

    @property
    def word_bytes(self) -> int:
        """Bytes that are always moved together: those of one clock, at least one."""
        return max(1, floor(self.wire.bytes_per_clock))

    def crosses(self, write: bool) -> bool:
        """Whether a burst goes on in the next page at this clock."""
        slow = self.crossing_mhz is None or self.clock_mhz <= self.crossing_mhz
        return slow and (self.crossing == "always" or (self.crossing == "reads" and not write))

    @property
    def latency_code(self) -> int:
        """Clocks of the latency code at this clock. Raises BadInput above the last one."""
        for limit, code in self.latency_codes:
            if self.clock_mhz <= limit:
                return code
        top = self.latency_codes[-1][0]
        raise BadInput(
            f"{self.name}: no latency code for {self.clock_mhz} MHz", hint=f"set a clock of at most {top} MHz"
        )

    @property
    def ce_low_limit(self) -> int | None:
        """Clocks that CE# may stay low."""
        return None if self.ce_low_max_us is None else self.clock.cycles_within(self.ce_low_max_us)

    @property
    def ce_high_min(self) -> int:
        """Clocks that CE# stays high between two bursts."""
        after_address = self.wire.command_clocks + self.wire.address_clocks
        recovery = self.clock.cycles_covering(self.recovery_ns / 1000) - after_address
        return max(1, self.ce_high_clocks, self.clock.cycles_covering(self.ce_high_ns / 1000), recovery)


def latency_clocks(device: Device, write: bool = False, collided: bool = False) -> int:
    """Wait clocks of one access; ``collided`` with a refresh or not."""
    if write and device.write_latency is not None:
        return device.write_latency
    if device.latency_mode == "fixed":
        return device.latency_code * device.fixed_multiple
    return device.latency_code * (device.collided_multiple if collided else 1)


def overhead_clocks(device: Device, write: bool = False, collided: bool = False) -> int:
    """Clocks of a burst before its data."""
    wire = device.wire
    latency = latency_clocks(device, write, collided)
    return wire.command_clocks + wire.address_clocks + max(latency - wire.overlap_clocks, 0)


def data_clocks(device: Device, address: int, size: int) -> int:
    """Clocks of a burst's data; a double-rate bus moves whole words, so an odd address adds a byte."""
    moved = address % device.word_bytes + size
    return -(-moved // device.wire.bytes_per_clock)


def burst_clocks(device: Device, address: int, size: int, write: bool = False, collided: bool = False) -> int:
    """Clock pulses of one burst: command, address, wait, data."""
    return overhead_clocks(device, write, collided) + data_clocks(device, address, size)


def worst_overhead(device: Device, write: bool = False) -> int:
    """CE# low of a burst before its data in the worst case; the CE# limit must hold even then."""
    collided = device.latency_mode == "variable"
    return overhead_clocks(device, write, collided) + device.ce_setup_hold_clocks


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
