"""Transfers of chips whose DMA goes through a public controller, or to DRAM: the models that ``chipmodel
validate`` compares with the RTL's cycles, with a chip's numbers, and ``chipmodel.timing.dram``.

A transfer begins at the start of a page on both sides. Not in the tables, and assumed here: HyperBus writes
take as long as reads; reads and words of one transfer follow one another with no other pause than the
controller's own; three bytes at the end of a transfer move as a word.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache
from math import ceil, floor

from chipmodel.hardware.chip import CdmaDma, Controlled, DramDma, EfPsramDma, HyperBusDma, Psram
from chipmodel.hardware.clocks import Clock, rescaled
from chipmodel.model.schedule import Direction
from chipmodel.records import dataclass
from chipmodel.timing.cdma import AxiCdma
from chipmodel.timing.controllers import HyperBus
from chipmodel.timing.dram import dram_clocks


@dataclass(frozen=True, slots=True)
class BurstShape:
    """The parts of a transfer: beats of ``beat_bytes``, ``burst_beats`` of them a burst on the Psram."""

    beat_bytes: int
    burst_beats: int


def hyperbus(core_mhz: Fraction, ck_mhz: Fraction, dma: HyperBusDma) -> HyperBus:
    """The controller at these clocks. Raises BadInput for a system clock below the Psram clock."""
    return HyperBus(Clock(core_mhz), Clock(ck_mhz), dma)


def cdma(dma: CdmaDma) -> AxiCdma:
    """The copying engine."""
    return AxiCdma(dma.data_bits, dma.max_burst_beats, dma.boundary_bytes)


def controlled_cycles(
    core_mhz: Fraction, psram: Psram, dma: Controlled, direction: Direction, size: int
) -> int:
    """Core cycles of a transfer of ``size`` bytes after its set-up."""
    match dma:
        case HyperBusDma():
            return hyperbus(core_mhz, psram.clock_mhz, dma).transfer(size, dma.request_bytes)
        case CdmaDma():
            return cdma(dma).copy(0, 0, size).cycles
        case EfPsramDma():
            words, rest = divmod(size, dma.access_bytes)
            pauses = (words + bool(rest) - 1) * dma.gap_cycles
            last = _access_cycles(dma, direction, rest) if rest else 0
            return words * _access_cycles(dma, direction, dma.access_bytes) + pauses + last
        case DramDma():
            clocks = dram_clocks(core_mhz, psram.clock_mhz, dma, direction == "store").transfer(size)
            return ceil(rescaled(clocks, Clock(psram.clock_mhz), Clock(core_mhz)))


def burst_shape(dma: Controlled) -> BurstShape:
    """The beats and bursts of a transfer."""
    match dma:
        case HyperBusDma():
            return BurstShape(dma.bus_bytes, dma.request_beats)
        case CdmaDma():
            beat = dma.data_bits // 8
            return BurstShape(beat, max(1, min(dma.max_burst_beats, dma.boundary_bytes // beat)))
        case EfPsramDma():
            return BurstShape(dma.access_bytes, 1)
        case DramDma():
            access = dma.memory.access_bytes
            return BurstShape(access, max(1, dma.burst_bytes // access))


def controlled_slope(core_mhz: Fraction, psram: Psram, dma: Controlled, direction: Direction) -> Fraction:
    """Core cycles that each byte of a long transfer adds."""
    return _cheapest(core_mhz, psram, dma, direction)[1]


def controlled_least(
    core_mhz: Fraction, psram: Psram, dma: Controlled, direction: Direction
) -> tuple[int, Fraction]:
    """A lower bound on transfers without their set-ups: cycles once, and cycles for each byte."""
    return _below(*_cheapest(core_mhz, psram, dma, direction))


Points = Iterable[tuple[int, Fraction | int]]


@lru_cache(maxsize=256)
def _cheapest(
    core_mhz: Fraction, psram: Psram, dma: Controlled, direction: Direction
) -> tuple[Points, Fraction]:
    """(bytes, cycles) of the transfers that are cheapest for their bytes, and the cycles of each further
    byte: no transfer takes less than the lowest line of that slope through one of the points."""
    match dma:
        case HyperBusDma():
            return _hyperbus_cheapest(hyperbus(core_mhz, psram.clock_mhz, dma), dma)
        case CdmaDma():
            return cdma(dma).settled()
        case EfPsramDma():
            points = [(n, _access_cycles(dma, direction, n)) for n in (1, 2, 4) if n <= dma.access_bytes]
            return points, Fraction(points[-1][1] + dma.gap_cycles, dma.access_bytes)
        case DramDma():
            row, ratio = dma.memory.row_bytes, core_mhz / psram.clock_mhz
            clocks = dram_clocks(core_mhz, psram.clock_mhz, dma, direction == "store")
            # Within a row each access adds as little as any; the next row costs as much as this one, or more.
            each = clocks.row_clocks(clocks.row_accesses) * ratio / row
            return [(size, clocks.transfer(size) * ratio) for size in (clocks.access_bytes, row)], each


def _access_cycles(dma: EfPsramDma, direction: Direction, size: int) -> int:
    """Core cycles of one access; the controller moves 1, 2 or 4 bytes, so three are moved as four."""
    return dma.access_cycles(direction == "store", 1 << (size - 1).bit_length())


def _hyperbus_cheapest(bus: HyperBus, dma: HyperBusDma) -> tuple[Points, Fraction]:
    """The cheapest sizes of a request, and cycles of each further byte.

    Within one CS# low a request's cycles rise with its words more slowly than a long transfer's, and they
    jump at each further CS# low. So requests that end with a CS# low are the cheapest for their bytes; as
    these change evenly from one to the next, the first, the last full one and the whole request are enough.
    """
    words = dma.request_bytes // 2
    last = (words - 1) // dma.burst_words * dma.burst_words
    ends = {min(dma.burst_words, words), last or words, words}
    points = [(2 * end, bus.fringe_cycles + bus.least_cycles(end)) for end in ends]
    return points, bus.least_cycles(words) / dma.request_bytes


def _below(points: Points, each: Fraction) -> tuple[int, Fraction]:
    """Cycles once and cycles for each byte, never above ``cycles + n * each`` for ``bytes + n`` bytes from
    any of the ``points``. Where the cycles once would be negative, they are 0 and each byte takes less."""
    once = min(cycles - size * each for size, cycles in points)
    if once >= 0:
        return floor(once), each
    return 0, min(each, *(Fraction(cycles) / size for size, cycles in points))
