"""State search as a packer: what a user writes after it, one memory, and the search for a smaller one."""

from dataclasses import replace

import pytest
from hypothesis import given

from chipmodel.errors import BadInput
from chipmodel.geometry.interval import Interval
from chipmodel.model.plan import Buffer, Problem
from solvers.core.bounds import contention
from solvers.core.outcome import Limits
from solvers.registry import packer_named, packers, solve
from solvers.tiers.packer import state_search
from solvers.tiers.settings import STANDARD, TierSettings
from tests.solvers.many_problems import any_problem, naive_sum, simple_problems
from tests.solvers.oracle import smallest_peak
from tests.support.narrowed import some
from tests.support.plain_check import check


def test_it_is_listed_as_a_packer_that_decides_tiers() -> None:
    assert packers()["state-search"].tiers
    assert not packers()["large-first"].tiers


def test_in_a_limited_memory_blocks_lie_at_both_borders() -> None:
    """What the initial rule does to a chain: its halves take turns, and no byte is lost."""
    chain = Problem(tuple(Buffer(str(i), 40 + i, (Interval(i, i + 2),)) for i in range(9)), 95)
    solved = solve(chain, "state-search", Limits(nodes=0))
    assert check(chain, solved.plan) == ()
    assert [solved.plan.offsets[str(i)] for i in range(4)] == [0, 54, 0, 52]


def test_the_search_finds_a_place_where_the_rule_finds_none() -> None:
    found = [seed for seed in range(60) if improved(any_problem(seed))]
    assert len(found) >= 5


def improved(problem: Problem) -> bool:
    rule, searched = (state_search(problem, Limits(nodes=n)) for n in (0, 500))
    return some(searched.plan).peak(problem) < some(rule.plan).peak(problem)


def test_more_nodes_are_never_worse_and_the_same_nodes_give_the_same_plan() -> None:
    for seed in range(12):
        problem = any_problem(seed)
        plans = [state_search(problem, Limits(nodes=n)).plan for n in (0, 5, 60, 60, 400)]
        assert plans[2] == plans[3]
        peaks = [plan.peak(problem) for plan in plans if plan is not None]
        assert max(peaks) == peaks[0]
        assert peaks[0] <= naive_sum(problem) + 6 * len(problem.buffers)


@given(simple_problems())
def test_never_below_the_optimum_and_optimal_only_if_equal(problem: Problem) -> None:
    solved = solve(problem, "state-search")
    assert check(problem, solved.plan) == ()
    if len(problem.buffers) <= 5:
        least = some(smallest_peak(replace(problem, capacity=solved.peak)))
        assert solved.status != "optimal" or solved.peak == least
        assert solved.lower_bound <= least


def test_a_hole_is_used() -> None:
    around = Buffer("around", 10, (Interval(0, 2), Interval(6, 8)))
    within = Buffer("within", 10, (Interval(3, 5),))
    both = Problem((around, within))
    assert solve(both, "state-search").peak == 10
    across = replace(within, live=(Interval(3, 7),))
    assert solve(Problem((around, across)), "state-search").peak == 20


def test_it_stops_within_the_capacity_and_reports_what_is_proven() -> None:
    buffers = tuple(Buffer(str(i), 10, (Interval(i, i + 3),)) for i in range(6))
    assert solve(Problem(buffers, 60), "state-search").status in ("feasible", "optimal")
    assert solve(Problem(buffers, 30), "state-search").status == "optimal"
    assert solve(Problem(buffers, 29), "state-search").status == "infeasible"
    assert contention(Problem(buffers)) == 30


@pytest.mark.parametrize(
    ("text", "settings"),
    [
        ("segment=3", TierSettings(3)),
        ("actions=swap+reuse,segment=1", TierSettings(1, frozenset({"swap", "reuse"}))),
        ("cost=bytes", TierSettings(cost="bytes")),
        ("changes=1", TierSettings(changes=1)),
        ("segment=3+1", TierSettings((3, 1))),
        ("actions=move+swap+reuse,cost=cycles", STANDARD),
    ],
)
def test_settings_are_read(text: str, settings: TierSettings) -> None:
    assert packer_named(f"state-search:{text}").options == {"settings": settings}


WRONG = (
    *("", "3", "segment=0", "segment=65", "segment=3+", "segment=3,", "segment=1,segment=2", "actions="),
    *("actions=swap+fly", "actions=swap+swap", "cost=time", "changes=3", "steps=2"),
)


@pytest.mark.parametrize("text", WRONG)
def test_what_is_none_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(BadInput) as refused:
        packer_named(f"state-search:{text}")
    assert refused.value.hint.endswith("state-search:segment=3,actions=move+swap+reuse,cost=bytes,changes=1")
