"""The cut of all chains that is over first, where weights are loaded any number of segments ahead.

What is known of a cut up to an op are its cycles and the bytes of later weights that are there by then: the
DMA engine loads while the NPU computes, as far as a segment leaves memory. Of two cuts that end before the
same op, one that is neither sooner over nor further ahead is dropped: shortest paths with two labels.

Source: chipmodel. Shortest paths with several labels are those of Martins 1984, "On a multicriteria shortest
path problem".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dma.cascade_choice.segment_table import Chosen, SegmentTable
from dma.cascade_choice.stripe_heights import Counts

MOST_LABELS = 48
"""Cuts up to one op that are kept: the time grows with them."""

Amounts = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class LoadRate:
    """Cycles of loading weights: of any transfer, and of each byte."""

    start: float
    each: float


@dataclass(frozen=True, slots=True)
class ChainCosts:
    """A chain's segments and, by number, what they need to be run."""

    table: SegmentTable
    allowed: Chosen
    cycles: Counts
    """NPU cycles, and those of tensors that move."""
    weights: Counts
    room: Counts
    """Bytes that are left for weights of later segments."""
    whole: Chosen
    """Whether all weights have to be there at the start: those of a cascade."""


@dataclass(frozen=True, slots=True)
class _Labels:
    """Cuts that end before one op: their cycles, the bytes loaded ahead, and where the way there is kept."""

    cycles: Amounts
    ahead: Amounts
    places: Counts


@dataclass(slots=True)
class _CutPaths:
    """The last segment of every cut that was kept, and the place of the cut before it."""

    before: list[int]
    chain: list[int]
    number: list[int]

    def add(self, before: Counts, chain: int, numbers: Counts) -> Counts:
        """The places of further cuts."""
        first = len(self.before)
        self.before += before.tolist()
        self.chain += [chain] * len(before)
        self.number += numbers.tolist()
        return np.arange(first, len(self.before))

    def back(self, place: int) -> Iterator[tuple[int, int]]:
        """The chains and numbers of segments of a cut, from the last one on."""
        while place >= 0:
            yield self.chain[place], self.number[place]
            place = self.before[place]


def soonest_cut(chains: Sequence[ChainCosts], rate: LoadRate) -> list[tuple[int, int]]:
    """Return the cut of all ``chains``, one after another, over first: chains and segments' numbers."""
    paths = _CutPaths([], [], [])
    labels = _Labels(np.zeros(1), np.zeros(1), np.full(1, -1))
    for index, chain in enumerate(chains):
        labels = _through(chain, index, labels, paths, rate)
    return list(paths.back(int(labels.places[labels.cycles.argmin()])))[::-1]


def _through(chain: ChainCosts, index: int, labels: _Labels, paths: _CutPaths, rate: LoadRate) -> _Labels:
    table, until, bounds = chain.table, _LabelTable(chain.table.count), chain.table.bounds
    until.put(0, labels)
    for stop in range(1, table.count + 1):
        numbers = np.arange(bounds[stop], bounds[stop + 1])
        numbers = numbers[chain.allowed[numbers]]
        numbers = numbers[table.starts[numbers].argsort(kind="stable")]
        places, last = until.pairs(table.starts[numbers], numbers)
        took, ahead = after(chain, last, until.ahead[places], rate)
        cycles = until.cycles[places] + took
        kept = _kept(cycles, ahead, rate)
        before = until.places[places[kept]]
        labels = _Labels(cycles[kept], ahead[kept], paths.add(before, index, last[kept]))
        until.put(stop, labels)
    return labels


class _LabelTable:
    """The labels of all ops of a run, one array each: all segments before an op are seen at once."""

    def __init__(self, count: int) -> None:
        size = (count + 1) * (MOST_LABELS + 1)
        self.cycles, self.ahead = np.zeros(size), np.zeros(size)
        self.places = np.zeros(size, np.int64)
        self.many = np.zeros(count + 1, np.int64)
        """The number of labels by op; those before op ``stop`` begin at ``stop * (MOST_LABELS + 1)``."""

    def put(self, stop: int, labels: _Labels) -> None:
        """Set the labels of the cuts that end before op ``stop``."""
        first = stop * (MOST_LABELS + 1)
        here = slice(first, first + len(labels.cycles))
        self.cycles[here], self.ahead[here], self.places[here] = labels.cycles, labels.ahead, labels.places
        self.many[stop] = len(labels.cycles)

    def pairs(self, starts: Counts, numbers: Counts) -> tuple[Counts, Counts]:
        """Each label before op ``starts[i]`` with segment ``numbers[i]``, for all ``i``: where both are."""
        many = self.many[starts]
        before = np.repeat(many.cumsum() - many, many)
        within = np.arange(len(before)) - before
        return np.repeat(starts * (MOST_LABELS + 1), many) + within, np.repeat(numbers, many)


def after(chain: ChainCosts, numbers: Counts, ahead: Amounts, rate: LoadRate) -> tuple[Amounts, Amounts]:
    """Return the cycles of segments, and the bytes loaded ahead at their end, where ``ahead`` were before. A
    cascade waits for all of its weights, a single op computes while the rest of them is loaded."""
    cycles, weights, room = chain.cycles[numbers], chain.weights[numbers], chain.room[numbers]
    there = np.minimum(ahead, weights + room)
    missing = np.maximum(weights - there, 0)
    load = np.where(missing > 0, rate.start + rate.each * missing, 0)
    took = np.where(chain.whole[numbers], load + cycles, np.maximum(cycles, load))
    loaded = there + np.where(chain.whole[numbers], missing + cycles / rate.each, took / rate.each)
    return took, np.minimum(room, np.maximum(loaded - weights, 0))


def _kept(cycles: Amounts, ahead: Amounts, rate: LoadRate) -> Counts:
    """The numbers of the cuts that no other one is as good as in both, and of these some of many: that which
    is best if all is waited for, and others evenly."""
    order: Counts = np.lexsort((-ahead, cycles))
    further = np.maximum.accumulate(ahead[order])
    order = order[np.append(True, further[1:] > further[:-1])]
    if len(order) <= MOST_LABELS:
        return order
    best = int((cycles[order] - rate.each * ahead[order]).argmin())
    evenly = np.linspace(0, len(order) - 1, MOST_LABELS).astype(np.int64)
    chosen: Counts = order[sorted({*evenly.tolist(), best})]
    return chosen
