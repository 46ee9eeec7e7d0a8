"""Core cycles of a transfer whose bytes are consecutive in Psram, by the chip's DMA model."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache
from math import ceil

from chipmodel.hardware.chip import AnyDma, BurstDma, Dma, Psram
from chipmodel.model.schedule import Direction
from chipmodel.timing.controlled import controlled_cycles
from chipmodel.timing.routes import TransferRoute, burst_routes

ROUTES: dict[str, Direction] = {"dma psram->shared": "load", "dma shared->psram": "store"}
NAMES: dict[Direction, str] = {direction: name for name, direction in ROUTES.items()}


@lru_cache(maxsize=1 << 16)
def contiguous_cycles(core_mhz: Fraction, psram: Psram, dma: AnyDma, direction: Direction, size: int) -> int:
    """Core cycles of one transfer of ``size`` consecutive bytes, from its start to its end."""
    if isinstance(dma, Dma):
        setup = (dma.load if direction == "load" else dma.store).setup_cycles
        return setup + ceil(size * line_slope(core_mhz, psram, dma, direction))
    if not isinstance(dma, BurstDma):
        return dma.setup_cycles + controlled_cycles(core_mhz, psram, dma, direction, size)
    return routes_of(core_mhz, psram, dma)[NAMES[direction]].cycles(size)


@lru_cache
def line_slope(core_mhz: Fraction, psram: Psram, dma: Dma, direction: Direction) -> Fraction:
    """Core cycles that each byte of whole bursts takes in the line model."""
    burst_bytes = (dma.load if direction == "load" else dma.store).burst_bytes
    return line_burst(core_mhz, psram, dma, direction, burst_bytes) / burst_bytes


@lru_cache
def line_burst(core_mhz: Fraction, psram: Psram, dma: Dma, direction: Direction, size: int) -> Fraction:
    """Core cycles of one burst of ``size`` bytes in the line model."""
    traffic = dma.load if direction == "load" else dma.store
    data_clocks = size / psram.bytes_per_clock
    clocks = max(data_clocks, (traffic.burst_overhead_clocks + data_clocks) / dma.outstanding)
    return clocks * core_mhz / psram.clock_mhz


def routes_of(core_mhz: Fraction, psram: Psram, dma: BurstDma) -> Mapping[str, TransferRoute]:
    """All routes of a burst-by-burst engine by name."""
    assert psram.device is not None
    return burst_routes(dma, psram.device, core_mhz, psram.collision)
