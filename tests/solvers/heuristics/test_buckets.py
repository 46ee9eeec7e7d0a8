"""Shared buckets by hand, each of the three orders where it is best, and their guarantees."""

from hypothesis import given

from chipmodel.model.plan import Problem
from solvers.heuristics.buckets import buckets, by_breadth, by_order, by_size, share
from tests.solvers.many_problems import simple_problems
from tests.support.buffers import alive


def sums(problem: Problem) -> dict[str, int]:
    orders = {"size": by_size(problem), "breadth": by_breadth(problem), "order": by_order(problem)}
    return {name: sum(share(problem, order).sizes) for name, order in orders.items()}


def test_the_smallest_bucket_that_is_large_enough() -> None:
    problem = alive((50, 0, 1), (20, 0, 1), (15, 1, 2), (30, 1, 2))
    assert share(problem, by_order(problem)).node_of == (0, 1, 1, 0)


def test_the_orders_by_hand() -> None:
    problem = alive((5, 0, 1), (9, 0, 3), (7, 2, 4), (6, 3, 5), (30, 6, 7))
    assert by_size(problem) == [4, 1, 2, 3, 0]
    assert by_order(problem) == [0, 1, 2, 3, 4]
    # Alive are 14, 9, 16, 13, 6, 0 and 30 bytes.
    assert by_breadth(problem) == [4, 1, 2, 0, 3]


def test_the_smallest_sum_wins() -> None:
    """Of random problems some are best by size, some by breadth and some in execution order."""
    from tests.support.random_buffers import random_buffers

    winners: set[str] = set()
    for seed in range(60):
        problem = random_buffers(seed, 12, horizon=10, longest=5)
        found = sums(problem)
        assert buckets(problem).peak(problem) == min(found.values())
        best = [name for name, total in found.items() if total == min(found.values())]
        winners |= set(best) if len(best) == 1 else set()
    assert winners == {"size", "breadth", "order"}


def slow_breadth(problem: Problem) -> list[int]:
    """The vendor's own words: positions by falling live bytes, at each its buffers by falling size, and
    those that have not come yet are next."""
    positions = range(16)
    live = [[i for i, b in enumerate(problem.buffers) if p in b.live[0]] for p in positions]
    broad = sorted(positions, key=lambda p: -sum(problem.buffers[i].bytes for i in live[p]))
    result: list[int] = []
    for position in broad:
        new = [i for i in live[position] if i not in result]
        result += sorted(new, key=lambda i: -problem.buffers[i].bytes)
    return result


@given(simple_problems())
def test_by_breadth_equals_the_reference(problem: Problem) -> None:
    assert by_breadth(problem) == slow_breadth(problem)
