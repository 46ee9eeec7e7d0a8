"""Guillotine problems: memory is full at every time, and the plan they were cut from is valid."""

import pytest
from hypothesis import given, strategies as st

from chipmodel.errors import BadInput, TimeIsOver
from solvers.core.deadline import Deadline
from tests.support.mistakes import mistakes
from tests.support.plain_check import check
from tests.support.work import CountedClock
from workloads.packing.guillotine import guillotine, guillotine_table, guillotine_with_plan


@given(st.integers(1, 60), st.integers(0, 1 << 40), st.integers(1, 30), st.integers(1, 3000))
def test_no_byte_is_unused_at_any_time_and_the_hidden_plan_is_optimal(
    n: int, seed: int, steps: int, size: int
) -> None:
    if n > steps * size:
        with pytest.raises(BadInput):
            guillotine(n, seed, steps, size)
        return
    problem, plan = guillotine_with_plan(n, seed, steps, size)
    assert len(problem.buffers) == n
    assert problem.capacity == size == plan.peak(problem)
    assert check(problem, plan) == ()
    for time in range(steps):
        assert sum(b.bytes for b in problem.buffers if any(time in span for span in b.live)) == size
    assert all(b.bytes > 0 and len(b.live) == 1 and len(b.live[0]) for b in problem.buffers)


def test_a_rectangle_can_be_cut_down_to_its_last_cell() -> None:
    assert {(b.bytes, len(b.live[0])) for b in guillotine(60, 1, 6, 10).buffers} == {(1, 1)}


def test_the_same_seed_gives_the_same_problem_and_another_seed_another() -> None:
    assert guillotine(50, 7) == guillotine(50, 7)
    assert guillotine(50, 7) != guillotine(50, 8)


def test_the_order_of_the_buffers_does_not_give_the_plan_away() -> None:
    problem, plan = guillotine_with_plan(100, 3)
    lows = [plan.offsets[b.name] for b in problem.buffers]
    assert lows != sorted(lows)
    starts = [b.live[0].start for b in problem.buffers]
    assert starts != sorted(starts)


def test_a_source_names_every_argument() -> None:
    table = guillotine_table("guillotine:n=20,seed=3,time_steps=50,bytes=4096", None)
    made = guillotine(20, 3, 50, 4096)
    assert table.problem.buffers == made.buffers
    assert table.problem.capacity is None
    assert table.known_optimum == 4096
    assert table.rows[0] == (
        "b0",
        *(str(v) for v in (made.buffers[0].live[0].start, made.buffers[0].live[0].stop)),
        str(made.buffers[0].bytes),
    )
    assert guillotine_table("guillotine:n=20", 77).problem.capacity == 77


@pytest.mark.parametrize(("source", "words"), mistakes("guillotine"))
def test_impossible_problems_are_refused(source: str, words: str) -> None:
    with pytest.raises(BadInput) as refused:
        guillotine_table(source, None)
    assert words in str(refused.value)
    assert refused.value.hint


def test_making_buffers_ends_at_the_deadline() -> None:
    with pytest.raises(TimeIsOver, match="before all buffers were made"):
        guillotine_table("guillotine:n=250000", None, Deadline(5.0, CountedClock(1.0)))
