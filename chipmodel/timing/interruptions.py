"""What delays bursts on the Psram: array refreshes, and the CPU's own accesses.

Both are due at fixed times, and each concerns the first burst that starts after it is due. A refresh that
becomes due while CE# is low runs once CE# is high, and lengthens the burst that collides with it; the CPU's
access to a line goes first, and the burst waits for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import ceil
from typing import Literal

from chipmodel.hardware.chip import Chip, DramDma
from chipmodel.hardware.clocks import Clock, rescaled
from chipmodel.hardware.psram_device import latency_clocks
from chipmodel.model.schedule import Direction
from chipmodel.records import dataclass
from chipmodel.timing import dram
from chipmodel.timing.refresh import hidden, refresh_clocks
from chipmodel.timing.transfer import link

InterruptionCause = Literal["refresh", "cpu"]


@dataclass(frozen=True, slots=True)
class Interruption:
    """A periodic interruption: number ``k`` (from 1) is due at core cycle ``ceil(k * period)`` and takes
    ``busy`` cycles.

    ``cost`` are the further cycles of a load and of a store burst that collides with it; None where the burst
    waits for its end instead.
    """

    cause: InterruptionCause
    period: Fraction
    busy: int
    cost: tuple[int, int] | None
    after: int = 0
    """Cycles that the first burst after it takes longer, however long ago it was."""

    def due(self, number: int) -> int:
        """The core cycle of number ``number``."""
        return ceil(number * self.period)

    def last(self, cycle: int) -> int:
        """The number of the last one that is due by ``cycle``; 0 for none."""
        return int(cycle / self.period)

    def delay(self, number: int, free: int, cycle: int, direction: Direction) -> int:
        """Cycles of delay for a burst that starts at ``cycle``, with the Psram free since ``free``."""
        end = max(self.due(number), free) + self.busy
        if cycle >= end:
            return self.after
        return end - cycle + self.after if self.cost is None else self.cost[direction == "store"]


def interruptions(chip: Chip) -> Iterator[Interruption]:
    """All interruptions of the Psram of ``chip``."""
    core, psram = Clock(chip.core_mhz), Clock(chip.psram.clock_mhz)
    device = chip.psram.device
    if (
        device is not None
        and chip.psram.collision == "phase"
        and not all(hidden(device, write) for write in (False, True))
    ):
        interval, length = (rescaled(clocks, psram, core) for clocks in refresh_clocks(device))
        longer = (
            ceil(rescaled(latency_clocks(device, write, True) - latency_clocks(device, write), psram, core))
            for write in (False, True)
        )
        load, store = longer
        yield Interruption("refresh", interval, ceil(length), (load, store))
    if isinstance(chip.dma, DramDma) and chip.dma.memory.t_refi_ns:
        clocks = dram.refresh_clocks(chip.dma, chip.psram.clock_mhz)
        busy, opening = (ceil(rescaled(clock, psram, core)) for clock in clocks)
        interval = chip.dma.memory.t_refi_ns * chip.core_mhz / 1000
        yield Interruption("refresh", interval, busy, None, opening)
    if chip.cpu.psram_every:
        line = link(chip, "load").cpu_cycles(chip.cpu.line_bytes)
        yield Interruption("cpu", Fraction(chip.cpu.psram_every), line, None)
