"""Transfers of chips whose DMA goes through a public controller: the code that ``chipmodel validate``
holds to the RTL's own cycles, with a chip's numbers in it.

A transfer begins at the start of a page on both sides. What no table says is assumed here: HyperBus
writes take as long as reads; reads and words of one transfer follow one another without a pause but the
controller's own; three bytes at the end of a transfer move as a word.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import floor

from chipmodel.chip.chip import CdmaDma, Controlled, EfPsramDma, HyperBusDma, Psram
from chipmodel.chip.clocks import Clock
from chipmodel.chip.psram_device import Protocol
from chipmodel.model.schedule import Direction
from dma.timing.cdma import AxiCdma
from dma.timing.controllers import EfPsram, HyperBus


@dataclass(frozen=True, slots=True)
class BurstShape:
    """What a transfer is made of: beats of ``beat_bytes``, ``burst_beats`` of which hold the Psram."""

    beat_bytes: int
    burst_beats: int


def hyperbus(core_mhz: Fraction, ck_mhz: Fraction, dma: HyperBusDma) -> HyperBus:
    """The controller at these clocks. Raises BadInput for a system clock below the Psram clock."""
    return HyperBus(
        Clock(core_mhz),
        Clock(ck_mhz),
        dma.latency_clocks,
        dma.latency_multiple,
        dma.max_burst_words,
        request_cycles=dma.request_cycles,
        response_cycles=dma.response_cycles,
        turnaround_cycles=dma.turnaround_cycles,
        fixed_clocks=dma.fixed_clocks,
        segment_clocks=dma.segment_clocks,
        round_trip_us=dma.round_trip_us,
        bus_bytes=dma.bus_bytes,
    )


def cdma(dma: CdmaDma) -> AxiCdma:
    """The copying engine."""
    return AxiCdma(dma.data_bits, dma.max_burst_beats, dma.boundary_bytes)


def ef_psram(dma: EfPsramDma) -> EfPsram:
    """The controller of serial Psram."""
    return EfPsram(dma.clocks_per_sck, dma.frame_cycles)


def controlled_cycles(
    core_mhz: Fraction, psram: Psram, dma: Controlled, direction: Direction, size: int
) -> int:
    """Core cycles of a transfer of ``size`` bytes after its set-up."""
    _assert_legal(core_mhz, psram, dma)
    match dma:
        case HyperBusDma():
            return hyperbus(core_mhz, psram.clock_mhz, dma).transfer(size, dma.request_bytes)
        case CdmaDma():
            return cdma(dma).copy(0, 0, size).cycles
        case EfPsramDma():
            words, rest = divmod(size, dma.access_bytes)
            access = _Access(dma, direction)
            pauses = (words + bool(rest) - 1) * dma.gap_cycles
            return words * access.cycles(dma.access_bytes) + pauses + (access.cycles(rest) if rest else 0)


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


def controlled_slope(core_mhz: Fraction, psram: Psram, dma: Controlled, direction: Direction) -> Fraction:
    """Core cycles that each byte of a long transfer adds."""
    return _family(core_mhz, psram, dma, direction)[1]


def controlled_least(
    core_mhz: Fraction, psram: Psram, dma: Controlled, direction: Direction
) -> tuple[int, Fraction]:
    """Cycles once and cycles a byte that transfers take at least, beside their set-ups."""
    return _below(*_family(core_mhz, psram, dma, direction))


Points = Iterable[tuple[int, Fraction | int]]


@lru_cache(maxsize=256)
def _family(
    core_mhz: Fraction, psram: Psram, dma: Controlled, direction: Direction
) -> tuple[Points, Fraction]:
    """(bytes, cycles) of the transfers that are cheapest for their bytes, and cycles of each byte more:
    no transfer takes less than the line through one of the points says."""
    match dma:
        case HyperBusDma():
            return _hyperbus_family(hyperbus(core_mhz, psram.clock_mhz, dma), dma)
        case CdmaDma():
            return cdma(dma).settled()
        case EfPsramDma():
            access = _Access(dma, direction)
            sizes = [size for size in (1, 2, 4) if size <= dma.access_bytes]
            each = Fraction(access.cycles(dma.access_bytes) + dma.gap_cycles, dma.access_bytes)
            return [(size, access.cycles(size)) for size in sizes], each


@dataclass(frozen=True, slots=True)
class _Access:
    """Accesses of one direction through EF_PSRAM_CTRL."""

    dma: EfPsramDma
    direction: Direction

    def cycles(self, size: int) -> int:
        """Core cycles of one; the controller knows 1, 2 and 4 bytes, so three are moved as four."""
        write = self.direction == "store"
        mode: Protocol = self.dma.write_mode if write else self.dma.read_mode
        moved = 1 << (size - 1).bit_length()
        return ef_psram(self.dma).cycles(mode, moved, 0 if write else self.dma.wait_clocks)


def _hyperbus_family(bus: HyperBus, dma: HyperBusDma) -> tuple[Points, Fraction]:
    """A request's cycles rise with its words more slowly than the whole does, and jump at each further
    CS# low: so they are least, beside their bytes, at the end of one, and of these of the first, the last
    or the last but one, as from one to the next they change evenly."""
    words = dma.request_bytes // 2
    last = (words - 1) // dma.burst_words * dma.burst_words
    ends = {min(dma.burst_words, words), last or words, words}
    points = [(2 * end, bus.fringe_cycles + bus.least_cycles(end)) for end in ends]
    return points, bus.least_cycles(words) / dma.request_bytes


def _below(points: Points, each: Fraction) -> tuple[int, Fraction]:
    """Cycles once and a byte that are never above ``cycles + n * each`` of ``bytes + n`` at any of the
    ``points``. Where that would be less than none once, all goes into the bytes."""
    once = min(cycles - size * each for size, cycles in points)
    if once >= 0:
        return floor(once), each
    return 0, min(each, *(Fraction(cycles) / size for size, cycles in points))


def _assert_legal(core_mhz: Fraction, psram: Psram, dma: Controlled) -> None:
    """CE# is never low for too long nor high for too short; a chip file that says so is refused."""
    match dma:
        case HyperBusDma():
            low, high, mhz = dma.low_clocks, dma.high_clocks, psram.clock_mhz
        case EfPsramDma():
            low, high, mhz = dma.low_cycles, dma.high_cycles, core_mhz
        case CdmaDma():
            return
    limit = psram.ce_low_max_us
    assert limit is None or low <= limit * mhz, f"CE# low for {low} clocks of {limit} us"
    assert high * 1000 >= psram.ce_high_ns * mhz, f"CE# high for {high} clocks, not {psram.ce_high_ns} ns"
