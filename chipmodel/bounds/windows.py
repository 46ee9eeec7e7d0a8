"""Cycles between two ops that no plan can avoid, because SharedMemory cannot hold everything beforehand.

When op ``i`` starts, at most ``capacity`` bytes are in SharedMemory. Whatever else the ops ``i`` to ``j``
read and do not make themselves (weights; tensors from before ``i``) is moved by the DMA engine between the
start of ``i`` and the end of ``j``, and that takes its time. What is there beforehand is at best what is
dearest to move for its size: a fractional knapsack. A *window* is such a stretch; windows that do not overlap
in time add up, and so do ops that compute one after another, so the best sum is a shortest-path recursion
over the ends of ops.

Nothing is said about who is kept where or in what order it is loaded, spilling included: a tensor that
leaves for Psram has to come back, which costs what the window charges. So the bound holds for any plan.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from heapq import heappop, heappush
from itertools import groupby

from chipmodel.model.time_bound import Unit


@dataclass(frozen=True, slots=True)
class Item:
    """Bytes that an op reads: ``cycles`` is the least that the DMA engine takes to bring all of them.

    ``made`` is the visit that makes them on the chip; -1 where they come from Psram.
    """

    key: Hashable
    bytes: int
    cycles: Fraction
    made: int = -1


@dataclass(frozen=True, slots=True)
class Visit:
    """One run of an op: its least ``cycles``, what it reads, and the DMA cycles of outputs that it makes
    for Psram (due at the very end)."""

    op: str
    cycles: int
    reads: tuple[Item, ...]
    stored: Fraction = Fraction(0)


@dataclass(frozen=True, slots=True)
class Stretch:
    """Why the bound is what it is: visits ``[start, stop)`` take at least ``cycles``, of the NPU that
    computes them or of the DMA engine that brings what cannot have been there before."""

    unit: Unit
    start: int
    stop: int
    cycles: int


@dataclass(frozen=True, slots=True)
class WindowBound:
    """``cycles`` that no plan beats, and the stretches that add up to it."""

    cycles: int
    stretches: tuple[Stretch, ...]


_UNIT = 1 << 40
"""Times are counted in this part of a cycle and rounded down; the bound itself in whole cycles, up."""
MOST_WORK = 400_000
"""Pairs of a start and an end that are looked at; of a longer program, not every op starts a window."""


def window_bound(visits: Sequence[Visit], capacity: int) -> WindowBound:
    """The best sum of windows and compute over ``visits``, which run one after another.

    ``capacity`` is SharedMemory in bytes; it is empty at first. O(n * min(n, ``MOST_WORK`` / n)) steps of
    a heap for n visits.
    """
    path = _Path(len(visits))
    stored = _suffix_sums([int(visit.stored * _UNIT) for visit in visits])
    every = max(1, len(visits) ** 2 // MOST_WORK)
    for start, visit in enumerate(visits):
        path.extend(start, start + 1, visit.cycles * _UNIT, "npu")
        if start % every == 0:
            moved = 0
            for stop, moved in _moved(visits, start, capacity if start else 0):
                path.extend(start, stop, moved, "dma")
            path.finish(start, moved + stored[start])
    return path.bound()


def _moved(visits: Sequence[Visit], start: int, capacity: int) -> Iterator[tuple[int, int]]:
    """For each ``stop``, the least DMA time between the start of visit ``start`` and the end of the visit
    before ``stop``: what is cheapest to move for its size was not there."""
    held, moved = 0, 0
    there: list[tuple[int, int]] = []
    known: set[Hashable] = set()
    for stop in range(start, len(visits)):
        for item in visits[stop].reads:
            if item.made < start and item.bytes and item.key not in known:
                known.add(item.key)
                heappush(there, (int(item.cycles * _UNIT / item.bytes), item.bytes))
                held += item.bytes
        while held > capacity:
            pace, size = heappop(there)
            left = min(size, held - capacity)
            moved += pace * left
            held -= left
            if left < size:
                heappush(there, (pace, size - left))
        yield stop + 1, moved


class _Path:
    """The longest path over the ends of visits. ``ends[k]``: visits before ``k`` end no earlier."""

    def __init__(self, count: int) -> None:
        self.ends = [0] * (count + 1)
        self.last: list[Stretch | None] = [None] * (count + 1)
        self.total = 0
        self.final: Stretch | None = None

    def extend(self, start: int, stop: int, time: int, unit: Unit) -> None:
        if self.ends[start] + time > self.ends[stop]:
            self.ends[stop] = self.ends[start] + time
            self.last[stop] = Stretch(unit, start, stop, time // _UNIT)

    def finish(self, start: int, time: int) -> None:
        """A window up to the end of everything, stores included."""
        if self.ends[start] + time > self.total:
            self.total = self.ends[start] + time
            self.final = Stretch("dma", start, len(self.ends) - 1, time // _UNIT)

    def bound(self) -> WindowBound:
        stretches: list[Stretch] = []
        at, latest = len(self.ends) - 1, self.final
        if latest is None or self.total <= self.ends[at]:
            latest = self.last[at]
        while latest is not None:
            stretches.append(latest)
            latest = self.last[latest.start]
        return WindowBound(-(-max(self.total, self.ends[at]) // _UNIT), tuple(_joined(stretches[::-1])))


def _joined(stretches: Sequence[Stretch]) -> Iterator[Stretch]:
    """Neighbours of the NPU as one."""
    for unit, group in groupby(stretches, key=lambda s: s.unit):
        every = list(group)
        if unit == "npu":
            yield Stretch(unit, every[0].start, every[-1].stop, sum(s.cycles for s in every))
        else:
            yield from every


def _suffix_sums(values: Sequence[int]) -> list[int]:
    sums = [0] * (len(values) + 1)
    for index in range(len(values) - 1, -1, -1):
        sums[index] = sums[index + 1] + values[index]
    return sums
