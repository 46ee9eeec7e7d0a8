"""The cheapest cut against all cuts of short runs."""

from __future__ import annotations

from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st

from chipmodel.model.interval import Interval
from dma.cascades.cuts import cheapest_cut
from dma.cascades.segments import CascadeSegment

Ending = tuple[tuple[CascadeSegment, ...], ...]


@st.composite
def _runs(draw: st.DrawFn) -> Ending:
    """Segments of a run of a few ops: each op alone, and some longer ones in several heights."""
    count = draw(st.integers(1, 6))
    ending: list[tuple[CascadeSegment, ...]] = [()]
    for stop in range(1, count + 1):
        starts = [stop - 1, *draw(st.lists(st.integers(0, stop - 1), max_size=4))]
        cycles = st.integers(0, 50)
        ending.append(tuple(CascadeSegment(Interval(s, stop), (), 0, draw(cycles), 0) for s in starts))
    return tuple(ending)


def _all_cuts(ending: Ending, stop: int) -> Iterator[tuple[CascadeSegment, ...]]:
    if not stop:
        yield ()
        return
    for segment in ending[stop]:
        for before in _all_cuts(ending, segment.ops.start):
            yield (*before, segment)


@given(_runs())
def test_no_cut_is_cheaper(ending: Ending) -> None:
    count = len(ending) - 1
    found = cheapest_cut(count, ending, lambda segment: segment.cycles)
    assert found.cost == min(sum(s.cycles for s in cut) for cut in _all_cuts(ending, count))
    assert found.cost == sum(s.cycles for s in found.segments)
    stops = [s.ops.stop for s in found.segments]
    assert [s.ops.start for s in found.segments] == [0, *stops[:-1]]
    assert stops[-1] == count
