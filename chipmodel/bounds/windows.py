"""Lower bound on cycles from the limited capacity of SharedMemory.

When op ``i`` starts, at most ``capacity`` bytes are in SharedMemory. All other data that the ops ``i`` to
``j`` read and do not make themselves (weights, and tensors made before ``i``) are moved by the DMA engine
between the start of ``i`` and the end of ``j``: that is a *window*. In the best case the data that are there
beforehand are those that take the most cycles a byte to move: a fractional knapsack. Windows that do not
overlap in time add up, and so do the cycles of ops that compute one after another, so the best sum is a
longest path over the ends of ops.

This holds for plans without cascades, in which ops run one after another. It assumes nothing about addresses
or the order of loads, and a tensor that is spilled to Psram has to come back, which takes the cycles that the
window counts.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from heapq import heappop, heappush
from itertools import groupby, pairwise

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
MAX_WINDOWS = 400_000
"""Windows, pairs of a first and a last run, that are considered: about a second. In a longer program only
every k-th run begins windows."""


def window_bound(
    runs: Sequence[OpRun],
    capacity: int,
    borders: Sequence[int] | None = None,
    times: Callable[[int, int], int] = lambda start, stop: 1,
) -> WindowBound:
    """The largest sum of windows and compute cycles over ``runs``, one after another.

    ``capacity`` is SharedMemory in bytes, which is empty at first. Windows begin and end at ``borders``, by
    the number of the run after each; by default anywhere. ``times`` tells how often runs ``[start, stop)``
    come with nothing in between. At most ``MAX_WINDOWS`` windows, with a few operations on a heap for each.
    """
    path = _LongestPath(len(runs))
    stored = _suffix_sums([int(run.stored * _TICKS) for run in runs])
    every = max(1, len(runs) ** 2 // MAX_WINDOWS)
    between = range(len(runs) + 1) if borders is None else borders
    allowed = set(between)
    for start, after in pairwise(between):
        computed = (runs[run].cycles * times(run, run + 1) for run in range(start, after))
        path.extend(start, after, sum(computed) * _TICKS, "npu")
        if start % every == 0:
            moved = 0
            for stop, moved in _least_dma_ticks(runs, start, capacity if start else 0):
                if stop in allowed:
                    path.extend(start, stop, moved * times(start, stop), "dma")
            path.finish(start, moved + stored[start])
    return path.bound()


def _least_dma_ticks(runs: Sequence[OpRun], start: int, capacity: int) -> Iterator[tuple[int, int]]:
    """For each ``stop``, the least DMA ticks between the start of run ``start`` and the end of the run before
    ``stop``: up to ``capacity`` bytes are there at first, those that take the most ticks a byte."""
    held, moved = 0, 0
    cheapest: list[tuple[int, int]] = []
    known: set[Hashable] = set()
    for stop in range(start, len(runs)):
        for data in runs[stop].reads:
            if data.made < start and data.bytes and data.key not in known:
                known.add(data.key)
                heappush(cheapest, (int(data.cycles * _TICKS / data.bytes), data.bytes))
                held += data.bytes
        while held > capacity:
            ticks_per_byte, size = heappop(cheapest)
            excess = min(size, held - capacity)
            moved += ticks_per_byte * excess
            held -= excess
            if excess < size:
                heappush(cheapest, (ticks_per_byte, size - excess))
        yield stop + 1, moved


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
