"""Transfers of chips whose DMA goes through a public controller, or to DRAM: the models that ``chipmodel
validate`` compares with the RTL's cycles, with a chip's numbers, and ``chipmodel.timing.dram``.

A transfer begins at the start of a page on both sides. Not in the tables, and assumed here: HyperBus writes
take as long as reads; reads and words of one transfer follow one another with no other pause than the
controller's own; three bytes at the end of a transfer move as a word.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from fractions import Fraction
from functools import cached_property
from math import ceil, floor

from chipmodel.hardware.chip import CdmaDma, Controlled, DramDma, EfPsramDma, HyperBusDma, Psram
from chipmodel.hardware.clocks import Clock
from chipmodel.model.schedule import Direction
from chipmodel.timing.cdma import AxiCdma
from chipmodel.timing.controllers import HyperBus
from chipmodel.timing.dram import dram_clocks
from chipmodel.timing.links import Lines, Link

Points = Iterable[tuple[int, Fraction | int]]


class ControlledLink(Link):
    """An engine that moves beats of ``beat_bytes``, ``burst_beats`` of them a burst on the memory, with
    ``gap_cycles`` after each run."""

    beat_bytes: int
    burst_beats: int
    gap_cycles = 0

    def __init__(self, core_mhz: Fraction, memory: Psram, dma: Controlled) -> None:
        super().__init__(core_mhz, memory, dma.channels, dma.setup_cycles)

    @cached_property
    @abstractmethod
    def cheapest(self) -> tuple[Points, Fraction]:
        """(bytes, cycles) of the transfers that are cheapest for their bytes, and the cycles of each further
        byte: no transfer takes less than the lowest line of that slope through one of the points."""

    @property
    def per_byte(self) -> Fraction:
        return self.cheapest[1]

    @property
    def least(self) -> tuple[int, Fraction]:
        once, each = _below(*self.cheapest)
        return self.setup_cycles + once, each

    def cycles(self, size: int) -> int:
        return self.setup_cycles + self.cpu_cycles(size)

    def run(self, size: int) -> tuple[int, int, int]:
        return self.setup_cycles, self.gap_cycles, self.cpu_cycles(size)

    def lines(self, size: int) -> Lines:
        # A line is a beat here, and at least a cycle; the first one takes longer or shorter than the others.
        line = self.beat_bytes * ceil(1 / (self.per_byte * self.beat_bytes))
        count, data = -(-size // line), self.cpu_cycles(size)
        pace = line * self.per_byte
        first = data - count * pace
        if first + pace < 1:
            first, pace = Fraction(0), Fraction(data, count)
        lines = max(1, self.burst_beats * self.beat_bytes // line)
        return Lines(self.setup_cycles, first, pace, line, line, lines)


class HyperBusLink(ControlledLink):
    """Reads of HyperRAM one after another."""

    def __init__(self, core_mhz: Fraction, memory: Psram, dma: HyperBusDma, _: Direction) -> None:
        super().__init__(core_mhz, memory, dma)
        self.bus = HyperBus(Clock(core_mhz), Clock(memory.clock_mhz), dma)
        self.beat_bytes, self.burst_beats = dma.bus_bytes, dma.request_beats

    def cpu_cycles(self, size: int) -> int:
        return self.bus.transfer(size, self.bus.dma.request_bytes)

    @cached_property
    def cheapest(self) -> tuple[Points, Fraction]:
        """The cheapest sizes of a request, and cycles of each further byte.

        Within one CS# low a request's cycles rise with its words more slowly than a long transfer's, and they
        jump at each further CS# low. So requests that end with a CS# low are the cheapest for their bytes; as
        these change evenly from one to the next, the first, the last full one and the whole request are
        enough.
        """
        bus, dma = self.bus, self.bus.dma
        words = dma.request_bytes // 2
        last = (words - 1) // dma.burst_words * dma.burst_words
        ends = {min(dma.burst_words, words), last or words, words}
        points = [(2 * end, bus.fringe_cycles + bus.least_cycles(end)) for end in ends]
        return points, bus.least_cycles(words) / dma.request_bytes


def cdma(dma: CdmaDma) -> AxiCdma:
    """The copying engine."""
    return AxiCdma(dma.data_bits, dma.max_burst_beats, dma.boundary_bytes)


class CdmaLink(ControlledLink):
    """Copies between two AXI memories."""

    def __init__(self, core_mhz: Fraction, memory: Psram, dma: CdmaDma, _: Direction) -> None:
        super().__init__(core_mhz, memory, dma)
        self.engine, self.beat_bytes = cdma(dma), dma.data_bits // 8
        self.burst_beats = max(1, min(dma.max_burst_beats, dma.boundary_bytes // self.beat_bytes))

    def cpu_cycles(self, size: int) -> int:
        return self.engine.copy(0, 0, size).cycles

    @cached_property
    def cheapest(self) -> tuple[Points, Fraction]:
        return self.engine.settled()


class EfPsramLink(ControlledLink):
    """Word after word of a Psram."""

    def __init__(self, core_mhz: Fraction, memory: Psram, dma: EfPsramDma, direction: Direction) -> None:
        super().__init__(core_mhz, memory, dma)
        self.dma, self.store = dma, direction == "store"
        self.beat_bytes, self.burst_beats, self.gap_cycles = dma.access_bytes, 1, dma.gap_cycles

    def cpu_cycles(self, size: int) -> int:
        words, rest = divmod(size, self.beat_bytes)
        pauses = (words + bool(rest) - 1) * self.gap_cycles
        return words * self._access(self.beat_bytes) + pauses + (self._access(rest) if rest else 0)

    @cached_property
    def cheapest(self) -> tuple[Points, Fraction]:
        points = [(n, self._access(n)) for n in (1, 2, 4) if n <= self.beat_bytes]
        return points, Fraction(points[-1][1] + self.gap_cycles, self.beat_bytes)

    def _access(self, size: int) -> int:
        """Cycles of one access; the controller moves 1, 2 or 4 bytes, so three are moved as four."""
        return self.dma.access_cycles(self.store, 1 << (size - 1).bit_length())


class DramLink(ControlledLink):
    """Row after row of DRAM."""

    def __init__(self, core_mhz: Fraction, memory: Psram, dma: DramDma, direction: Direction) -> None:
        super().__init__(core_mhz, memory, dma)
        self.dram = dma.memory
        self.clocks = dram_clocks(core_mhz, memory.clock_mhz, dma, direction == "store")
        self.beat_bytes = self.dram.access_bytes
        self.burst_beats = max(1, dma.burst_bytes // self.beat_bytes)

    def cpu_cycles(self, size: int) -> int:
        return ceil(self.clocks.transfer(size) * self.ratio)

    def run(self, size: int) -> tuple[int, int, int]:
        # Rows of later runs open while earlier ones move, so only the first one waits for its data.
        waits = int(self.clocks.ending * self.ratio)
        return self.setup_cycles + waits, 0, ceil(self.clocks.run(size) * self.ratio)

    @cached_property
    def cheapest(self) -> tuple[Points, Fraction]:
        row, clocks = self.dram.row_bytes, self.clocks
        # Within a row each access adds as little as any; the next row costs as much as this one, or more.
        each = clocks.row_clocks(clocks.row_accesses) * self.ratio / row
        return [(size, clocks.transfer(size) * self.ratio) for size in (clocks.access_bytes, row)], each


def _below(points: Points, each: Fraction) -> tuple[int, Fraction]:
    """Cycles once and cycles for each byte, never above ``cycles + n * each`` for ``bytes + n`` bytes from
    any of the ``points``. Where the cycles once would be negative, they are 0 and each byte takes less."""
    once = min(cycles - size * each for size, cycles in points)
    if once >= 0:
        return floor(once), each
    return 0, min(each, *(Fraction(cycles) / size for size, cycles in points))
