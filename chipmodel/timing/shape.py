"""A transfer cycle by cycle: its set-up, then line after line, each with its beats at its end.

A *line* is what the engine moves on SharedMemory without a pause; *bursts* are whole numbers of lines, and
between bursts the engine may serve another transfer, and the Psram a refresh or the CPU.
"""

from __future__ import annotations

from dataclasses import field, replace
from fractions import Fraction
from functools import lru_cache

from chipmodel.hardware.chip import Chip
from chipmodel.model.schedule import Traffic
from chipmodel.records import dataclass
from chipmodel.timing.links import Link
from chipmodel.timing.transfer import link, set_up_before


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


def shape_of(chip: Chip, traffic: Traffic, size: int, runs: int = 1) -> TransferShape:
    """The times of a transfer of ``size`` bytes in ``runs`` runs; ``setup + data``: ``transfer_cycles``."""
    return _shape(link(chip, traffic), set_up_before(chip, traffic), size, runs)


@lru_cache(maxsize=1 << 14)
def _shape(used: Link, before: int, size: int, runs: int) -> TransferShape:
    if runs == 1:
        return _contiguous_shape(used, before, size)
    times = used.in_runs(size, runs)
    run = -(-size // runs)
    one = _contiguous_shape(used, before, run)
    # A run has the lines of a transfer of its bytes; the first one takes as much longer as the run does.
    first, pace = Fraction(one.first, one.scale) + times.each - one.data, Fraction(one.pace, one.scale)
    if times.each < one.data:
        first, pace = Fraction(0), Fraction(times.each * one.line_bytes, run)
    scale = first.denominator * pace.denominator
    return replace(
        one,
        setup=before + times.setup,
        data=times.data,
        bytes=size,
        first=int(first * scale),
        pace=int(pace * scale),
        scale=scale,
        runs=runs,
        gap=times.gap,
    )


def _contiguous_shape(used: Link, before: int, size: int) -> TransferShape:
    setup, first, pace, line, beat, lines = used.lines(size)
    total, scale = before + used.cycles(size), first.denominator * pace.denominator
    # A transfer of no bytes is only a set-up, whose last cycle counts as its data.
    setup = max(0, min(before + setup, total - 1))
    return TransferShape(
        setup, max(1, total - setup), size, line, beat, lines, int(first * scale), int(pace * scale), scale
    )
