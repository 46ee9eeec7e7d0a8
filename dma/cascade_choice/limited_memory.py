"""Sets of cascades with which a program needs the least SharedMemory within a limit on multiply-accumulates.

For a budget of bytes each straight chain is cut into segments that fit it and compute the fewest
multiply-accumulates (MACs) twice; the smallest budget for which those are within the limit is found by
bisection. A cascade computes columns twice in bands, rows twice where tensors are made again, which is the
better the fewer bytes it may take. Both are estimated, and exact for every cascade that was ever in a cut.

Source: Huang et al. 2025 ("msf-CNN") minimise MACs for a budget of bytes, and bytes for a limit on MACs, over
paths of a graph of segments, each with its columns kept; here rows of each tensor may be kept as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial

import numpy as np

from dma.cascade_choice.chain_geometry import MAX_OPS
from dma.cascade_choice.cuts import EXCLUDED, cheapest_cut
from dma.cascade_choice.made_again import ever_less_held, with_less_held
from dma.cascade_choice.reloads import Reloading
from dma.cascade_choice.segment_table import CascadeSegment
from dma.cascade_choice.segmented_chains import (
    Candidate,
    PlacedSegment,
    SegmentedChain,
    band_counts,
    bytes_within,
    cascade_choices,
    with_bands,
    with_reloads,
)
from dma.cascade_choice.stripe_heights import Counts

LOOSER = (Fraction(1), Fraction(33, 32))
"""Budgets, in shares of the least: the packer's fragmentation may favour another set."""
TOO_HIGH = Fraction(3, 2)
"""How many times a budget the estimate of a cascade may be that fits it with tensors made again (with 4/3
MobileNetV2-0.35 needs 15,600 B with 1.3 times the MACs, with 3/2 14,760)."""
MAC_COST = 1_000
"""Cycles that a multiply-accumulate computed twice counts as, so that of equally many the cycles decide."""
MOST_CUTS = 300
"""Cuts of a chain for one budget, after which estimates that still change stay as they are."""
PRECISION = 256
"""The search for the smallest budget ends within this part of it."""


