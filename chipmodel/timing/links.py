"""A memory off chip and the engine that reads or writes it: what transfers cost, by the chip's DMA model.

A transfer moves its bytes in one piece or in several runs, with a gap in the memory after each. An engine
that steps over the gaps itself (``dma.strided: yes``) is set up once, but begins new bursts with every run: a
run costs what a contiguous transfer of its bytes costs after its set-up, and no run is quicker than the long
transfers' pace or the memory's own bursts. Any other engine (``no``) is started for each run. A transfer in
runs never takes less than the same bytes in one run.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from fractions import Fraction
from math import ceil
from typing import NamedTuple

from chipmodel.hardware.chip import BurstDma, Channels, Dma, Psram
from chipmodel.hardware.psram_device import burst_clocks
from chipmodel.model.schedule import Direction
from chipmodel.records import dataclass
from chipmodel.timing.routes import burst_routes

ROUTES: Mapping[str, Direction] = {"dma psram->shared": "load", "dma shared->psram": "store"}
NAMES: Mapping[Direction, str] = {direction: name for name, direction in ROUTES.items()}


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


class Lines(NamedTuple):
    """A contiguous transfer line after line, as ``chipmodel.timing.shape.TransferShape`` has it."""

    setup: int
    first: Fraction
    pace: Fraction
    line_bytes: int
    beat_bytes: int
    burst_lines: int


class Link(ABC):
    """Transfers in one direction; times are core cycles."""

    def __init__(self, core_mhz: Fraction, memory: Psram, channels: Channels, setup_cycles: int) -> None:
        self.memory, self.strided, self.setup_cycles = memory, channels.strided, setup_cycles
        self.ratio = core_mhz / memory.clock_mhz
        """Core cycles of a clock of the memory."""

    @property
    @abstractmethod
    def per_byte(self) -> Fraction:
        """Cycles that each byte of a long transfer adds."""

    @property
    @abstractmethod
    def least(self) -> tuple[int, Fraction]:
        """A lower bound on any number of transfers together: cycles once, and cycles for each byte."""

    @abstractmethod
    def cycles(self, size: int) -> int:
        """Cycles of a transfer of ``size`` consecutive bytes, from its start to its end."""

    @abstractmethod
    def run(self, size: int) -> tuple[int, int, int]:
        """Cycles of the set-up, of the gap after a run, and of a run of ``size`` bytes."""

    @abstractmethod
    def lines(self, size: int) -> Lines:
        """Lines of ``size`` consecutive bytes."""

    @abstractmethod
    def cpu_cycles(self, size: int) -> int:
        """Cycles of an access of the CPU to ``size`` bytes, without a set-up."""

    def in_runs(self, size: int, runs: int) -> StridedTimes:
        """The times of ``size`` bytes in ``runs`` equal runs, of which there are at least two."""
        run = -(-size // runs)
        setup, gap, each = self.run(run)
        if not self.strided:
            each = self.cycles(run) - setup
            gap += setup
        together = self.cycles(size) - setup - (runs - 1) * gap
        return StridedTimes(runs, setup, max(1, each, -(-together // runs)), gap)


class LineLink(Link):
    """``dma.model: line``: each byte takes its share of a burst, overhead and data, so that the cycles follow
    the memory's clock and width."""

    def __init__(self, core_mhz: Fraction, memory: Psram, dma: Dma, direction: Direction) -> None:
        self.route, self.dma = dma.load if direction == "load" else dma.store, dma
        super().__init__(core_mhz, memory, dma.channels, self.route.setup_cycles)
        self._per_byte = self._burst(self.route.burst_bytes) / self.route.burst_bytes

    @property
    def per_byte(self) -> Fraction:
        return self._per_byte

    @property
    def least(self) -> tuple[int, Fraction]:
        return self.setup_cycles, self.per_byte

    def cycles(self, size: int) -> int:
        return self.setup_cycles + ceil(size * self.per_byte)

    def run(self, size: int) -> tuple[int, int, int]:
        rest = size % self.route.burst_bytes
        exact = (size - rest) * self.per_byte + (self._burst(rest) if rest else 0)
        return self.setup_cycles, 0, ceil(exact)

    def lines(self, size: int) -> Lines:
        port = self.dma.port_bytes
        # A line of less than a cycle would have no cycle for its beat.
        line = port * ceil(1 / (self.per_byte * port))
        pace, lines = self.per_byte * line, max(1, self.route.burst_bytes // line)
        return Lines(self.setup_cycles, Fraction(0), pace, line, port, lines)

    def cpu_cycles(self, size: int) -> int:
        return ceil((self.route.burst_overhead_clocks + size / self.memory.bytes_per_clock) * self.ratio)

    def _burst(self, size: int) -> Fraction:
        """Cycles of one burst."""
        data = size / self.memory.bytes_per_clock
        return max(data, (self.route.burst_overhead_clocks + data) / self.dma.outstanding) * self.ratio


class BurstLink(Link):
    """``dma.model: bursts``: the mechanism that explains the LUNA vendor's measured table."""

    def __init__(self, core_mhz: Fraction, memory: Psram, dma: BurstDma, direction: Direction) -> None:
        super().__init__(core_mhz, memory, dma.channels, dma.setup_cycles)
        assert memory.device is not None
        self.dma, self.device = dma, memory.device
        self.route = burst_routes(dma, memory.device, core_mhz, memory.collision)[NAMES[direction]]
        self.burst_lines = 1 + dma.prefetch_lines if direction == "load" else 1

    @property
    def per_byte(self) -> Fraction:
        return self.route.per_byte

    @property
    def least(self) -> tuple[int, Fraction]:
        once = self.route.least_setup
        return (0, self.route.least_per_byte) if once < 0 else (int(once), self.per_byte)

    def cycles(self, size: int) -> int:
        return self.route.cycles(size)

    def run(self, size: int) -> tuple[int, int, int]:
        return self.route.series_setup, 0, ceil(self.route.run_cycles(size))

    def lines(self, size: int) -> Lines:
        pace = self.route.pace(size, self.setup_cycles)
        return Lines(*pace, self.route.line_bytes, self.dma.beat_bytes, self.burst_lines)

    def cpu_cycles(self, size: int) -> int:
        around = self.device.ce_setup_hold_clocks + self.device.ce_high_min
        return ceil((burst_clocks(self.device, 0, size, False) + around) * self.ratio)
