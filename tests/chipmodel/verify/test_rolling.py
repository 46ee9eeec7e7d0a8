"""What rolling buffers hold, against a model that remembers for every byte of the buffer what lies there."""

from hypothesis import given, strategies as st

from chipmodel.geometry.interval import Interval
from chipmodel.geometry.share import Share
from chipmodel.verify.rolling import RollingRows, touched_in_ring


def rows(start: int, stop: int, of: int = 10) -> Share:
    return Share(Interval(start, stop), of)


def test_shares_count_in_bytes_whatever_their_division() -> None:
    ring = RollingRows(40, 12).add(rows(0, 3))
    assert rows(1, 6, 20) in ring
    assert rows(1, 7, 20) not in ring
    assert Share(Interval(0, 1), 10, Interval(0, 2), 4) in ring
    assert Share(Interval(2, 4), 10, Interval(0, 2), 4) not in ring


def test_more_rows_than_the_buffer_has_leave_nothing_known() -> None:
    assert RollingRows(40, 12).add(rows(0, 2)).add(rows(2, 6)).held == ()


def test_rows_across_the_end_touch_the_whole_buffer() -> None:
    assert touched_in_ring(rows(1, 3), 40, 12) == Interval(4, 12)
    assert touched_in_ring(rows(3, 4), 40, 12) == Interval(0, 4)
    assert touched_in_ring(rows(2, 4), 40, 12) == Interval(0, 12)


@given(
    total=st.integers(1, 40),
    ring=st.integers(1, 20),
    writes=st.lists(st.tuples(st.integers(0, 39), st.integers(1, 12)), max_size=8),
)
def test_it_equals_a_model_of_every_byte(total: int, ring: int, writes: list[tuple[int, int]]) -> None:
    held, there = RollingRows(total, ring), dict[int, int]()
    for first, count in writes:
        start, stop = min(first, total - 1), min(first + count, total)
        if stop - start > ring:
            continue
        held = held.add(rows(start, stop, total))
        there |= {byte % ring: byte for byte in range(start, stop)}
    known = {byte for interval in held.held for byte in range(interval.start, interval.stop)}
    assert known == set(there.values())
