"""Algorithm 1 by hand, and against a slow twin."""

import pytest
from hypothesis import given, strategies as st

from chipmodel.geometry.interval import Interval
from chipmodel.model.plan import Buffer, Plan, Problem
from solvers.core.bounds import contention
from solvers.core.deadline import Deadline
from solvers.core.first_fit import ORDERS, PlacedByTime, first_fit
from solvers.core.start import start_plans
from tests.support.buffers import buffer

CHAIN = Problem((buffer("a", 10, 0, 2), buffer("b", 30, 1, 3), buffer("c", 20, 2, 5), buffer("d", 40, 4, 6)))


def test_no_further_order_is_tried_after_the_deadline() -> None:
    assert len(list(start_plans(CHAIN))) == 6
    assert len(list(start_plans(CHAIN, Deadline(0, lambda: 1)))) == 1


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    count = draw(st.integers(0, 9))
    result: list[Buffer] = []
    for index in range(count):
        live = draw(
            st.lists(st.tuples(st.integers(0, 9), st.integers(1, 5)), min_size=1, max_size=2).map(
                lambda pairs: tuple(Interval(s, s + n) for s, n in pairs)
            )
        )
        size, alignment = draw(st.integers(0, 12)), draw(st.sampled_from((1, 2, 8)))
        result.append(Buffer(str(index), size, live, alignment))
    return Problem(tuple(result))


def slow_first_fit(problem: Problem, name: str) -> Plan:
    """The paper's sentence, literally: from 0 up, byte by byte, until nothing collides."""
    offsets: dict[str, int] = {}
    for item in sorted(problem.buffers, key=ORDERS[name]):
        rivals = [b for b in problem.buffers if b.name in offsets and b.conflicts(item)]
        offset = 0
        while (
            any(
                max(offset, offsets[r.name]) < min(offset + item.bytes, offsets[r.name] + r.bytes)
                for r in rivals
            )
            or offset % item.alignment
        ):
            offset += 1
        offsets[item.name] = offset
    return Plan(offsets)


@pytest.mark.slow
@pytest.mark.parametrize("few", [0, 9])
@given(problems(), st.sampled_from(sorted(ORDERS)))
def test_first_fit_equals_its_slow_twin(few: int, problem: Problem, name: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("solvers.core.decode.FEW", few)
        assert first_fit(problem, ORDERS[name]).offsets == slow_first_fit(problem, name).offsets


@given(problems(), st.integers(1, 3))
def test_short_segments_of_time_lose_no_rival(problem: Problem, segment: int) -> None:
    """Of every buffer, once all are placed: the same rivals as by asking each pair."""
    placed = PlacedByTime(problem, segment)
    for index in range(len(problem.buffers)):
        placed.add(index, index * 100)
    for index, item in enumerate(problem.buffers):
        lows, highs = placed.rivals(index)
        found = set(zip(lows.tolist(), highs.tolist(), strict=True))
        others = [(i * 100, i * 100 + b.bytes) for i, b in enumerate(problem.buffers) if b.bytes]
        expected = {at for at in others if problem.buffers[at[0] // 100].conflicts(item) and item.bytes}
        assert found == expected


@given(problems())
def test_contention_is_the_fullest_position(problem: Problem) -> None:
    live = [sum(b.bytes for b in problem.buffers if any(p in i for i in b.live)) for p in range(15)]
    assert contention(problem) == max(live)
