"""Runs of addresses: they overlap where the sets of their addresses do."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from chipmodel.geometry.strided_bytes import StridedBytes


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
