"""The segments of a straight chain in arrays: tens of thousands are compared, few are looked at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from chipmodel.geometry.interval import Interval
from dma.cascade_choice.stripe_heights import Counts, StripeHeights, stripe_heights

Chosen = NDArray[np.bool_]
"""Whether it is chosen, by number of a segment."""


@dataclass(frozen=True, slots=True)
class CascadeSegment:
    """Ops ``[start, stop)`` of a straight chain, as one cascade or a single op, with the bytes of
    SharedMemory and the NPU cycles that they need; ``heights`` is empty for a single op."""

    ops: Interval
    heights: tuple[int, ...]
    bytes: int
    cycles: int
    weights: int
    """Bytes of weights, included in ``bytes`` as far as they must be there at once."""
    outside: int = 0
    """Bytes of whole tensors that may be in Psram instead, without inputs of the program that come in
    stripes; included in ``bytes``."""
    reloaded: tuple[int, ...] = ()
    """The ops, counted from the first one, whose weights take turns in one buffer (``reloads``).
    They are not in ``weights``, and the loads that nothing hides are in ``cycles``."""
    bands: int = 1
    """Bands of columns of the last op's output, one after another."""
    again: tuple[str, ...] = ()
    """Tensors inside whose rows are computed again for each step that reads some."""


@dataclass(frozen=True, slots=True, eq=False)
class SegmentTable:
    """The segments of a run of ``count`` ops, by where they end, with the amounts of ``CascadeSegment``."""

    count: int
    sources: tuple[StripeHeights, ...]
    starts: Counts
    stops: Counts
    bytes: Counts
    cycles: Counts
    weights: Counts
    outside: Counts
    source: Counts
    """Which of ``sources`` has the stripes of a cascade; -1 for a single op."""
    options: Counts
    """The number of its stripes there."""

    @property
    def columns(self) -> tuple[Counts, ...]:
        """All amounts, in the order of the fields."""
        amounts = (self.starts, self.stops, self.bytes, self.cycles, self.weights, self.outside)
        return (*amounts, self.source, self.options)

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def bounds(self) -> list[int]:
        """Segments that end before op ``stop`` are those from number ``bounds[stop]`` to the next bound."""
        bounds: list[int] = self.stops.searchsorted(np.arange(self.count + 2)).tolist()
        return bounds

    @property
    def cascaded(self) -> Chosen:
        """Whether a segment is a cascade and not a single op."""
        return self.source >= 0

    @property
    def least(self) -> Counts:
        """Bytes with all whole tensors in Psram that may be, without the stripes of those that cross the
        border."""
        return self.bytes - self.outside

    @property
    def segments(self) -> list[CascadeSegment]:
        """All of them by number."""
        return [self.segment(number) for number in range(len(self))]

    def segment(self, number: int) -> CascadeSegment:
        """One of them."""
        found = (int(column[number]) for column in self.columns)
        start, stop, size, cycles, weights, outside, source, option = found
        amounts = size, cycles, weights, outside
        if source < 0:
            return CascadeSegment(Interval(start, stop), (), *amounts)
        stripes = self.sources[source]
        heights, again = stripes.of(option, start), stripes.reloaded(option, start)
        return CascadeSegment(Interval(start, stop), heights, *amounts, again, stripes.bands)

    def ending_with(self, number: int) -> range:
        """The numbers of all segments that end where number ``number`` does."""
        bounds, stop = self.bounds, int(self.stops[number])
        return range(bounds[stop], bounds[stop + 1])

    def same(self, number: int) -> list[int]:
        """The numbers of the segments that are equal to number ``number``, which is one of them."""
        here, amounts = self.ending_with(number), (self.starts, self.bytes, self.cycles, self.weights)
        alike = np.ones(len(here), np.bool_)
        for each in amounts:
            alike &= each[here.start : here.stop] == each[number]
        segment = self.segment(number)
        return [n for n in (here.start + alike.nonzero()[0]).tolist() if self.segment(n) == segment]

    def where(self, chosen: Chosen) -> SegmentTable:
        """The table of the ``chosen`` ones."""
        return self._taken(chosen.nonzero()[0])

    def followed_by(self, *others: SegmentTable) -> SegmentTable:
        """All segments of several tables of one chain: of those that end before an op, this table's first."""
        columns: list[tuple[Counts, ...]] = []
        sources: tuple[StripeHeights, ...] = ()
        for table in (self, *others):
            source = np.where(table.source < 0, -1, table.source + len(sources))
            columns.append(replace(table, source=source).columns)
            sources += table.sources
        joined = (np.concatenate(each) for each in zip(*columns, strict=True))
        table = SegmentTable(self.count, sources, *joined)
        return table._taken(table.stops.argsort(kind="stable"))

    def _taken(self, numbers: Counts) -> SegmentTable:
        return SegmentTable(self.count, self.sources, *(column[numbers] for column in self.columns))


def segment_table(ending: Sequence[Sequence[CascadeSegment]]) -> SegmentTable:
    """Return the table of segments of which ``ending[stop]`` end before op ``stop``, a single op among them;
    none in bands or with weights that are loaded again."""
    segments = [segment for each in ending for segment in each]
    rows = [
        (each.ops.start, each.ops.stop, each.bytes, each.cycles, each.weights, each.outside)
        for each in segments
    ]
    amounts: Counts = np.array(rows, np.int64).reshape(len(rows), 6)
    cascaded = np.array([bool(each.heights) for each in segments], np.bool_)
    options = [(each.ops.stop, each.ops.start, each.heights) for each in segments if each.heights]
    source, number = np.where(cascaded, 0, -1), cascaded.cumsum() - 1
    stripes = stripe_heights(len(ending) - 1, options)
    columns: list[Counts] = [*amounts.T, source, number]
    return SegmentTable(len(ending) - 1, (stripes,), *columns)
