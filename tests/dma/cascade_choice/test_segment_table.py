"""Tables of segments: their numbers, and tables made of others."""

import numpy as np

from chipmodel.geometry.interval import Interval
from dma.cascade_choice.segment_table import CascadeSegment, SegmentTable, segment_table


def segment(start: int, stop: int, size: int, *heights: int) -> CascadeSegment:
    return CascadeSegment(Interval(start, stop), heights, size, 10 * size, size, outside=1)


ALONE = [segment(index, index + 1, 5) for index in range(3)]
PAIR, OTHER, ALL = segment(0, 2, 7, 1, 2), segment(1, 3, 8, 3, 3), segment(0, 3, 9, 1, 1, 1)


def table(*cascades: CascadeSegment) -> SegmentTable:
    """The three single ops and ``cascades``."""
    every = [*ALONE, *cascades]
    return segment_table([[each for each in every if each.ops.stop == stop] for stop in range(4)])


def test_segments_are_numbered_by_where_they_end() -> None:
    found = table(ALL, PAIR)
    assert found.segments == [ALONE[0], ALONE[1], PAIR, ALONE[2], ALL]
    assert found.bounds == [0, 0, 1, 3, 5]
    assert [list(found.ending_with(number)) for number in (0, 2, 3)] == [[0], [1, 2], [3, 4]]
    assert found.cascaded.tolist() == [False, False, True, False, True]
    assert found.least.tolist() == [4, 4, 6, 4, 8]


def test_tables_are_joined_and_chosen_from() -> None:
    joined = table(PAIR).followed_by(table(OTHER).where(np.array([False, False, False, True])))
    assert joined.segments == [ALONE[0], ALONE[1], PAIR, ALONE[2], OTHER]
    assert joined.where(joined.cascaded).segments == [PAIR, OTHER]


def test_equal_segments_are_found_by_their_amounts_and_heights() -> None:
    higher = segment(0, 2, 7, 2, 2)
    found = table(PAIR, higher).followed_by(table(PAIR))
    for each, times in ((PAIR, 2), (higher, 1)):
        same = found.same(found.segments.index(each))
        assert [found.segment(number) for number in same] == [each] * times
