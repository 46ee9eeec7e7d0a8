"""The contention bound against the best of all plans."""

from chipmodel.geometry.interval import Interval
from chipmodel.model.certificate import Contradiction, LiveSet, Regions
from chipmodel.model.plan import Buffer, Memory, Problem
from solvers.core.bounds import contention, largest_live_set
from solvers.core.bounds_certified import best_bound
from tests.solvers.oracle import smallest_peak


def buffer(name: str, size: int, *live: tuple[int, int]) -> Buffer:
    return Buffer(name, size, tuple(Interval(*span) for span in live))


def test_capacity_and_alignment_do_not_matter() -> None:
    items = (Buffer("a", 10, (Interval(0, 2),), 64), Buffer("b", 3, (Interval(1, 2),), 64))
    assert contention(Problem(items, 5)) == 13


def test_of_colocated_buffers_only_the_largest_counts() -> None:
    items = (buffer("a", 10, (0, 4)), buffer("b", 30, (2, 6)), buffer("c", 20, (0, 6)))
    assert contention(Problem(items)) == 60
    assert contention(Problem(items, colocated=(("a", "b"),))) == 50
    assert contention(Problem(items, colocated=(("a", "b"), ("b", "c")))) == 30


def test_alignment_rounds_all_but_the_topmost() -> None:
    items = tuple(Buffer(name, 10, (Interval(0, 2),), 64) for name in "abc")
    assert largest_live_set(Problem(items), 64) == LiveSet(138, 0, ("a", "b", "c"), 64)
    assert best_bound(Problem(items)) == LiveSet(138, 0, ("a", "b", "c"), 64)


def test_what_does_not_fit_below_a_pin_goes_above_it() -> None:
    pinned = Buffer("p", 4, (Interval(0, 9),), pinned=3)
    problem = Problem((pinned, buffer("a", 6, (0, 9))))
    assert best_bound(problem) == Regions(13, 0, ("p", "a"))
    assert smallest_peak(problem) == 13


def test_gaps_and_memories_leave_less_than_the_sum() -> None:
    pinned = Buffer("p", 4, (Interval(0, 9),), pinned=6)
    bound = best_bound(Problem((pinned, buffer("a", 5, (0, 9)), buffer("b", 5, (0, 9)))))
    assert bound == Regions(15, 0, ("p", "a", "b"))
    banks = (Memory("x", 0, 8), Memory("y", 8, 16))
    three = tuple(buffer(name, 5, (0, 9)) for name in "abc")
    assert best_bound(Problem(three, None, banks)).bytes is None


def test_constraints_that_exclude_each_other() -> None:
    clash = Problem(
        (Buffer("p", 4, (Interval(0, 9),), pinned=3), Buffer("q", 4, (Interval(0, 9),), pinned=5))
    )
    assert best_bound(clash) == Contradiction(("p", "q"))
