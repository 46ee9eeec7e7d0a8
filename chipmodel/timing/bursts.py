"""The Psram clocks of a transfer, whose legal bursts are a few runs of equal ones: O(1) in its bytes."""

from __future__ import annotations

from math import ceil

from chipmodel.hardware.psram_device import Collision, Device, burst_clocks, latency_clocks
from chipmodel.timing.refresh import hidden, hit_share
from chipmodel.timing.split import split


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
