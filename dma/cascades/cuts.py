"""A straight run cut into single ops and cascades, so that the sum of their costs is the least."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from dma.cascades.segments import CascadeSegment

Counts = NDArray[np.int64]
"""Bytes or cycles by number of a segment."""
EXCLUDED = 1 << 60
"""The cost of a segment that must not be taken: more than all others together."""


@dataclass(frozen=True, slots=True)
class Cut:
    """What segments that follow one another cost together, and their numbers in the table."""

    cost: int
    numbers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class SegmentTable:
    """The segments of a run, numbered by where they end; in arrays, as costs of all are asked for often."""

    segments: tuple[CascadeSegment, ...]
    bounds: tuple[int, ...]
    """The segments that end before op ``stop`` are those from number ``bounds[stop]`` to the next bound."""
    starts: Counts
    bytes: Counts
    cycles: Counts
    weights: Counts
    cascaded: NDArray[np.bool_]
    """Whether it is a cascade and not a single op."""

    @property
    def count(self) -> int:
        """Ops of the run."""
        return len(self.bounds) - 2

    @property
    def ending(self) -> Iterator[tuple[CascadeSegment, ...]]:
        """The segments by where they end."""
        for stop in range(len(self.bounds) - 1):
            yield self.segments[self.bounds[stop] : self.bounds[stop + 1]]

    def ending_with(self, number: int) -> range:
        """The numbers of all segments that end where number ``number`` does."""
        stop = self.segments[number].ops.stop
        return range(self.bounds[stop], self.bounds[stop + 1])


def segment_table(ending: Sequence[Sequence[CascadeSegment]]) -> SegmentTable:
    """The table of segments of which ``ending[stop]`` end before op ``stop``, a single op among them."""
    segments = tuple(segment for each in ending for segment in each)
    bounds = tuple(accumulate(map(len, ending), initial=0))
    columns = ((each.ops.start, each.bytes, each.cycles, each.weights) for each in segments)
    starts, size, cycles, weights = np.array(list(columns), np.int64).reshape(len(segments), 4).T
    cascaded = np.array([bool(each.heights) for each in segments], np.bool_)
    return SegmentTable(segments, bounds, starts, size, cycles, weights, cascaded)


def cheapest_cut(table: SegmentTable, costs: Counts) -> Cut:
    """The cheapest way to run all ops as segments, of which number ``n`` costs ``costs[n]``. Of equal costs
    the first one in the table is taken."""
    until = np.zeros(table.count + 1, np.int64)
    chosen = [0] * (table.count + 1)
    for stop in range(1, table.count + 1):
        here = slice(table.bounds[stop], table.bounds[stop + 1])
        totals = until[table.starts[here]] + costs[here]
        least = int(totals.argmin())
        until[stop] = totals[least]
        chosen[stop] = here.start + least
    found: list[int] = []
    at = table.count
    while at:
        found.append(chosen[at])
        at = table.segments[chosen[at]].ops.start
    return Cut(int(until[table.count]), tuple(reversed(found)))


def least_maximum(table: SegmentTable, sizes: Counts) -> int:
    """The bytes of the largest segment, of ``sizes`` by number, in the cut where they are the fewest."""
    until = np.zeros(table.count + 1, np.int64)
    for stop in range(1, table.count + 1):
        here = slice(table.bounds[stop], table.bounds[stop + 1])
        until[stop] = np.maximum(until[table.starts[here]], sizes[here]).min()
    return int(until[table.count])
