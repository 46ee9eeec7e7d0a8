"""Rows that are computed and held while ops run in stripes, estimated for many ways to do so at once.

They are those in the middle of the image, where windows are widest; the exact numbers are those of
``chipmodel.cascades.rewrite``. Ops are asked for from the last one back.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from dma.cascade_choice.row_reach import RowReach
from dma.cascade_choice.run_geometry import STEP_CYCLES, RunGeometry
from dma.cascade_choice.stripe_heights import Counts, StripeHeights

PHASES = 3
"""Steps of the last op that are looked at: the first one, and consecutive ones in the middle. Chosen."""


class RowEstimate(Protocol):
    """The rows of ops in some of many ways, whose numbers are ``ways``."""

    def end(self, index: int, ways: Counts) -> None:
        """Begin with op ``index``, which is the last one there."""

    def held(self, index: int, ways: Counts) -> Counts:
        """The most rows of an op's output that are there at once."""
        ...

    def cycles(self, index: int, ways: Counts) -> Counts:
        """NPU cycles of all steps of an op: the last one, or one whose rows held were asked for before."""
        ...

    def read(self, index: int, ways: Counts, reach: RowReach) -> Counts:
        """Rows of an operand from outside that an op reads for one step of the last op."""
        ...


def row_estimate(run: RunGeometry, stripes: StripeHeights, rolls: bool) -> RowEstimate:
    """Rows in rolling buffers if tensors inside ``rolls``, otherwise rows that are computed again."""
    return _Rolling(run, stripes) if rolls else _Recomputed(run, stripes)


class _Rolling:
    """Rows done and held after a few steps of the last op."""

    def __init__(self, run: RunGeometry, stripes: StripeHeights) -> None:
        self.run, self.stripes = run, stripes
        self.done = np.zeros((len(run.ops), PHASES, len(stripes.stops)), np.int64)
        """By op, step of the last op and way."""

    def end(self, index: int, ways: Counts) -> None:
        rows = self.run.op_rows[index]
        height = np.minimum(self.stripes.heights[index, ways], rows)
        middle = rows // 2 // height * height
        self.done[index, 0, ways] = height
        for phase in range(1, PHASES):
            self.done[index, phase, ways] = np.minimum(rows, middle + phase * height)

    def cycles(self, index: int, ways: Counts) -> Counts:
        return self.run.step_cycles_of(index, self.stripes.heights[index, ways])

    def held(self, index: int, ways: Counts) -> Counts:
        rows, height, stops = (
            self.run.op_rows[index],
            self.stripes.heights[index, ways],
            self.stripes.stops[ways],
        )
        needed = np.ones((PHASES, len(ways)), np.int64)
        oldest = np.full((PHASES, len(ways)), rows, np.int64)
        for reader, reach in self.run.readers[index]:
            inside = reader < stops
            done = self.done[reader][:, ways]
            first = np.maximum(0, done - self.stripes.heights[reader, ways])
            needed = np.where(inside, np.maximum(needed, reach.stops(done)), needed)
            oldest = np.where(inside, np.minimum(oldest, reach.starts(first)), oldest)
        done = np.minimum(rows, -(-needed // height) * height)
        self.done[index][:, ways] = done
        most: Counts = np.maximum(0, (done - oldest).max(axis=0))
        return most

    def read(self, index: int, ways: Counts, reach: RowReach) -> Counts:
        first, before, after = self.done[index][:, ways]
        rows: Counts = np.maximum(reach.stops(first), reach.stops(after) - reach.starts(before))
        return rows


class _Recomputed:
    """Rows that each op computes for a stripe of the last one in the middle of its output."""

    def __init__(self, run: RunGeometry, stripes: StripeHeights) -> None:
        self.run, self.stripes = run, stripes
        size = len(run.ops), len(stripes.stops)
        self.first, self.stop = np.zeros(size, np.int64), np.zeros(size, np.int64)
        """By op and way, the rows that a stripe needs."""
        self.count = np.zeros(len(stripes.stops), np.int64)
        """By way, its stripes."""

    def end(self, index: int, ways: Counts) -> None:
        rows = self.run.op_rows[index]
        height = np.minimum(self.stripes.heights[index, ways], rows)
        self.count[ways] = -(-rows // height)
        middle = np.minimum(rows // 2 // height * height, rows - height)
        self.first[index, ways], self.stop[index, ways] = middle, middle + height

    def cycles(self, index: int, ways: Counts) -> Counts:
        rows = np.maximum(1, self.stop[index, ways] - self.first[index, ways])
        return self.count[ways] * (self.run.cycles_of(index, rows) + STEP_CYCLES)

    def held(self, index: int, ways: Counts) -> Counts:
        stops = self.stripes.stops[ways]
        first = np.full(len(ways), np.iinfo(np.int64).max)
        stop = np.full(len(ways), np.iinfo(np.int64).min)
        for reader, reach in self.run.readers[index]:
            inside = reader < stops
            first = np.where(inside, np.minimum(first, reach.starts(self.first[reader, ways])), first)
            stop = np.where(inside, np.maximum(stop, reach.stops(self.stop[reader, ways])), stop)
        self.first[index, ways], self.stop[index, ways] = first, stop
        rows: Counts = np.maximum(0, stop - first)
        return rows

    def read(self, index: int, ways: Counts, reach: RowReach) -> Counts:
        stop, first = reach.stops(self.stop[index, ways]), reach.starts(self.first[index, ways])
        rows: Counts = np.maximum(1, stop - first)
        return rows
