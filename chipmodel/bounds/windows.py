"""Lower bound on cycles from the limited capacity of SharedMemory.

When op ``i`` starts, at most ``capacity`` bytes are in SharedMemory. All other data that the ops ``i`` to
``j`` read and do not make themselves (weights, and tensors made before ``i``) are moved by the DMA engine
between the start of ``i`` and the end of ``j``: that is a *window*. In the best case the data that are there
beforehand are those that take the most cycles a byte to move: a fractional knapsack. Windows that do not
overlap in time add up, and so do the cycles of ops that compute one after another, so the best sum is a
longest path over the ends of ops.

What a window moves is the largest of several sums, one for each rate (linear programming duality): every
byte takes the rate at most, and the bytes that are there beforehand save the rate each. In such a sum, what
an op reads adds the same to all windows that begin after what makes it, or reads it before. So a begin that
is ahead of an earlier one stays ahead, and all windows take about as many steps as there are reads.

This holds for plans without cascades, in which ops run one after another. It assumes nothing about addresses
or the order of loads, and a tensor that is spilled to Psram has to come back, which takes the cycles that the
window counts.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, groupby, pairwise
from typing import NamedTuple

from chipmodel.model.short_path import RepeatedRuns
from chipmodel.model.time_bound import Unit


@dataclass(frozen=True, slots=True)
class ReadData:
    """Data that an op reads; ``cycles`` are the least that the DMA engine takes to load all of them."""

    key: Hashable
    """Equal for the same data."""
    bytes: int
    cycles: Fraction
    made: int = -1
    """The index of the run that makes them on the chip; -1 where they come from Psram."""


@dataclass(frozen=True, slots=True)
class OpRun:
    """One run of an op. ``stored``: DMA cycles of program outputs that it makes, due at the very end."""

    op: str
    cycles: int
    """The least on the NPU."""
    reads: tuple[ReadData, ...]
    stored: Fraction = Fraction(0)


@dataclass(frozen=True, slots=True)
class BoundSegment:
    """Runs ``[start, stop)`` take at least ``cycles``: of the NPU to compute them, or of the DMA engine to
    load the data that cannot be in SharedMemory before."""

    unit: Unit
    start: int
    stop: int
    cycles: int


@dataclass(frozen=True, slots=True)
class WindowBound:
    """``cycles`` that every plan without cascades takes at least, and the segments that add up to them."""

    cycles: int
    segments: tuple[BoundSegment, ...]


_TICKS = 1 << 40
"""Integer ticks a cycle. Times are rounded down to ticks, so that the bound, rounded up to cycles, holds."""
MAX_STEPS = 200_000
"""Runs times rates that are considered: about half a second. In a longer program some rates are left out."""


class _Read(NamedTuple):
    """Bytes that ``run`` reads. Windows count them that begin after the run ``known``, which makes them or
    reads them before."""

    run: int
    known: int
    rate: int
    """Ticks a byte."""
    bytes: int


def window_bound(
    runs: Sequence[OpRun],
    capacity: int,
    borders: Sequence[int] | None = None,
    repeats: Sequence[RepeatedRuns] = (),
) -> WindowBound:
    """The largest sum of windows and compute cycles over ``runs``, one after another.

    ``capacity`` is SharedMemory in bytes, which is empty at first. Windows begin and end at ``borders``, by
    the number of the run after each; by default anywhere. Of ``repeats``, inner ones come first.
    """
    path, reads = _LongestPath(len(runs)), list(_reads(runs))
    rates = _rates(reads, capacity, MAX_STEPS // max(1, len(runs)))
    times, waiting = [1] * len(runs), [RepeatedRuns(0, len(runs), 1)]
    for start, stop, count in reversed(repeats):
        waiting.append(RepeatedRuns(start, stop, count * times[start]))
        times[start:stop] = [count * outer for outer in times[start:stop]]
    waiting.sort(key=lambda repeat: -repeat.start)
    searches: list[_Begins] = []
    by_run = {run: tuple(group) for run, group in groupby(reads, key=lambda read: read.run)}
    between = list(range(len(runs) + 1) if borders is None else borders)
    for start, stop in pairwise(between):
        path.extend(
            start, stop, sum(runs[run].cycles * times[run] for run in range(start, stop)) * _TICKS, "npu"
        )
        while waiting and waiting[-1].start <= start:
            within = waiting.pop()
            searches += [_Begins(within, rate, capacity) for rate in rates]
        searches = [search for search in searches if stop <= search.within.stop]
        read = [read for run in range(start, stop) for read in by_run.get(run, ())]
        for search in searches:
            search.begin(start, path.ends[start])
            search.count(read)
        for search in searches:
            path.extend(search.starts[0], stop, search.first - path.ends[search.starts[0]], "dma")
    stored = _suffix_sums([int(run.stored * _TICKS) for run in runs])
    for rate in rates:
        moved = _moved_to_the_end(reads, rate, len(runs))
        for start in between[:-1]:
            path.finish(start, max(0, moved[start] - (rate * capacity if start else 0)) + stored[start])
    return path.bound()


def _reads(runs: Sequence[OpRun]) -> Iterator[_Read]:
    """Yield what windows may count, in order of runs."""
    latest: dict[Hashable, int] = {}
    for index, run in enumerate(runs):
        for data in run.reads:
            known = max(data.made, latest.get(data.key, -1))
            latest[data.key] = index
            if data.bytes and known < index:
                yield _Read(index, known, int(data.cycles * _TICKS / data.bytes), data.bytes)


def _rates(reads: Sequence[_Read], capacity: int, most: int) -> list[int]:
    """At most ``most`` rates, or one, at which a window may have its largest sum: the highest, for windows
    that begin with an empty SharedMemory, and those of which SharedMemory does not hold all dearer bytes."""
    ordered = sorted(reads, key=lambda read: -read.rate)
    held = accumulate(read.bytes for read in ordered)
    filling = [read.rate for read, filled in zip(ordered, held, strict=True) if filled > capacity]
    rates = list(dict.fromkeys((ordered[0].rate if ordered else 0, *filling)))
    return rates[:: max(1, -(-len(rates) // max(1, most)))]


def _moved_to_the_end(reads: Sequence[_Read], rate: int, runs: int) -> list[int]:
    """For each begin, the ticks of windows up to the end where SharedMemory is empty at first."""
    steps = [0] * (runs + 1)
    for read in reads:
        ticks = min(read.rate, rate) * read.bytes
        steps[read.known + 1] += ticks
        steps[read.run + 1] -= ticks
    return list(accumulate(steps))


class _Begins:
    """Begins of windows of which no later one is ahead, for one rate: with the ticks until the window begins
    and those that it takes until now."""

    def __init__(self, within: RepeatedRuns, rate: int, capacity: int) -> None:
        self.within, self.rate, self.saved = within, rate, rate * capacity * within.times
        self.starts: list[int] = []
        self.leads: list[int] = []
        """The ticks by which each is ahead of the next one; of the last one, all of its ticks."""
        self.first = 0
        """The ticks of the first begin, which is ahead of all others."""

    def begin(self, start: int, before: int) -> None:
        """Add the windows that begin at ``start``, in ticks ``before``."""
        ticks = before - (self.saved if start else 0)
        while self.starts and self.leads[-1] < ticks:
            self._drop(len(self.starts) - 1)
        if self.starts:
            self.leads[-1] -= ticks
        else:
            self.first = ticks
        self.starts.append(start)
        self.leads.append(ticks)

    def count(self, reads: Sequence[_Read]) -> None:
        """Add what the runs after the latest begin read."""
        starts, leads, rate, times = self.starts, self.leads, self.rate, self.within.times
        for _, known, full_rate, size in reads:
            number = bisect_right(starts, known)
            if number == len(starts):
                continue
            ticks = min(full_rate, rate) * size * times
            leads[-1] += ticks
            if number == 0:
                self.first += ticks
                continue
            leads[number - 1] -= ticks
            while number and leads[number - 1] < 0:
                number -= 1
                self._drop(number)

    def _drop(self, number: int) -> None:
        """Remove a begin that a later one is ahead of."""
        lead = self.leads.pop(number)
        del self.starts[number]
        if number:
            self.leads[number - 1] += lead
        else:
            self.first -= lead


class _LongestPath:
    """The longest path over the ends of runs; ``ends[k]`` has the least ticks until run ``k - 1`` ends."""

    def __init__(self, count: int) -> None:
        self.ends = [0] * (count + 1)
        self.last: list[BoundSegment | None] = [None] * (count + 1)
        self.total = 0
        self.final: BoundSegment | None = None

    def extend(self, start: int, stop: int, ticks: int, unit: Unit) -> None:
        if self.ends[start] + ticks > self.ends[stop]:
            self.ends[stop] = self.ends[start] + ticks
            self.last[stop] = BoundSegment(unit, start, stop, ticks // _TICKS)

    def finish(self, start: int, ticks: int) -> None:
        """Add a window up to the end of the program, including its stores."""
        if self.ends[start] + ticks > self.total:
            self.total = self.ends[start] + ticks
            self.final = BoundSegment("dma", start, len(self.ends) - 1, ticks // _TICKS)

    def bound(self) -> WindowBound:
        segments: list[BoundSegment] = []
        at, latest = len(self.ends) - 1, self.final
        if latest is None or self.total <= self.ends[at]:
            latest = self.last[at]
        while latest is not None:
            segments.append(latest)
            latest = self.last[latest.start]
        return WindowBound(-(-max(self.total, self.ends[at]) // _TICKS), tuple(_joined(segments[::-1])))


def _joined(segments: Sequence[BoundSegment]) -> Iterator[BoundSegment]:
    """Join neighbouring segments of the NPU."""
    for unit, group in groupby(segments, key=lambda s: s.unit):
        every = list(group)
        if unit == "npu":
            yield BoundSegment(unit, every[0].start, every[-1].stop, sum(s.cycles for s in every))
        else:
            yield from every


def _suffix_sums(values: Sequence[int]) -> list[int]:
    sums = [0] * (len(values) + 1)
    for index in range(len(values) - 1, -1, -1):
        sums[index] = sums[index + 1] + values[index]
    return sums
