"""Cascades whose large weights are loaded again for each turn of their op, where that saves SharedMemory.

These weights take turns in one buffer; the others stay. An op whose weights are loaded again should compute
many rows in a turn, and the ops around it few at a time, so that few rows are held.

Source: chipmodel.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dma.cascade_choice.chain_geometry import ChainGeometry
from dma.cascade_choice.segment_estimates import cascade_estimates
from dma.cascade_choice.segment_table import Chosen, SegmentTable
from dma.cascade_choice.stripe_heights import Counts, stripe_heights

CROWDED = 0.5
"""Share of the budget that a cascade needs with all its weights, from which on loading some again may pay."""
STRIPES = (2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
"""Numbers of stripes of the last op that are tried: with more of them the loads take too long."""


@dataclass(frozen=True, slots=True)
class Reloading:
    """Which weights are loaded again: those of at least ``large`` of the budget for the whole cascade."""

    budget: int
    large: tuple[float, ...]
    most_ops: int
    """Ops of a cascade that does so."""


def reloading_cascades(
    chain: ChainGeometry, rolls: bool, reloading: Reloading, plain: SegmentTable, bands: int = 1
) -> Iterator[SegmentTable]:
    """Cascades that need at most the budget because they load large weights again, for one size of large
    weights after another, in so many ``bands``. ``plain`` are the segments that load none again."""
    small = _small(plain, reloading.budget * CROWDED)
    most = [_most_ops(small, stop, reloading.most_ops) for stop in range(len(chain.ops) + 1)]
    before: list[bool] | None = None
    for share in reloading.large:
        large = [size >= max(1, reloading.budget * share) for size in chain.weights]
        stops = [
            stop
            for stop, ops in enumerate(most)
            if sum(large[stop - ops : stop]) > 1 and (before is None or before[:stop] != large[:stop])
        ]
        before = large
        options = [
            (stop, max(0, stop - 1 - most[stop]), rows)
            for stop in stops
            for rows in _heights(chain, large, max(0, stop - 1 - most[stop]), stop, rolls)
        ]
        stripes = replace(stripe_heights(len(chain.ops), options), large=tuple(large), bands=bands)

        def wanted(table: SegmentTable) -> Chosen:
            large = ~small[table.starts, table.stops]
            return large & _Reloads(chain, table, rolls).fit(reloading.budget)

        yield _Reloads(chain, cascade_estimates(chain, stripes, rolls, None, wanted), rolls).table()


def _small(plain: SegmentTable, most_bytes: float) -> Chosen:
    """Return whether a segment needs at most ``most_bytes``, by first op and the op before which it ends."""
    found = np.zeros((plain.count + 1, plain.count + 1), np.bool_)
    few = plain.bytes <= most_bytes
    found[plain.starts[few], plain.stops[few]] = True
    return found


def _most_ops(small: Chosen, stop: int, most: int) -> int:
    """How many ops the longest cascade before ``stop`` has that needs more than a few bytes; 0 for none."""
    return next((stop - k for k in range(max(0, stop - most), stop - 1) if not small[k, stop]), 0)


def _heights(
    chain: ChainGeometry, large: Sequence[bool], start: int, stop: int, rolls: bool
) -> Iterable[tuple[int, ...]]:
    """Return the rows of the ops ``[start, stop)`` for each number of stripes: several in the ops whose
    weights are ``large`` and the last one, or in the last one alone. The others compute one row at a time."""
    last, found = stop - 1, dict[tuple[int, ...], None]()
    total = chain.op_rows[last]
    stripes = [count for count in (*STRIPES, total) if count <= min(total, STRIPES[-1])]
    for height in dict.fromkeys(-(-total // count) for count in stripes):
        each = chain.proportional(start, stop, height)
        many = (large[k] or k == last for k in range(start, stop))
        found[tuple(rows if big else 1 for rows, big in zip(each, many, strict=True))] = None
        if rolls:
            found[(*(1 for _ in range(start, last)), height)] = None
    return found


class _Reloads:
    """Cascades of which the large weights are loaded again, ``plain`` being what they need where all stay."""

    def __init__(self, chain: ChainGeometry, plain: SegmentTable, rolls: bool) -> None:
        self.chain, self.plain, self.rolls = chain, plain, rolls
        (self.stripes,) = plain.sources
        count = np.zeros(len(plain), np.int64)
        self.sizes, self.largest = count.copy(), count.copy()
        for _, here, size in self._large(chain.weights):
            count[here] += 1
            self.sizes[here] += size
            self.largest[here] = np.maximum(self.largest[here], size)
        self.several = count > 1
        self.bytes = plain.bytes - self.sizes + self.largest

    def fit(self, budget: int) -> Chosen:
        """Whether they load several weights again, and need at most ``budget`` bytes."""
        return self.several & (self.bytes <= budget)

    def table(self) -> SegmentTable:
        """What they need and cost with those weights loaded again."""
        weights, cycles = self.plain.weights - self.sizes, self.plain.cycles + self._waits()
        return replace(self.plain, bytes=self.bytes, weights=weights, cycles=cycles)

    def _waits(self) -> Counts:
        """Cycles of loads that no op hides whose weights stay."""
        plain, options = self.plain, self.plain.options
        steps = {op: self._steps(op, here) for op, here, _ in self._large(self.chain.weights)}
        total, loads, computing = (np.zeros(len(plain), np.int64) for _ in range(3))
        for op, here, _ in self._large(self.chain.weights):
            total[here] += steps[op]
        for op, here, load in self._large(self.chain.load_cycles):
            # Another op's weights are needed at most so often in between.
            loads[here] += np.minimum(steps[op], total[here] - steps[op] + 1) * load
            computing[here] += self.chain.step_cycles_of(op, self.stripes.heights[op, options[here]])
        waits: Counts = np.maximum(0, loads - np.maximum(0, plain.cycles - computing))
        return waits

    def _steps(self, op: int, here: Counts) -> Counts:
        """How often an op runs in the cascades ``here``: in each band, and as the last one if rows repeat."""
        plain, heights = self.plain, self.stripes.heights
        of = np.full(len(here), op) if self.rolls else plain.stops[here] - 1
        rows: Counts = np.array(self.chain.op_rows, np.int64)[of]
        steps: Counts = -(-rows // heights[of, plain.options[here]])
        return steps * self.stripes.bands

    def _large(self, amounts: Sequence[int]) -> Iterator[tuple[int, Counts, int]]:
        """Each op with large weights, the numbers of the cascades with it, and its share of ``amounts``."""
        for op, again in enumerate(self.stripes.large):
            if again:
                yield (op, ((self.plain.starts <= op) & (op < self.plain.stops)).nonzero()[0], amounts[op])
