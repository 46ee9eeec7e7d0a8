"""Rows that are computed and held while ops run in stripes, estimated for many ways to do so at once.

They are those in the middle of the image, where windows are widest; the exact numbers are those of
``chipmodel.cascades.rewrite``. Ops are asked for from the last one back.
"""

from __future__ import annotations

import numpy as np

from dma.cascade_choice.chain_geometry import STEP_CYCLES, ChainGeometry
from dma.cascade_choice.row_reach import RowReach
from dma.cascade_choice.stripe_heights import Counts, StripeHeights

PHASES = 3
"""Steps of the last op that are looked at: the first one, and consecutive ones in the middle."""


def row_estimate(chain: ChainGeometry, stripes: StripeHeights, rolls: bool) -> _Rolling | _Recomputed:
    """Rows in rolling buffers if tensors inside ``rolls``, otherwise rows that are computed again."""
    return _Rolling(chain, stripes) if rolls else _Recomputed(chain, stripes)


class _Rolling:
    """Rows done and held after a few steps of the last op."""

    def __init__(self, chain: ChainGeometry, stripes: StripeHeights) -> None:
        self.chain, self.stripes = chain, stripes
        self.done = np.zeros((len(chain.ops), PHASES, len(stripes.stops)), np.int64)
        """The rows done, by op, step of the last op and option."""

    def end(self, index: int, options: Counts) -> None:
        rows = self.chain.op_rows[index]
        height = np.minimum(self.stripes.heights[index, options], rows)
        middle = rows // 2 // height * height
        self.done[index, 0, options] = height
        for phase in range(1, PHASES):
            self.done[index, phase, options] = np.minimum(rows, middle + phase * height)

    def cycles(self, index: int, options: Counts) -> Counts:
        return self.chain.step_cycles_of(index, self.stripes.heights[index, options])

    def held(self, index: int, options: Counts) -> Counts:
        rows, height, stops = (
            self.chain.op_rows[index],
            self.stripes.heights[index, options],
            self.stripes.stops[options],
        )
        needed = np.ones((PHASES, len(options)), np.int64)
        oldest = np.full((PHASES, len(options)), rows, np.int64)
        for reader, reach in self.chain.readers[index]:
            inside = reader < stops
            done = self.done[reader][:, options]
            first = np.maximum(0, done - self.stripes.heights[reader, options])
            needed = np.where(inside, np.maximum(needed, reach.stops(done)), needed)
            oldest = np.where(inside, np.minimum(oldest, reach.starts(first)), oldest)
        done = np.minimum(rows, -(-needed // height) * height)
        self.done[index][:, options] = done
        most: Counts = np.maximum(0, (done - oldest).max(axis=0))
        return most

    def read(self, index: int, options: Counts, reach: RowReach) -> Counts:
        first, before, after = self.done[index][:, options]
        rows: Counts = np.maximum(reach.stops(first), reach.stops(after) - reach.starts(before))
        # In bands, and before a single step of the last op, steps take what they read one by one.
        single = np.array(self.chain.op_rows)[self.stripes.stops[options] - 1] == 1
        single |= self.stripes.bands > 1
        middle = np.full(len(options), self.chain.op_rows[index] // 2)
        height = np.minimum(self.stripes.heights[index, options], self.chain.op_rows[index] - middle)
        each: Counts = np.where(single, reach.stops(middle + height) - reach.starts(middle), rows)
        return each


class _Recomputed:
    """Rows that each op computes for a stripe of the last one in the middle of its output."""

    def __init__(self, chain: ChainGeometry, stripes: StripeHeights) -> None:
        self.chain, self.stripes = chain, stripes
        size = len(chain.ops), len(stripes.stops)
        self.first, self.stop = np.zeros(size, np.int64), np.zeros(size, np.int64)
        """The rows that a stripe needs, by op and way."""
        self.count = np.zeros(len(stripes.stops), np.int64)
        """The number of stripes of each option."""

    def end(self, index: int, options: Counts) -> None:
        rows = self.chain.op_rows[index]
        height = np.minimum(self.stripes.heights[index, options], rows)
        self.count[options] = -(-rows // height)
        middle = np.minimum(rows // 2 // height * height, rows - height)
        self.first[index, options], self.stop[index, options] = middle, middle + height

    def cycles(self, index: int, options: Counts) -> Counts:
        rows = np.maximum(1, self.stop[index, options] - self.first[index, options])
        return self.count[options] * (self.chain.cycles_of(index, rows) + STEP_CYCLES)

    def held(self, index: int, options: Counts) -> Counts:
        stops = self.stripes.stops[options]
        first = np.full(len(options), np.iinfo(np.int64).max)
        stop = np.full(len(options), np.iinfo(np.int64).min)
        for reader, reach in self.chain.readers[index]:
            inside = reader < stops
            first = np.where(inside, np.minimum(first, reach.starts(self.first[reader, options])), first)
            stop = np.where(inside, np.maximum(stop, reach.stops(self.stop[reader, options])), stop)
        self.first[index, options], self.stop[index, options] = first, stop
        rows: Counts = np.maximum(0, stop - first)
        return rows

    def read(self, index: int, options: Counts, reach: RowReach) -> Counts:
        stop, first = reach.stops(self.stop[index, options]), reach.starts(self.first[index, options])
        rows: Counts = np.maximum(1, stop - first)
        return rows
