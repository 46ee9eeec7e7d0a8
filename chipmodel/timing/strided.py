"""Core cycles of a transfer that is several runs of bytes in Psram, with a gap after each.

An engine that steps over the gaps itself (``dma.strided: yes``) is set up once, but begins new bursts with
every run: a run costs what a contiguous transfer of its bytes costs after its set-up, and no run is quicker
than the long transfers' pace or the Psram's own bursts. Any other engine (``no``) is started for each run.
A transfer in runs never takes less than the same bytes in one run.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import ceil

from chipmodel.hardware.chip import AnyDma, BurstDma, Dma, DramDma, EfPsramDma, Psram
from chipmodel.model.schedule import Direction
from chipmodel.records import dataclass
from chipmodel.timing.contiguous import NAMES, contiguous_cycles, line_burst, line_slope, routes_of
from chipmodel.timing.controlled import controlled_cycles
from chipmodel.timing.dram import dram_clocks


@dataclass(frozen=True, slots=True)
class StridedTimes:
    """Core cycles: ``setup`` once, then ``each`` for each of ``runs``, and ``gap`` between two of them."""

    runs: int
    setup: int
    each: int
    gap: int

    @property
    def data(self) -> int:
        """Cycles after the set-up."""
        return self.runs * self.each + (self.runs - 1) * self.gap


@lru_cache(maxsize=1 << 16)
def run_times(
    core_mhz: Fraction, psram: Psram, dma: AnyDma, direction: Direction, size: int, runs: int
) -> StridedTimes:
    """The times of ``size`` bytes in ``runs`` equal runs, of which there are at least two."""
    run = -(-size // runs)
    setup, gap, each = _set_up_once(core_mhz, psram, dma, direction, run)
    if not dma.channels.strided:
        each = contiguous_cycles(core_mhz, psram, dma, direction, run) - setup
        gap += setup
    together = contiguous_cycles(core_mhz, psram, dma, direction, size) - setup - (runs - 1) * gap
    return StridedTimes(runs, setup, max(1, each, -(-together // runs)), gap)


def _set_up_once(
    core_mhz: Fraction, psram: Psram, dma: AnyDma, direction: Direction, run: int
) -> tuple[int, int, int]:
    """Cycles of the set-up, of the gap after a run, and of a run of ``run`` bytes."""
    if isinstance(dma, Dma):
        traffic = dma.load if direction == "load" else dma.store
        bursts, rest = divmod(run, traffic.burst_bytes)
        exact = bursts * traffic.burst_bytes * line_slope(core_mhz, psram, dma, direction)
        exact += line_burst(core_mhz, psram, dma, direction, rest) if rest else 0
        return traffic.setup_cycles, 0, ceil(exact)
    if isinstance(dma, BurstDma):
        route = routes_of(core_mhz, psram, dma)[NAMES[direction]]
        return route.series_setup, 0, ceil(route.run_cycles(run))
    if isinstance(dma, DramDma):
        clocks, ratio = (
            dram_clocks(core_mhz, psram.clock_mhz, dma, direction == "store"),
            core_mhz / psram.clock_mhz,
        )
        # Rows of later runs open while earlier ones move, so only the first one waits for its data.
        waits = int(clocks.ending * ratio)
        return dma.setup_cycles + waits, 0, ceil(clocks.run(run) * ratio)
    gap = dma.gap_cycles if isinstance(dma, EfPsramDma) else 0
    return dma.setup_cycles, gap, controlled_cycles(core_mhz, psram, dma, direction, run)
