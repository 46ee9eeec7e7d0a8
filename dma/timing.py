"""How long a DMA transfer takes.

The affine form ``setup + bytes * k / 32`` fits the LUNA vendor's measured transfer table to 0.05 %
from 1 KiB up (hardware.md, "DMA routes"). ``k`` is not a free number: it is what one Psram burst
takes, overhead and data, so that it follows the Psram's clock and width.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil

from chipmodel.chip import Chip, Route
from chipmodel.schedule import Direction


def route(chip: Chip, direction: Direction) -> Route:
    """The DMA route of a load (psram->shared) or a store (shared->psram)."""
    return chip.dma.load if direction == "load" else chip.dma.store


def cycles_per_byte(chip: Chip, direction: Direction) -> Fraction:
    """Core cycles that each byte of a long transfer adds (``k / 32``)."""
    way = route(chip, direction)
    data_clocks = way.burst_bytes / chip.psram.bytes_per_clock
    clocks_per_byte = (way.burst_overhead_clocks + data_clocks) / way.burst_bytes
    return clocks_per_byte * chip.core_mhz / chip.psram.clock_mhz


def transfer_cycles(chip: Chip, direction: Direction, size: int) -> int:
    """Core cycles of one transfer of ``size`` bytes, from its start to its end."""
    return route(chip, direction).setup_cycles + ceil(size * cycles_per_byte(chip, direction))
