"""The cheapest cut against all cuts of short runs."""

from collections.abc import Iterator

from hypothesis import given, strategies as st

from chipmodel.geometry.interval import Interval
from dma.cascade_choice.cuts import cheapest_cut, least_maximum
from dma.cascade_choice.segment_table import CascadeSegment, segment_table

Ending = tuple[tuple[CascadeSegment, ...], ...]


@st.composite
def _runs(draw: st.DrawFn) -> Ending:
    """Segments of a run of a few ops: each op alone, and some longer ones in several heights."""
    count = draw(st.integers(1, 6))
    ending: list[tuple[CascadeSegment, ...]] = [()]
    for stop in range(1, count + 1):
        starts = [stop - 1, *draw(st.lists(st.integers(0, stop - 1), max_size=4))]
        cycles = st.integers(0, 50)
        size = st.integers(0, 50)
        ending.append(
            tuple(CascadeSegment(Interval(s, stop), (), draw(size), draw(cycles), 0) for s in starts)
        )
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
    table = segment_table(ending)
    found = cheapest_cut(table, table.cycles)
    segments = [table.segment(number) for number in found.numbers]
    assert found.cost == min(sum(s.cycles for s in cut) for cut in _all_cuts(ending, table.count))
    assert found.cost == sum(s.cycles for s in segments)
    stops = [s.ops.stop for s in segments]
    assert [s.ops.start for s in segments] == [0, *stops[:-1]]
    assert stops[-1] == table.count == len(ending) - 1


@given(_runs())
def test_no_cut_has_a_smaller_largest_segment(ending: Ending) -> None:
    table = segment_table(ending)
    least = min(max(s.bytes for s in cut) for cut in _all_cuts(ending, table.count))
    assert least_maximum(table, table.bytes) == least
