"""A straight chain cut into single ops and cascades, so that the sum of their costs is the least."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

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
