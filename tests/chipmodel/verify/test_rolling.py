"""What rolling buffers hold, against a model that remembers for every byte of the buffer what lies there."""

from hypothesis import given, strategies as st

from chipmodel.geometry.interval import Interval
from chipmodel.geometry.share import Share
from chipmodel.model.commands import Located
from chipmodel.model.schedule import Part
from chipmodel.verify.memory_state import MemoryState
from chipmodel.verify.rolling import touched_in_ring


def rows(start: int, stop: int, of: int = 10) -> Share:
    return Share(Interval(start, stop), of)


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
    state, there = MemoryState.of({"t": total}, {}, 32), dict[int, int]()

    def place(start: int, stop: int) -> Located:
        return Located(Part("t", rows(start, stop, total)), 4, ring, rolls=True)

    for first, count in writes:
        start, stop = min(first, total - 1), min(first + count, total)
        written = set(range(start, stop))
        if len(written) > ring:
            continue
        if state.written[start:stop].any():
            there = {}
        state.write(place(start, stop), "step")
        there |= {byte % ring: byte for byte in written}
    known = {byte for byte in range(total) if state.missing(place(byte, byte + 1)) is None}
    assert known == set(there.values())
