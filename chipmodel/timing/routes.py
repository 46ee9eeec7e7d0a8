"""The routes of data on LUNA ARCS, each explained by the units that move them (hardware.md, "DMA routes").

A copy by the DMA costs its setup and then, for each burst of 8 beats of 4 bytes (a line of 32), 8 read
beats, 8 write beats and 5 cycles between them, one after the other: 21 core cycles. What Psram adds:

* psram->shared: a miss opens one Psram burst for the requested line and for the controller's two prefetch
  buffers of a line each, 18 + 3 * 16 + 8 = 74 clocks for three lines. The DMA copies at the same time, so the
  Psram sets the pace; the first word comes 18 clocks late.
* shared->psram: the DMA sets the pace, and each line waits 3 Psram clocks at the clock crossing. The
  data of the last line (16 clocks) are in flight when the DMA is done.
* npu<-psram, from 1 KB on: no prefetch; each line is a lone burst, 18 + 16 + 8 = 42 clocks, and the same 3 of
  the crossing. Less than that is read with prefetch: a burst of 74 clocks first, then for each line a third
  of one and the 3 of the crossing.
* flash->shared: the flash sets the pace, 4 bits a clock.
* NPU within SharedMemory: 64-bit reads; for each round of the eight 128-bit banks two of them have a bank
  conflict with the write that follows them: 18 cycles for 128 bytes.

Transfers of up to 256 bytes are faster than that on the DMA's routes that touch Psram: the DMA then works at
its own pace with the overhead of a single burst. From 1 KB on there is no difference. The reason is not
known; between the two sizes the cycles are interpolated linearly. Why the NPU's reads lose their prefetch at
1 KB, a page of the device, is not known either.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from math import ceil, floor

from chipmodel.errors import BadInput
from chipmodel.hardware.chip import BurstDma
from chipmodel.hardware.clocks import Clock, rescaled
from chipmodel.hardware.psram_device import Collision, Device, burst_limit, data_clocks, overhead_clocks
from chipmodel.records import dataclass
from chipmodel.timing.refresh import hit_share

LinePace = Callable[[Fraction], Fraction]
"""Core cycles as a function of the lines moved, setup included."""


@dataclass(frozen=True, slots=True)
class PsramPort:
    """The controller between a bus at clock ``core`` and ``device``: a miss loads ``line_bytes`` and then
    ``prefetch_lines`` more lines; ``crossing_clocks`` are those between the two clock domains."""

    device: Device
    core: Clock
    line_bytes: int = 32
    prefetch_lines: int = 2
    crossing_clocks: int = 3
    collision: Collision = "none"

    def cycles(self, clocks: Fraction | int) -> Fraction:
        """Core cycles of a number of Psram clocks."""
        return rescaled(clocks, self.device.clock, self.core)

    def opening(self, write: bool = False) -> Fraction:
        """Return the clocks of a burst before its data, including what a refresh adds on average."""
        plain, collided = (overhead_clocks(self.device, write, hit) for hit in (False, True))
        if collided == plain:
            return Fraction(plain)
        return plain + (collided - plain) * hit_share(self.device, self.collision)

    @property
    def line(self) -> int:
        """Clocks of the data of a line."""
        return data_clocks(self.device, 0, self.line_bytes)

    def read_clocks(self, lines: Fraction | int) -> Fraction:
        """Clocks of one Psram read of ``lines`` lines: CE# low, and CE# high after it."""
        return self.opening() + lines * self.line + self._around

    def run_cycles(self, lines: Fraction | int, longest: int, write: bool) -> Fraction:
        """Core cycles of ``lines`` lines in bursts of at most ``longest`` bytes: CE# low, then CE# high."""
        bursts = -(-lines * self.line_bytes // longest)
        return self.cycles(bursts * (self.opening(write) + self._around) + lines * self.line)

    @property
    def _around(self) -> int:
        """Clocks of a burst besides its opening and data."""
        return self.device.ce_setup_hold_clocks + self.device.ce_high_min


@dataclass(frozen=True, slots=True)
class SeriesPace:
    """A transfer in several runs: ``setup`` cycles, then for the lines of each run the cycles of the engine
    at the pace of long transfers, or those of the Psram's bursts, whichever are more."""

    setup: Fraction
    engine: LinePace
    psram: Callable[[int], Fraction]


@dataclass(frozen=True, slots=True)
class TransferRoute:
    """A route with its cycles by size.

    ``settled`` is the pace of long transfers, ``head`` that of those up to ``head_bytes``; between these and
    ``settled_bytes`` the cycles are interpolated linearly.
    """

    name: str
    line_bytes: int
    settled: LinePace
    head: LinePace | None = None
    head_bytes: int = 256
    settled_bytes: int = 1024
    jumps: bool = False
    """Whether the head's pace holds up to ``settled_bytes`` instead, with a jump there."""
    series: SeriesPace | None = None
    """The pace of a transfer in runs; None for a route that has none."""

    def cycles(self, size: int) -> int:
        """Core cycles of a transfer of ``size`` bytes, start to end. Raises BadInput for less than one."""
        if size < 1:
            raise BadInput(f"a transfer of {size} bytes on '{self.name}'", hint="move at least one byte")
        return ceil(self._exact(Fraction(size, self.line_bytes)))

    def pace(self, size: int, setup_cycles: int) -> tuple[int, Fraction, Fraction]:
        """A transfer of ``size`` bytes as whole cycles before the first line, a further fraction of a cycle,
        and cycles for each line: together ``cycles(size)``. Below ``settled_bytes`` all lines share the
        cycles after ``setup_cycles`` evenly."""
        lines = Fraction(size, self.line_bytes)
        if self.head is None or lines >= Fraction(self.settled_bytes, self.line_bytes):
            fixed = self.settled(Fraction(0))
            return floor(fixed), fixed - floor(fixed), self.settled(Fraction(1)) - fixed
        exact = self._exact(lines)
        setup = min(setup_cycles, ceil(exact) - 1)
        return setup, Fraction(0), (exact - setup) / lines

    @property
    def series_setup(self) -> int:
        """Whole core cycles before the first of several runs."""
        return floor(self._runs.setup)

    def run_cycles(self, size: int) -> Fraction:
        """Core cycles of each of several runs of ``size`` bytes; it moves whole lines."""
        lines = -(-size // self.line_bytes)
        return max(self._runs.engine(Fraction(lines)), self._runs.psram(lines))

    @property
    def _runs(self) -> SeriesPace:
        assert self.series is not None, f"'{self.name}' moves no runs"
        return self.series

    @property
    def per_byte(self) -> Fraction:
        """Core cycles that each byte of a long transfer adds."""
        return (self.settled(Fraction(1)) - self.settled(Fraction(0))) / self.line_bytes

    @property
    def least_setup(self) -> Fraction:
        """A lower bound of a transfer's cycles beyond ``per_byte`` for each of its bytes. The cycles are
        linear between three sizes, so the least is at one of them. Negative where short transfers are
        cheap."""
        sizes = (1, self._last_head, self.settled_bytes) if self.head else (1,)
        return min(self._exact(Fraction(s, self.line_bytes)) - s * self.per_byte for s in sizes)

    @property
    def least_per_byte(self) -> Fraction:
        """The fewest core cycles a byte of any transfer, its set-up included."""
        sizes = (self._last_head, self.settled_bytes) if self.head else ()
        rates = [self._exact(Fraction(s, self.line_bytes)) / s for s in sizes]
        return min([self.per_byte, *rates])

    @property
    def _last_head(self) -> int:
        return self.settled_bytes - 1 if self.jumps else self.head_bytes

    def _exact(self, lines: Fraction) -> Fraction:
        low, high = (Fraction(size, self.line_bytes) for size in (self._last_head, self.settled_bytes))
        if self.head is None or lines >= high:
            return self.settled(lines)
        if lines <= low:
            return self.head(lines)
        share = (lines - low) / (high - low)
        return self.head(low) + share * (self.settled(high) - self.head(low))


def line(fixed: Fraction | int, each: Fraction | int) -> LinePace:
    """A pace of ``fixed`` cycles and ``each`` cycles for every line."""
    return lambda lines: fixed + lines * each


def shared_to_shared(engine: BurstDma) -> TransferRoute:
    """The DMA within SharedMemory."""
    return TransferRoute(
        "dma shared->shared", engine.line_bytes, line(engine.setup_cycles, engine.line_cycles)
    )


def flash_to_shared(engine: BurstDma, core: Clock, flash: Clock) -> TransferRoute:
    """The DMA from a serial flash, which is slower than the copy."""
    pace = max(rescaled(engine.line_bytes * FLASH_CLOCKS_PER_BYTE, flash, core), Fraction(engine.line_cycles))
    return TransferRoute("dma flash->shared", engine.line_bytes, line(FLASH_SETUP_CYCLES, pace))


def psram_to_shared(engine: BurstDma, port: PsramPort) -> TransferRoute:
    """The DMA from Psram, with the prefetch buffers at work."""
    legal = burst_limit(port.device, max_burst=(1 + port.prefetch_lines) * port.line_bytes)
    lines = Fraction(legal or port.line_bytes, port.line_bytes)
    pace = max(port.cycles(port.read_clocks(lines) / lines), Fraction(engine.line_cycles))
    fixed = engine.setup_cycles + port.cycles(port.opening())
    head = max(Fraction(engine.line_cycles), port.cycles(port.line))
    longest = int(lines * port.line_bytes)
    series = SeriesPace(
        Fraction(engine.setup_cycles),
        line(port.cycles(port.opening()), pace),
        lambda count: port.run_cycles(count, longest, write=False),
    )
    return TransferRoute(
        "dma psram->shared", engine.line_bytes, line(fixed, pace), line(fixed, head), series=series
    )


def shared_to_psram(engine: BurstDma, port: PsramPort) -> TransferRoute:
    """The DMA to Psram, whose controller joins lines to the longest legal bursts; the last line is written
    after the end of the DMA transfer."""
    page = port.device.page_bytes
    longest = min(page, burst_limit(port.device, write=True) or page)
    lines = Fraction(page, engine.line_bytes)
    joined = port.run_cycles(lines, longest, write=True) / lines
    pace = max(engine.line_cycles + port.cycles(port.crossing_clocks), joined)
    head = max(Fraction(engine.line_cycles), port.cycles(port.line))
    posted = port.cycles(port.line)
    opening = port.cycles(port.opening() + port.crossing_clocks)
    setup = max(Fraction(0), engine.setup_cycles - posted)
    series = SeriesPace(setup, line(0, pace), lambda count: port.run_cycles(count, longest, write=True))
    return TransferRoute(
        "dma shared->psram",
        engine.line_bytes,
        line(setup, pace),
        line(engine.setup_cycles + opening, head),
        series=series,
    )


def npu_from_psram(port: PsramPort) -> TransferRoute:
    """The NPU reading Psram itself: a line at a time from 1 KB on, with prefetch below."""
    clocks = port.read_clocks(1) + port.crossing_clocks
    settled = line(NPU_SETUP_CYCLES + port.cycles(port.opening()), port.cycles(clocks))
    lines = 1 + port.prefetch_lines
    burst = port.read_clocks(lines)
    head = line(NPU_SETUP_CYCLES + port.cycles(burst), port.cycles(burst / lines + port.crossing_clocks))
    return TransferRoute("npu psram->shared", port.line_bytes, settled, head, jumps=True)


def npu_within_shared() -> TransferRoute:
    """The NPU copying within SharedMemory, with bank conflicts in each round of banks."""
    setup, pace = NPU_SETUP_CYCLES + NPU_COPY_FILL_CYCLES, ROUND_BYTES // NPU_READ_BYTES + ROUND_STALLS
    return TransferRoute("npu shared->shared", ROUND_BYTES, line(setup, pace))


LUNA_FLASH = Clock(Fraction(100))
FLASH_CLOCKS_PER_BYTE = 2
"""hardware.md, "LUNA": flash 100 MHz x4 SDR, so two clocks a byte."""

FLASH_SETUP_CYCLES = 746
"""hardware.md, "DMA routes"; 112 cycles more than within SharedMemory, not explained."""

NPU_SETUP_CYCLES = 467
"""hardware.md, "DMA routes": the NPU copying within SharedMemory."""

NPU_COPY_FILL_CYCLES = 5
"""Cycles more of a copy within SharedMemory until its reads and writes overlap; fitted to the table."""
ROUND_BYTES, NPU_READ_BYTES, ROUND_STALLS = 8 * 16, 8, 2
"""Bytes of a round of the eight banks, of a read, and bank conflicts in each round."""


@lru_cache(maxsize=64)
def burst_routes(
    dma: BurstDma, device: Device, core_mhz: Fraction, collision: Collision = "none"
) -> Mapping[str, TransferRoute]:
    """All routes of a burst-by-burst engine, by the names of luna_transfer.csv."""
    core = Clock(core_mhz)
    port = PsramPort(device, core, dma.line_bytes, dma.prefetch_lines, dma.crossing_clocks, collision)
    routes = (
        psram_to_shared(dma, port),
        shared_to_psram(dma, port),
        shared_to_shared(dma),
        flash_to_shared(dma, core, LUNA_FLASH),
        npu_from_psram(port),
        npu_within_shared(),
    )
    short = dma.short_bytes
    return {
        r.name: replace(r, head=r.head if short else None, head_bytes=short, settled_bytes=4 * short)
        for r in routes
    }
