"""What a transfer does cycle by cycle: its set-up, then line after line, each with its beats at its end.

A *line* is what the engine moves before it may turn to something else on SharedMemory; *bursts* are
whole numbers of lines, and between bursts the engine may turn to another transfer, and the Psram to a
refresh or to the CPU.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import ceil

from chipmodel.chip.chip import BurstDma, Chip, Dma
from chipmodel.model.schedule import Direction
from dma.timing.controlled import burst_shape
from dma.timing.transfer import NAMES, burst_routes_of, cycles_per_byte, transfer_cycles


@dataclass(frozen=True, slots=True)
class TransferShape:
    """``setup`` core cycles on the channel, then ``data`` cycles of the engine.

    Line ``k`` ends ``(first + (k + 1) * pace) / scale`` cycles after the set-up, on the next whole cycle;
    ``first`` may be negative, ``first + pace`` not.
    Its bytes move in beats of up to ``beat_bytes``, one a cycle, the last at its end.
    """

    setup: int
    data: int
    bytes: int
    line_bytes: int
    beat_bytes: int
    burst_lines: int
    first: int
    pace: int
    scale: int

    @property
    def lines(self) -> int:
        return -(-self.bytes // self.line_bytes)

    def line_start(self, line: int) -> int:
        """The cycle of the data at which ``line`` begins; ``data`` for the one after the last."""
        if line <= 0:
            return 0
        if line >= self.lines:
            return self.data
        return -(-(self.first + line * self.pace) // self.scale)

    def line_at(self, cycle: int) -> int:
        """The line that is moved in ``cycle``."""
        return min(self.lines - 1, max(0, (cycle * self.scale - self.first) // self.pace))

    def burst_end(self, cycle: int) -> int:
        """The cycle at which the burst that is moved in ``cycle`` has ended."""
        burst = self.line_at(cycle) // self.burst_lines
        end = self.line_start((burst + 1) * self.burst_lines)
        while end <= cycle:  # bursts of no cycle at all, where the engine is faster than its clock
            burst += 1
            end = self.line_start((burst + 1) * self.burst_lines)
        return end

    def beats(self, line: int) -> tuple[int, int, int]:
        """The cycles ``[start, stop)`` in which ``line`` has a beat, and the bytes of each but the last,
        which brings what is left."""
        start, stop = self.line_start(line), self.line_start(line + 1)
        if start == stop:
            return start, stop, 0
        size = min(self.line_bytes, self.bytes - line * self.line_bytes)
        width = max(self.beat_bytes, -(-size // (stop - start)))
        return stop - -(-size // width), stop, width

    def beat(self, cycle: int) -> tuple[int, int] | None:
        """Where in the transfer the beat of ``cycle`` begins and its bytes; None for no beat."""
        line = self.line_at(cycle)
        start, stop, width = self.beats(line)
        if not start <= cycle < stop:
            return None
        place = line * self.line_bytes + (cycle - start) * width
        end = min(self.bytes, (line + 1) * self.line_bytes)
        return place, min(width, end - place)


@lru_cache(maxsize=1 << 14)
def _shape(chip_key: _ChipKey, direction: Direction, size: int) -> TransferShape:
    chip = chip_key.chip
    total = transfer_cycles(chip, direction, size)
    if isinstance(chip.dma, Dma):
        way = chip.dma.load if direction == "load" else chip.dma.store
        slope = cycles_per_byte(chip, direction)
        # A line of less than a cycle would have no cycle for its beat.
        line = chip.dma.port_bytes * ceil(1 / (slope * chip.dma.port_bytes))
        setup, first, pace = way.setup_cycles, Fraction(0), slope * line
        beat, lines = chip.dma.port_bytes, max(1, way.burst_bytes // line)
    elif isinstance(chip.dma, BurstDma):
        route = burst_routes_of(chip)[NAMES[direction]]
        line, beat = route.line_bytes, chip.dma.beat_bytes
        setup, first, pace = route.pace(size, chip.dma.setup_cycles)
        lines = 1 + chip.dma.prefetch_lines if direction == "load" else 1
    else:
        setup, beats = chip.dma.setup_cycles, burst_shape(chip.dma)
        line, beat, lines = beats.beat_bytes, beats.beat_bytes, beats.burst_beats
        # A line is a beat here; the first one also takes, or is spared, what the others do not.
        count, data = -(-size // line), total - setup
        pace = line * cycles_per_byte(chip, direction)
        first = data - count * pace
        if first + pace < 1:
            first, pace = Fraction(0), Fraction(data, count)
    scale = first.denominator * pace.denominator
    # A transfer of no bytes is a set-up, whose last cycle is called its data.
    setup = max(0, min(setup, total - 1))
    return TransferShape(
        setup, max(1, total - setup), size, line, beat, lines, int(first * scale), int(pace * scale), scale
    )


@dataclass(frozen=True, slots=True, eq=False)
class _ChipKey:
    """A chip by what its transfers depend on: a chip as a whole cannot be hashed."""

    chip: Chip

    def __hash__(self) -> int:
        return hash((self.chip.core_mhz, self.chip.psram, self.chip.dma))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _ChipKey):
            return NotImplemented
        mine = (self.chip.core_mhz, self.chip.psram, self.chip.dma)
        return mine == (other.chip.core_mhz, other.chip.psram, other.chip.dma)


def shape_of(chip: Chip, direction: Direction, size: int) -> TransferShape:
    """The shape of a transfer of ``size`` bytes: ``setup + data`` are its ``transfer_cycles``."""
    return _shape(_ChipKey(chip), direction, size)
