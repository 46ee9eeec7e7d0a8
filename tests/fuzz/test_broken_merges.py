"""The search ``broken-merges`` on a few trees: each broken merge that corrupts is noticed."""

from collections import Counter
from random import Random

import pytest

from solvers.registry import solve
from tests.fuzz.broken_merges import BREAKS, case, check, corrupts, objections

TREES = 10


@pytest.mark.slow
def test_a_broken_merge_that_corrupts_is_always_noticed() -> None:
    seen = sum(map(check, range(TREES)), Counter[str]())
    assert seen["trees"] == TREES
    assert seen["corrupted"] >= 2


@pytest.mark.slow
def test_every_way_to_break_it_corrupts_some_tree() -> None:
    for name, breaks in BREAKS.items():
        plans = (
            (case(s), solve(breaks(case(s).schedule, case(s).problem), "large-first").plan) for s in range(40)
        )
        assert any(corrupts(tree.schedule, plan, Random(1), 1) for tree, plan in plans), name


def test_a_walk_that_notices_nothing_would_be_noticed() -> None:
    """All buffers at 0: whatever the tree, that corrupts, and both checks say so."""
    tree = case(7)
    plan = solve(tree.problem, "large-first").plan
    heap = type(plan)(dict.fromkeys(plan.offsets, 0))
    assert corrupts(tree.schedule, heap, Random(1), 1)
    assert all(objections(tree, heap))
    assert not corrupts(tree.schedule, plan, Random(1), 0)
