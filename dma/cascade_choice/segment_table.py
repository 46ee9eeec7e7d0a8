"""The segments of a straight chain in arrays: tens of thousands are compared, and few of them are looked
at."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, overload

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
    """Bytes of whole tensors, without inputs of the program that come in stripes; included in ``bytes``."""
    reloaded: tuple[int, ...] = ()
    """The ops, counted from the first one, whose weights take turns in one buffer (``reloads``).
    They are not in ``weights``, and the loads that nothing hides are in ``cycles``."""
    bands: int = 1
    """Bands of columns of the last op's output, one after another."""


class SegmentColumns(NamedTuple):
    """Amounts of ``CascadeSegment`` by number of a segment."""

    starts: Counts
    stops: Counts
    bytes: Counts
    cycles: Counts
    weights: Counts
    outside: Counts
    source: Counts
    """Which of ``SegmentTable.sources`` has the stripes of a cascade; -1 for a single op."""
    options: Counts
    """Its number there."""


@dataclass(frozen=True, slots=True, eq=False)
class SegmentTable:
    """The segments of a chain of ``count`` ops, numbered by where they end."""

    count: int
    columns: SegmentColumns
    sources: tuple[StripeHeights, ...]

    @property
    def starts(self) -> Counts:
        """The first op of each."""
        return self.columns.starts

    @property
    def bytes(self) -> Counts:
        """Of SharedMemory."""
        return self.columns.bytes

    @property
    def cycles(self) -> Counts:
        """Of the NPU."""
        return self.columns.cycles

    @property
    def weights(self) -> Counts:
        """Bytes of the weights that stay."""
        return self.columns.weights

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def bounds(self) -> list[int]:
        """Segments that end before op ``stop`` are those from number ``bounds[stop]`` to the next bound."""
        bounds: list[int] = self.columns.stops.searchsorted(np.arange(self.count + 2)).tolist()
        return bounds

    @property
    def cascaded(self) -> Chosen:
        """Whether a segment is a cascade and not a single op."""
        return self.columns.source >= 0

    @property
    def least(self) -> Counts:
        """Bytes with all whole tensors in Psram, without the stripes of those that cross the border."""
        return self.columns.bytes - self.columns.outside

    @property
    def segments(self) -> Sequence[CascadeSegment]:
        """All of them by number."""
        return _Segments(self)

    @property
    def ending(self) -> Iterator[tuple[CascadeSegment, ...]]:
        """The segments by where they end."""
        bounds = self.bounds
        for stop in range(self.count + 1):
            yield tuple(map(self.segment, range(bounds[stop], bounds[stop + 1])))

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
        bounds, stop = self.bounds, int(self.columns.stops[number])
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
        tables, columns = (self, *others), list[SegmentColumns]()
        sources: tuple[StripeHeights, ...] = ()
        for table in tables:
            source = table.columns.source
            columns.append(table.columns._replace(source=np.where(source < 0, -1, source + len(sources))))
            sources += table.sources
        joined = SegmentColumns._make(np.concatenate(each) for each in zip(*columns, strict=True))
        return SegmentTable(self.count, joined, sources)._taken(joined.stops.argsort(kind="stable"))

    def _taken(self, numbers: Counts) -> SegmentTable:
        columns = SegmentColumns._make(column[numbers] for column in self.columns)
        return SegmentTable(self.count, columns, self.sources)


class _Segments(Sequence[CascadeSegment]):
    def __init__(self, table: SegmentTable) -> None:
        self.table = table

    def __len__(self) -> int:
        return len(self.table)

    @overload
    def __getitem__(self, index: int) -> CascadeSegment: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[CascadeSegment, ...]: ...
    def __getitem__(self, index: int | slice) -> CascadeSegment | tuple[CascadeSegment, ...]:
        numbers = range(len(self))
        if isinstance(index, slice):
            return tuple(map(self.table.segment, numbers[index]))
        return self.table.segment(numbers[index])


def segment_table(ending: Sequence[Sequence[CascadeSegment]]) -> SegmentTable:
    """The table of segments of which ``ending[stop]`` end before op ``stop``, a single op among them; none in
    bands or with weights that are loaded again."""
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
    return SegmentTable(len(ending) - 1, SegmentColumns._make([*amounts.T, source, number]), (stripes,))
