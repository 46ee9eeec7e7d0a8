"""Intervals, shares, groups, pieces and runs of numbers, against sets of these numbers."""

from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given, strategies as st

from chipmodel.geometry.aligned_cuts import AlignedCuts
from chipmodel.geometry.groups import joined
from chipmodel.geometry.interval import Interval, StridedBytes, hull, merged
from chipmodel.geometry.share import Share

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


@given(st.integers(1, 5000), st.integers(1, 7), st.integers(1, 7), st.data())
def test_shares_of_a_tensor_add_up(total: int, of_rows: int, of_channels: int, data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, of_rows))
    channels = Interval(0, of_channels)
    a = Share(Interval(0, cut), of_rows, channels, of_channels).bytes(total)
    b = Share(Interval(cut, of_rows), of_rows, channels, of_channels).bytes(total)
    assert total <= a + b <= total + 1


@given(st.lists(st.lists(st.integers(0, 9), max_size=4), max_size=8))
def test_groups_are_the_smallest_that_divide_no_link(links: list[list[int]]) -> None:
    groups = [{number} for number in range(10)]
    for link in links:
        inside = [group for group in groups if group & set(link)]
        groups = [group for group in groups if group not in inside]
        groups += [set().union(*inside)] if inside else []
    assert joined(10, links) == sorted(tuple(sorted(group)) for group in groups)


@pytest.mark.parametrize("total", [1, 3, 7, 8])
def test_only_the_last_piece_may_be_shorter(total: int) -> None:
    cuts = AlignedCuts(total, total, 4)
    pieces = list(cuts)
    assert [number for piece in pieces for number in range(piece.start, piece.stop)] == list(range(total))
    assert len(cuts) == len(pieces)
    assert all(len(piece) == 4 for piece in pieces[:-1])
    assert cuts.sizes() == Counter(map(len, pieces))
    assert all(place in range(*_ends(cuts, place)) for place in range(total))


def _ends(cuts: AlignedCuts, place: int) -> tuple[int, int]:
    piece = cuts.piece(cuts.number_at(place))
    return piece.start, piece.stop


@st.composite
def runs(draw: st.DrawFn) -> StridedBytes:
    start, length, count = draw(st.integers(0, 30)), draw(st.integers(0, 6)), draw(st.integers(1, 5))
    return StridedBytes(start, length, count, max(1, length) + draw(st.integers(0, 8)) if count > 1 else 0)


def members(addresses: StridedBytes) -> set[int]:
    starts = (addresses.start + number * addresses.pitch for number in range(addresses.count))
    return {start + byte for start in starts for byte in range(addresses.length)}


@given(runs(), runs())
def test_overlaps_as_sets_do(a: StridedBytes, b: StridedBytes) -> None:
    assert a.overlaps(b) == b.overlaps(a) == bool(members(a) & members(b))


@given(runs())
def test_ends_after_the_last_byte(a: StridedBytes) -> None:
    assert not members(a) or a.stop == max(members(a)) + 1


def test_channels_of_a_row_lie_between_those_of_another() -> None:
    first, second = StridedBytes(0, 4, 8, 16), StridedBytes(4, 12, 8, 16)
    assert not first.overlaps(second)
    assert first.overlaps(StridedBytes(0, 128))
    assert not first.overlaps(StridedBytes(4, 12))
