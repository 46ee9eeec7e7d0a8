"""The contention bound: by hand, and against the best of all plans."""

from __future__ import annotations

from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from chipmodel.interval import Interval
from chipmodel.plan import Buffer, Plan, Problem, check
from solvers.bounds import contention


def buffer(name: str, size: int, *live: tuple[int, int]) -> Buffer:
    return Buffer(name, size, tuple(Interval(*span) for span in live))


def test_by_hand() -> None:
    assert contention(Problem(())) == 0
    assert contention(Problem((buffer("a", 7, (3, 4)),))) == 7
    chain = (buffer("a", 10, (0, 2)), buffer("b", 30, (1, 3)), buffer("c", 20, (2, 5)))
    assert contention(Problem(chain)) == 50  # b and c at 2, where a has ended


def test_lifetimes_that_touch_are_never_alive_together() -> None:
    assert contention(Problem((buffer("a", 10, (0, 2)), buffer("b", 30, (2, 4))))) == 30


def test_a_buffer_counts_once_however_its_lifetime_is_written() -> None:
    assert contention(Problem((buffer("a", 10, (0, 3), (2, 5), (5, 6)),))) == 10


def test_a_hole_in_a_lifetime_is_free() -> None:
    both = (buffer("a", 10, (0, 2), (4, 6)), buffer("b", 30, (2, 4)))
    assert contention(Problem(both)) == 30


def test_what_is_never_alive_counts_nothing() -> None:
    assert contention(Problem((buffer("a", 10), buffer("b", 5, (2, 2)), buffer("c", 3, (0, 1))))) == 3


def test_capacity_and_alignment_do_not_matter() -> None:
    items = (Buffer("a", 10, (Interval(0, 2),), 64), Buffer("b", 3, (Interval(1, 2),), 64))
    assert contention(Problem(items, 5)) == 13


spans = st.tuples(st.integers(0, 4), st.integers(1, 3)).map(lambda s: Interval(s[0], s[0] + s[1]))
problems = st.lists(
    st.tuples(st.integers(0, 3), st.lists(spans, min_size=1, max_size=2)), min_size=1, max_size=3
)


@settings(max_examples=150)
@given(problems)
def test_no_plan_at_all_is_below_it(items: list[tuple[int, list[Interval]]]) -> None:
    """Every plan with offsets below 7 (no better one needs more), and for two buffers the best meets it."""
    problem = Problem(tuple(Buffer(str(i), size, tuple(live)) for i, (size, live) in enumerate(items)))
    names = [b.name for b in problem.buffers]
    plans = (Plan(dict(zip(names, offsets, strict=True))) for offsets in product(range(7), repeat=len(names)))
    best = min(plan.peak(problem) for plan in plans if not check(problem, plan))
    assert contention(problem) <= best
    if len(items) <= 2:
        assert contention(problem) == best
