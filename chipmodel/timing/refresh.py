"""Array refresh of a Psram: which bursts collide with one and wait longer for their data.

A device with fixed latency hides its refreshes; one with variable latency signals them to the controller,
which then waits ``collided_multiple`` times the latency code (hardware.md, "HyperRAM": RWDS high during
command-address doubles the latency).
"""

from __future__ import annotations

from fractions import Fraction

from chipmodel.errors import BadInput
from chipmodel.hardware.psram_device import Collision, Device, latency_clocks


def hidden(device: Device, write: bool) -> bool:
    """Whether a refresh never lengthens an access."""
    return latency_clocks(device, write, True) == latency_clocks(device, write)


def refresh_clocks(device: Device) -> tuple[Fraction, Fraction]:
    """Interval and duration of a refresh in clocks of the device. Raises BadInput where it has no figures."""
    if device.refresh is None:
        raise BadInput(
            f"{device.name} has no refresh figures", hint="give it a refresh interval, or collision 'worst'"
        )
    per_us = device.clock_mhz
    return device.refresh.interval_us * per_us, device.refresh.busy_ns * per_us / 1000


def hit_share(device: Device, collision: Collision) -> Fraction:
    """The share of bursts that collide with a refresh: ``expected``, or all (``worst``). Those that do so by
    ``phase`` are interruptions (``chipmodel.timing.interruptions``), and count as none here."""
    if collision == "expected":
        interval, busy = refresh_clocks(device)
        return min(Fraction(1), busy / interval)
    return Fraction(collision == "worst")
