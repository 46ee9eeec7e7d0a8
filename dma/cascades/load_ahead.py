"""The cut of all runs that is over first, where weights are loaded any number of segments ahead.

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

from dma.cascades.cuts import Counts, SegmentTable

MOST_LABELS = 48
"""Cuts up to one op that are kept. Chosen."""

Amounts = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class LoadRate:
    """Cycles of loading weights: of any transfer, and of each byte."""

    start: float
    each: float


@dataclass(frozen=True, slots=True)
class RunCosts:
    """A run's segments and, by number, what they need to be run."""

    table: SegmentTable
    allowed: NDArray[np.bool_]
    cycles: Counts
    """NPU cycles, and those of tensors that move."""
    weights: Counts
    room: Counts
    """Bytes that are left for weights of later segments."""
    whole: NDArray[np.bool_]
    """Whether all weights have to be there at the start: those of a cascade."""


@dataclass(frozen=True, slots=True)
class _Labels:
    """Cuts that end before one op: their cycles, the bytes loaded ahead, and where the way there is kept."""

    cycles: Amounts
    ahead: Amounts
    places: Counts


@dataclass(slots=True)
class _Ways:
    """The last segment of every cut that was kept, and the place of the cut before it."""

    before: list[int]
    run: list[int]
    number: list[int]

    def add(self, before: Counts, run: int, numbers: Counts) -> Counts:
        """The places of further cuts."""
        first = len(self.before)
        self.before += before.tolist()
        self.run += [run] * len(before)
        self.number += numbers.tolist()
        return np.arange(first, len(self.before))

    def back(self, place: int) -> Iterator[tuple[int, int]]:
        """The runs and numbers of segments of a cut, from the last one on."""
        while place >= 0:
            yield self.run[place], self.number[place]
            place = self.before[place]


def soonest_cut(runs: Sequence[RunCosts], rate: LoadRate) -> list[tuple[int, int]]:
    """The cut of all ``runs``, one after another, that is over first: runs and numbers of segments."""
    ways = _Ways([], [], [])
    labels = _Labels(np.zeros(1), np.zeros(1), np.full(1, -1))
    for index, run in enumerate(runs):
        labels = _through(run, index, labels, ways, rate)
    return list(ways.back(int(labels.places[labels.cycles.argmin()])))[::-1]


def _through(run: RunCosts, index: int, labels: _Labels, ways: _Ways, rate: LoadRate) -> _Labels:
    until, table = [labels], run.table
    for stop in range(1, table.count + 1):
        numbers = np.arange(table.bounds[stop], table.bounds[stop + 1])
        numbers = numbers[run.allowed[numbers]]
        groups = [numbers[table.starts[numbers] == start] for start in np.unique(table.starts[numbers])]
        ends = [_extended(run, until[table.starts[group[0]]], group, rate) for group in groups]
        cycles, ahead, before, last = (np.concatenate(each) for each in zip(*ends, strict=True))
        kept = _kept(cycles, ahead, rate)
        until.append(_Labels(cycles[kept], ahead[kept], ways.add(before[kept], index, last[kept])))
    return until[-1]


def _extended(
    run: RunCosts, labels: _Labels, numbers: Counts, rate: LoadRate
) -> tuple[Amounts, Amounts, Counts, Counts]:
    """Cycles, bytes loaded ahead, place of the cut before and last segment of all ``labels`` with each of
    some segments behind them."""
    column = numbers[:, None]
    took, ahead = after(run, column, labels.ahead[None, :], rate)
    before = np.broadcast_to(labels.places, took.shape)
    last = np.broadcast_to(column, took.shape)
    return (labels.cycles + took).ravel(), ahead.ravel(), before.ravel(), last.ravel()


def after(run: RunCosts, numbers: Counts, ahead: Amounts, rate: LoadRate) -> tuple[Amounts, Amounts]:
    """The cycles of segments, and the bytes loaded ahead at their end, where ``ahead`` were before. A cascade
    waits for all of its weights, a single op computes while the rest of them is loaded."""
    cycles, weights, room = run.cycles[numbers], run.weights[numbers], run.room[numbers]
    there = np.minimum(ahead, weights + room)
    missing = np.maximum(weights - there, 0)
    load = np.where(missing > 0, rate.start + rate.each * missing, 0)
    took = np.where(run.whole[numbers], load + cycles, np.maximum(cycles, load))
    loaded = there + np.where(run.whole[numbers], missing + cycles / rate.each, took / rate.each)
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
    chosen: Counts = order[np.unique(np.append(evenly, best))]
    return chosen
