from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from chipmodel.geometry.interval import Interval, hull, merged

intervals = st.builds(Interval, st.integers(0, 30), st.integers(0, 30))


@given(intervals, intervals)
def test_overlap_is_a_common_point(a: Interval, b: Interval) -> None:
    assert a.overlaps(b) == any(p in a and p in b for p in range(31))


@given(st.lists(intervals))
def test_merged_holds_the_same_points_and_leaves_gaps(parts: list[Interval]) -> None:
    result = merged(parts)
    assert {p for i in parts for p in range(31) if p in i} == {p for i in result for p in range(31) if p in i}
    assert all(a.stop < b.start for a, b in pairwise(result))


@given(st.lists(intervals))
def test_hull_ends_at_the_extreme_points(parts: list[Interval]) -> None:
    points = [p for i in parts for p in range(31) if p in i]
    assert hull(parts) == (Interval(min(points), max(points) + 1) if points else Interval(0, 0))