def limited_memory_candidates(
    rows: Sequence[SegmentedChain], rolls: bool, least: int, extra: int, shares: Sequence[float]
) -> Iterator[Candidate]:
    """Yield sets of cascades that compute at most ``extra`` multiply-accumulates twice; the chains ``rows``
    have cascades in rows, the best cut of which needs about ``least`` bytes. Weights that are larger than one
    of ``shares`` of that may be loaded again."""
    chains = list[_LimitedChain]()
    for chain in rows:
        counts = band_counts(chain)
        reloading = Reloading(least - 1, tuple(shares), MAX_OPS)
        banded = with_reloads(with_bands(chain, rolls, least, counts), rolls, reloading, counts)
        chains.append(_LimitedChain(banded, rolls, extra))

    def fits(budget: int) -> bool:
        found = [chain.macs(budget) for chain in chains]
        return all(each is not None for each in found) and sum(filter(None, found)) <= extra

    low, high = 0, least
    while not fits(high) and high < 2 * least:
        low, high = high, high + max(1, high // 8)
    while high - low > max(1, high // PRECISION):
        middle = (low + high) // 2
        low, high = (low, middle) if fits(middle) else (middle, high)
    for share in LOOSER:
        budget = int(high * share)
        if fits(budget):
            yield cascade_choices([each for chain in chains for each in chain.placed(budget)], rolls)


class _LimitedChain:
    """A straight chain, in which the bytes and MACs of every cascade that was ever in a cut are exact."""

    def __init__(self, chain: SegmentedChain, rolls: bool, extra: int) -> None:
        self.chain, self.rolls, self.extra, self.table = chain, rolls, extra, chain.table
        self.again = _macs_in_bands(chain)
        self.fronts: dict[int, _Front] = {}

    def macs(self, budget: int) -> int | None:
        """The MACs computed twice in the cut of segments of at most ``budget`` bytes; None for none."""
        numbers = self.cut(budget)
        if numbers is None:
            return None
        return sum(self.fronts[n].macs(budget) or 0 for n in numbers if n in self.fronts)

    def cut(self, budget: int) -> tuple[int, ...] | None:
        """The segments of at most ``budget`` bytes that compute the fewest MACs twice."""
        table = self.table
        most = np.where(table.cascaded, int(budget * TOO_HIGH), budget)
        costs = np.where(table.bytes > most, EXCLUDED, self.again * MAC_COST + table.cycles)
        for number in self.fronts:
            costs[number] = self._cost(number, budget)
        for _ in range(MOST_CUTS):
            cut = cheapest_cut(table, costs)
            if cut.cost >= EXCLUDED:
                return None
            new = [n for n in cut.numbers if table.cascaded[n] and n not in self.fronts]
            for number in new:
                front = _Front(self.chain, table.segment(number), self.rolls, self.extra)
                for same in table.same(number):
                    self.fronts[same] = front
                    costs[same] = self._cost(same, budget)
            if not new:
                return cut.numbers
        return None

    def _cost(self, number: int, budget: int) -> int:
        macs = self.fronts[number].macs(budget)
        return EXCLUDED if macs is None else macs * MAC_COST + int(self.table.cycles[number])

    def placed(self, budget: int) -> Iterator[PlacedSegment]:
        """The segments of that cut, with tensors made again where they need more bytes without."""
        for number in self.cut(budget) or ():
            segment = self.table.segment(number)
            again = self.fronts[number].chosen(budget) if segment.heights else ()
            yield self.chain, replace(segment, again=again)


@dataclass
class _Front:
    """A cascade that makes ever more tensors again: bytes, and MACs computed twice."""

    chain: SegmentedChain
    segment: CascadeSegment
    rolls: bool
    extra: int

    def __post_init__(self) -> None:
        program, ops = self.chain.geometry.program, self.chain.ops(self.segment)
        self.once = sum(op.work.macs for op in ops)
        (self.choice,) = cascade_choices([(self.chain, self.segment)], self.rolls)
        self.size = partial(bytes_within, self.chain, self.segment)
        self.more = ever_less_held(program, ops, self.choice, self.size, self.once + self.extra)
        self.found: list[tuple[int, int]] = []

    def macs(self, budget: int) -> int | None:
        """The fewest MACs computed twice in at most ``budget`` bytes; None where it needs more."""
        for size, macs in self._sizes():
            if size <= budget:
                return macs - self.once
        return None

    def _sizes(self) -> Iterator[tuple[int, int]]:
        yield from self.found
        for _, size, macs in self.more:
            self.found.append((size, macs))
            yield size, macs

    def chosen(self, budget: int) -> tuple[str, ...]:
        """The tensors to make again so that it needs at most ``budget`` bytes."""
        program, ops = self.chain.geometry.program, self.chain.ops(self.segment)
        most = self.once + (self.macs(budget) or 0)
        return with_less_held(program, ops, self.choice, self.size, most, budget)[0].again


def _macs_in_bands(chain: SegmentedChain) -> Counts:
    """The MACs that each segment computes twice in bands, by the widths of a band in the middle."""
    table, geometry = chain.table, chain.geometry
    bands = np.array([*(each.bands for each in table.sources), 1], np.int64)[table.source]
    count = len(geometry.ops)
    found = np.zeros(len(table), np.int64)
    for each in sorted({*bands.tolist()} - {1}):
        more = np.zeros((count, count + 1), np.int64)
        for stop in range(1, count + 1):
            total = 0
            for index, width in geometry.banded.widths(max(0, stop - MAX_OPS), stop, each).items():
                total += int(geometry.ops[index].work.macs * (each * width.share - 1))
                more[index, stop] = max(0, total)
        here = bands == each
        found[here] = more[table.starts[here], table.stops[here]]
    return found
