"""The curve of live bytes against counting at every time; fragmentation by hand and as a property."""

from hypothesis import given, strategies as st

from chipmodel.geometry.interval import Interval
from chipmodel.model.live_sets import (
    external_fragmentation,
    highest_live_bytes,
    largest_alive,
    live_bytes_curve,
)
from chipmodel.model.plan import Buffer, Problem
from solvers.core.bounds import contention
from tests.support.narrowed import some

SPANS = st.lists(st.tuples(st.integers(-8, 8), st.integers(0, 6)), max_size=3)
BUFFERS = st.lists(st.tuples(st.integers(0, 9), SPANS), max_size=7)


def problem_of(rows: list[tuple[int, list[tuple[int, int]]]]) -> Problem:
    return Problem(
        tuple(
            Buffer(f"b{i}", size, tuple(Interval(a, a + n) for a, n in spans))
            for i, (size, spans) in enumerate(rows)
        )
    )


def alive_at(problem: Problem, time: int) -> int:
    return sum(b.bytes for b in problem.buffers if any(time in span for span in b.live))


@given(BUFFERS)
def test_the_curve_is_the_count_at_every_time(rows: list[tuple[int, list[tuple[int, int]]]]) -> None:
    problem = problem_of(rows)
    curve = live_bytes_curve(problem)
    counted = [alive_at(problem, time) for time in range(-10, 20)]
    drawn = [next((total for at, total in reversed(curve) if at <= time), 0) for time in range(-10, 20)]
    assert drawn == counted
    assert curve == [] or curve[-1][1] == 0
    live = largest_alive(problem, curve)
    assert (0 if live is None else live.bytes) == max(counted) == contention(problem)
    if live is not None:
        assert sum(b.bytes for b in live.buffers) == live.bytes
        assert all(alive_at(problem, time) == live.bytes for time in range(live.start, live.stop))


@given(BUFFERS)
def test_pressure_is_the_most_alive_in_each_life(rows: list[tuple[int, list[tuple[int, int]]]]) -> None:
    problem = problem_of(rows)
    assert highest_live_bytes(problem, live_bytes_curve(problem)) == [
        max((alive_at(problem, t) for span in b.live for t in range(span.start, span.stop)), default=0)
        for b in problem.buffers
    ]


def test_aliases_need_only_the_largest_of_them() -> None:
    live = (Interval(0, 4),)
    buffers = (Buffer("a", 8, live), Buffer("b", 3, (Interval(2, 9),)), Buffer("c", 5, live))
    problem = Problem(buffers, colocated=(("a", "b"),))
    assert live_bytes_curve(problem) == [(0, 13), (4, 3), (9, 0)]
    found = some(largest_alive(problem, live_bytes_curve(problem)))
    assert (found.bytes, [b.name for b in found.buffers]) == (13, ["a", "c"])


def test_by_hand() -> None:
    assert external_fragmentation([]) == 0
    assert external_fragmentation([7]) == 0
    assert external_fragmentation([0, 7, 0]) == 0
    assert external_fragmentation([3, 7, 2]) == 5
    assert external_fragmentation(iter([4, 4])) == 4


@given(st.lists(st.integers(0, 99), min_size=1))
def test_only_joining_blocks_lowers_it(blocks: list[int]) -> None:
    """Free bytes in one block are not fragmented; the largest block can be allocated at once."""
    assert external_fragmentation([sum(blocks)]) == 0
    assert sum(blocks) - external_fragmentation(blocks) == max(blocks)
    joined = [sum(blocks[:2]), *blocks[2:]]
    assert external_fragmentation(joined) <= external_fragmentation(blocks)
