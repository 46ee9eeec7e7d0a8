"""TVM's greedy by hand, its count of conflicts against ``Buffer.conflicts``, and what it guarantees."""

from hypothesis import given, settings

from chipmodel.model.plan import Problem
from solvers.core.conflicts import conflict_counts, neighbours
from solvers.heuristics.conflict_first import conflict_first
from tests.solvers.many_problems import odd_problems
from tests.support.buffers import alive


def test_by_hand() -> None:
    # Conflicts: 0 with 1; 1 with 0, 2, 3; 2 with 1, 3; 3 with 1, 2; 4 with none.
    problem = alive((10, 0, 2), (20, 1, 5), (30, 2, 4), (5, 3, 5), (99, 6, 7))
    assert conflict_counts(problem) == [1, 3, 2, 2, 0]
    # 1 first, then 2 before 3 because it is larger, then 0 on 1, and 4 at the bottom.
    assert list(conflict_first(problem).offsets.values()) == [20, 0, 20, 50, 0]


def test_gaps_are_not_used() -> None:
    # 3 conflicts with 0 and 2; below 2 there are 20 bytes free next to 0, but it goes on top.
    problem = alive((10, 0, 9), (20, 0, 4), (15, 3, 9), (5, 5, 9), (1, 0, 3))
    assert list(conflict_first(problem).offsets.values()) == [0, 10, 30, 45, 30]


@settings(max_examples=200)
@given(odd_problems())
def test_conflicts_are_those_of_every_pair(problem: Problem) -> None:
    solid = [b if b.bytes else None for b in problem.buffers]
    expected = [[j for j, b in enumerate(solid) if a and b and a is not b and a.conflicts(b)] for a in solid]
    assert conflict_counts(problem) == [len(each) for each in expected]
    found = neighbours(problem, 1000)
    assert found is not None
    assert [each.tolist() for each in found] == expected
