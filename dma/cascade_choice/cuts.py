"""A straight chain cut into single ops and cascades, so that the sum of their costs is the least."""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

import numpy as np

from chipmodel.hardware.chip import Chip
from chipmodel.model.schedule import PlainTraffic
from chipmodel.timing.transfer import transfer_cycles
from dma.cascade_choice.load_ahead import LoadRate
from dma.cascade_choice.segment_table import SegmentTable
from dma.cascade_choice.stripe_heights import Counts

EXCLUDED = 1 << 60
"""The cost of a segment that must not be taken: more than all others together."""


@dataclass(frozen=True, slots=True)
class Cut:
    """What segments that follow one another cost together, and their numbers in the table."""

    cost: int
    numbers: tuple[int, ...]


def cheapest_cut(table: SegmentTable, costs: Counts) -> Cut:
    """Return the cheapest way to run all ops as segments, of which number ``n`` costs ``costs[n]``. Of equal
    costs the first one in the table is taken."""
    until = np.zeros(table.count + 1, np.int64)
    chosen, bounds = [0] * (table.count + 1), table.bounds
    for stop in range(1, table.count + 1):
        here = slice(bounds[stop], bounds[stop + 1])
        totals = until[table.starts[here]] + costs[here]
        least = int(totals.argmin())
        until[stop] = totals[least]
        chosen[stop] = here.start + least
    found: list[int] = []
    at = table.count
    while at:
        found.append(chosen[at])
        at = int(table.starts[chosen[at]])
    return Cut(int(until[table.count]), tuple(reversed(found)))


def least_maximum(table: SegmentTable, sizes: Counts) -> int:
    """Return the bytes of the largest segment, of ``sizes`` by number, in the cut where they are least."""
    until, bounds = np.zeros(table.count + 1, np.int64), table.bounds
    for stop in range(1, table.count + 1):
        here = slice(bounds[stop], bounds[stop + 1])
        until[stop] = np.maximum(until[table.starts[here]], sizes[here]).min()
    return int(until[table.count])


class TransferEstimate:
    """Cycles of transfers as a line through those of two sizes: thousands are asked for."""

    SMALL, LARGE = 1 << 12, 1 << 17
    """Bytes of the two transfers that the line is through."""

    def __init__(self, chip: Chip) -> None:
        self.lines = {each: self.line(chip, each) for each in get_args(PlainTraffic)}

    def line(self, chip: Chip, traffic: PlainTraffic) -> tuple[int, float]:
        """The cycles of ``SMALL`` bytes, and those of each further byte."""
        small, large = (transfer_cycles(chip, traffic, size) for size in (self.SMALL, self.LARGE))
        return small, (large - small) / (self.LARGE - self.SMALL)

    def of_each(self, traffic: PlainTraffic, sizes: Counts) -> Counts:
        """Cycles of a transfer of each of ``sizes``, 0 of none."""
        small, each = self.lines[traffic]
        cycles = np.maximum(0, np.rint(small + each * (sizes - self.SMALL))).astype(np.int64)
        return np.where(sizes > 0, cycles, 0)

    @property
    def weight_rate(self) -> LoadRate:
        """The line of weights."""
        small, each = self.lines["weights"]
        return LoadRate(max(0.0, small - each * self.SMALL), each)

    def spills(self, excess: Counts) -> Counts:
        """Cycles to store each number of bytes that do not fit, and to load them again."""
        return self.of_each("store", excess) + self.of_each("load", excess)
