"""A transfer cycle by cycle: its set-up, then line after line, each with its beats at its end.

A *line* is what the engine moves on SharedMemory without a pause; *bursts* are whole numbers of lines, and
between bursts the engine may serve another transfer, and the Psram a refresh or the CPU.
"""

from __future__ import annotations

from dataclasses import field
from fractions import Fraction
from functools import lru_cache
from math import ceil

from chipmodel.hardware.chip import BurstDma, Chip, Dma
from chipmodel.model.schedule import Traffic
from chipmodel.records import dataclass
from chipmodel.timing.contiguous import NAMES, routes_of
from chipmodel.timing.controlled import burst_shape
from chipmodel.timing.strided import run_times
from chipmodel.timing.transfer import cycles_per_byte, link, set_up_before, transfer_cycles


@dataclass(frozen=True, slots=True)
class TransferShape:
    """The times of a transfer: ``setup`` core cycles on the channel, then ``data`` cycles of the engine.

    It is ``runs`` runs of as many lines each, with ``gap`` cycles between two of them, which count as the
    beginning of the next run's first line. From the beginning of a run, its line ``k`` ends after ``(first +
    (k + 1) * pace) / scale`` cycles, on the next whole cycle, and the last one with the run; ``first`` may be
    negative, ``first + pace`` not. Its bytes move in beats of up to ``beat_bytes``, one a cycle, the last at
    its end. Lines are counted through all runs.
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
    runs: int = 1
    gap: int = 0
    run_lines: int = field(init=False)
    """Lines of each run; like the next two computed once, as simulations ask for them at every line."""
    lines: int = field(init=False)
    _period: int = field(init=False)
    """Cycles from the beginning of a run to that of the next."""

    def __post_init__(self) -> None:
        run_bytes = -(-self.bytes // self.runs)
        run_lines = max(1, -(-run_bytes // self.line_bytes))
        object.__setattr__(self, "run_lines", run_lines)
        object.__setattr__(self, "lines", self.runs * run_lines)
        object.__setattr__(self, "_period", (self.data + self.gap) // self.runs)

    def line_start(self, line: int) -> int:
        """The data cycle at which ``line`` begins; ``data`` for the one after the last."""
        if line <= 0:
            return 0
        if line >= self.lines:
            return self.data
        if self.runs == 1:
            return -(-(self.first + line * self.pace) // self.scale)
        run, line = divmod(line, self.run_lines)
        within = -(-(self.first + line * self.pace) // self.scale) if line else -self.gap
        return run * self._period + within

    def line_at(self, cycle: int) -> int:
        """The line that is moved in data cycle ``cycle``."""
        run = 0 if self.runs == 1 else min(self.runs - 1, (cycle + self.gap) // self._period)
        line = ((cycle - run * self._period) * self.scale - self.first) // self.pace
        return run * self.run_lines + min(self.run_lines - 1, max(0, line))

    def burst_end(self, cycle: int) -> int:
        """The data cycle at which the burst moved in ``cycle`` has ended; none goes on into the next run."""
        line = self.line_at(cycle)
        while True:  # more than once for bursts of no cycle, where the engine is faster than its clock
            run, line = divmod(line, self.run_lines)
            line = min(self.run_lines, (line // self.burst_lines + 1) * self.burst_lines)
            line += run * self.run_lines
            end = self.line_start(line)
            if end > cycle:
                return end

    def starts_burst(self, cycle: int) -> bool:
        """Whether a burst begins with data cycle ``cycle``."""
        line = self.line_at(cycle)
        return self.line_start(line - line % self.run_lines % self.burst_lines) == cycle

    def place(self, line: int) -> int:
        """The first byte of ``line``, counted from the transfer's start."""
        if self.runs == 1:
            return line * self.line_bytes
        run, line = divmod(line, self.run_lines)
        return run * self.bytes // self.runs + line * self.line_bytes

    def regular_lines(self, line: int) -> tuple[int, int]:
        """The first and last line of the run of ``line``; those between have the same length and pace."""
        start = line - line % self.run_lines
        return start, start + self.run_lines - 1

    def phase(self, cycle: int, line: int) -> int:
        """How far the data cycle ``cycle`` is from the begin of ``line`` in its run, in 1 / ``scale``."""
        run, line = divmod(line, self.run_lines)
        return (cycle - run * self._period) * self.scale - self.first - line * self.pace

    def beat(self, cycle: int) -> tuple[int, int] | None:
        """First byte of the beat in data cycle ``cycle`` of a transfer, and its bytes; None for none. The
        last beat of a line moves the rest."""
        line = self.line_at(cycle)
        start, stop = self.line_start(line), self.line_start(line + 1)
        if start == stop:
            return None
        end = self._line_end(line)
        size = end - self.place(line)
        width = max(self.beat_bytes, -(-size // (stop - start)))
        number = cycle - (stop - -(-size // width))
        if number < 0 or cycle >= stop:
            return None
        place = self.place(line) + number * width
        return place, min(width, end - place)

    def _line_end(self, line: int) -> int:
        """The byte after the last one of ``line``."""
        next_run = (line // self.run_lines + 1) * self.bytes // self.runs
        return min(next_run, self.place(line) + self.line_bytes)


@lru_cache(maxsize=1 << 14)
def _shape(chip_key: _ChipKey, traffic: Traffic, size: int, runs: int) -> TransferShape:
    chip = chip_key.chip
    if runs == 1:
        return _contiguous_shape(chip, traffic, size)
    times = run_times(chip.core_mhz, *link(chip, traffic), size, runs)
    run = -(-size // runs)
    one = _contiguous_shape(chip, traffic, run)
    # A run has the lines of a transfer of its bytes; the first one takes as much longer as the run does.
    first, pace = Fraction(one.first, one.scale) + times.each - one.data, Fraction(one.pace, one.scale)
    if times.each < one.data:
        first, pace = Fraction(0), Fraction(times.each * one.line_bytes, run)
    scale = first.denominator * pace.denominator
    return TransferShape(
        times.setup,
        times.data,
        size,
        one.line_bytes,
        one.beat_bytes,
        one.burst_lines,
        int(first * scale),
        int(pace * scale),
        scale,
        runs,
        times.gap,
    )


def _contiguous_shape(chip: Chip, traffic: Traffic, size: int) -> TransferShape:
    total, before = transfer_cycles(chip, traffic, size), set_up_before(chip, traffic)
    memory, dma, direction = link(chip, traffic)
    if isinstance(dma, Dma):
        route = dma.load if direction == "load" else dma.store
        slope = cycles_per_byte(chip, traffic)
        # A line of less than a cycle would have no cycle for its beat.
        line = dma.port_bytes * ceil(1 / (slope * dma.port_bytes))
        setup, first, pace = route.setup_cycles, Fraction(0), slope * line
        beat, lines = dma.port_bytes, max(1, route.burst_bytes // line)
    elif isinstance(dma, BurstDma):
        bursts = routes_of(chip.core_mhz, memory, dma)[NAMES[direction]]
        line, beat = bursts.line_bytes, dma.beat_bytes
        setup, first, pace = bursts.pace(size, dma.setup_cycles)
        lines = 1 + dma.prefetch_lines if direction == "load" else 1
    else:
        setup, beats, slope = dma.setup_cycles, burst_shape(dma), cycles_per_byte(chip, traffic)
        # A line is a beat here, and at least a cycle; the first one takes longer or shorter than the others.
        line = beat = beats.beat_bytes * ceil(1 / (slope * beats.beat_bytes))
        lines = max(1, beats.burst_beats * beats.beat_bytes // line)
        count, data = -(-size // line), total - before - setup
        pace = line * slope
        first = data - count * pace
        if first + pace < 1:
            first, pace = Fraction(0), Fraction(data, count)
    setup += before
    scale = first.denominator * pace.denominator
    # A transfer of no bytes is only a set-up, whose last cycle counts as its data.
    setup = max(0, min(setup, total - 1))
    return TransferShape(
        setup, max(1, total - setup), size, line, beat, lines, int(first * scale), int(pace * scale), scale
    )


@dataclass(frozen=True, slots=True, eq=False)
class _ChipKey:
    """A chip, compared by what its transfers depend on: a chip as a whole cannot be hashed."""

    chip: Chip

    def __hash__(self) -> int:
        return hash(self._transfers)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _ChipKey):
            return NotImplemented
        return self._transfers == other._transfers

    @property
    def _transfers(self) -> tuple[object, ...]:
        chip = self.chip
        return chip.core_mhz, chip.psram, chip.dma, chip.weights, chip.memories


def shape_of(chip: Chip, traffic: Traffic, size: int, runs: int = 1) -> TransferShape:
    """The times of a transfer of ``size`` bytes in ``runs`` runs; ``setup + data``: ``transfer_cycles``."""
    return _shape(_ChipKey(chip), traffic, size, runs)
