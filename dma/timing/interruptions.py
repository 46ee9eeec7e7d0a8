"""What holds the Psram up between bursts: array refreshes, and the CPU's own accesses.

Both come round at fixed times. Each is looked at once, by the first burst that starts after it is due:
a refresh that falls due while CE# is low is made when CE# has gone high, and lengthens the burst that it
meets; the CPU's line goes first, and the burst waits for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Literal

from chipmodel.chip.chip import BurstDma, Chip, Dma
from chipmodel.chip.clocks import Clock, rescaled
from chipmodel.chip.psram_device import burst_clocks, latency_clocks
from chipmodel.model.schedule import Direction
from dma.timing.controlled import controlled_cycles
from dma.timing.refresh import hidden, refresh_clocks

InterruptionCause = Literal["refresh", "cpu"]


@dataclass(frozen=True, slots=True)
class Interruption:
    """Number ``k`` (from 1) is due at core cycle ``ceil(k * period)`` and busy for ``busy`` cycles.

    ``cost`` holds, by the direction of the burst, the cycles that a burst which meets a refresh takes
    longer; None where the burst waits to the end instead.
    """

    cause: InterruptionCause
    period: Fraction
    busy: int
    cost: tuple[int, int] | None

    def due(self, number: int) -> int:
        """The core cycle of number ``number``."""
        return ceil(number * self.period)

    def last(self, cycle: int) -> int:
        """The number of the last one that is due by ``cycle``; 0 for none."""
        return int(cycle / self.period)

    def delay(self, number: int, free: int, cycle: int, direction: Direction) -> int:
        """Cycles that a burst waits which starts at ``cycle``, with the Psram free since ``free``."""
        end = max(self.due(number), free) + self.busy
        if cycle >= end:
            return 0
        return end - cycle if self.cost is None else self.cost[direction == "store"]


def interruptions(chip: Chip) -> Iterator[Interruption]:
    """All that interrupt the Psram of ``chip``."""
    core, psram = Clock(chip.core_mhz), Clock(chip.psram.clock_mhz)
    device = chip.psram.device
    if (
        device is not None
        and chip.psram.collision == "phase"
        and not all(hidden(device, write) for write in (False, True))
    ):
        interval, busy = (rescaled(clocks, psram, core) for clocks in refresh_clocks(device))
        longer = (
            ceil(rescaled(latency_clocks(device, write, True) - latency_clocks(device, write), psram, core))
            for write in (False, True)
        )
        load, store = longer
        yield Interruption("refresh", interval, ceil(busy), (load, store))
    if chip.cpu.psram_every:
        line = _cpu_cycles(chip)
        yield Interruption("cpu", Fraction(chip.cpu.psram_every), line, None)


def _cpu_cycles(chip: Chip) -> int:
    """Core cycles of the CPU's line, a burst of its own; through a controller, as long as a load."""
    core, psram = Clock(chip.core_mhz), Clock(chip.psram.clock_mhz)
    line, dma, device = chip.cpu.line_bytes, chip.dma, chip.psram.device
    if isinstance(dma, Dma):
        clocks = dma.load.burst_overhead_clocks + line / chip.psram.bytes_per_clock
        return ceil(rescaled(clocks, psram, core))
    if not isinstance(dma, BurstDma):
        return controlled_cycles(chip.core_mhz, chip.psram, dma, "load", line)
    assert device is not None
    burst = burst_clocks(device, 0, line, False) + device.ce_setup_hold_clocks + device.ce_high_min
    return ceil(rescaled(burst, psram, core))
