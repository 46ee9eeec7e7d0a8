"""What every packer with limits keeps: one seed and nodes, one plan; what it tells only improves."""

from dataclasses import replace
from itertools import pairwise

import pytest

from chipmodel.model.plan import PackingProgress
from solvers.core.anytime import Anytime
from solvers.core.bounds import contention
from solvers.core.outcome import Limits
from solvers.heuristics.lowest_fit import naive
from solvers.registry import packers, solve
from tests.solvers.many_problems import any_problem
from tests.support.plain_check import check
from tests.support.random_buffers import random_buffers
from tests.support.work import counted_clock
from workloads.packing.guillotine import guillotine

ANYTIME = [name for name, packer in packers().items() if packer.searches]
IMPROVERS = ["hill-climb", "context-evolutionary", "context-rl"]
PROBLEMS = (
    replace(guillotine(25, 3), capacity=None),
    random_buffers(5, 30, horizon=20, longest=8, alignments=(1, 4)),
    any_problem(12),
)


AFTER_THE_END = 10
"""Readings of the clock that may follow the one that says that time is over: for progress and the answer."""


@pytest.mark.parametrize("packer", ANYTIME)
def test_the_same_seed_and_nodes_give_the_same_plan(packer: str) -> None:
    for problem in PROBLEMS:
        limits = Limits(nodes=60, seed=7, threads=1)
        one, two = solve(problem, packer, limits), solve(problem, packer, limits)
        assert (one.plan, one.status, one.nodes) == (two.plan, two.status, two.nodes)
        reports = [[(peak, bound) for _, peak, bound in solved.trajectory] for solved in (one, two)]
        assert reports[0] == reports[1]


@pytest.mark.parametrize("packer", ANYTIME)
def test_what_is_told_only_improves_and_ends_with_the_answer(packer: str) -> None:
    for problem in PROBLEMS:
        reports: list[PackingProgress] = []
        solved = solve(problem, packer, Limits(nodes=60, seed=3, threads=1), reports.append)
        assert check(problem, solved.plan) == ()
        assert reports
        for one, next_ in pairwise(reports):
            assert one.seconds <= next_.seconds
            assert one.peak is None or (next_.peak is not None and next_.peak <= one.peak)
            assert one.lower_bound <= next_.lower_bound
        peaks = [point.peak for point in reports if point.peak is not None]
        assert not peaks or peaks[-1] == solved.peak
        assert all(point.lower_bound <= solved.lower_bound <= solved.peak for point in reports)
        if packer not in ("search", "cp-sat"):
            kept = [(peak, bound) for _, peak, bound in solved.trajectory]
            assert kept == [(point.peak, point.lower_bound) for point in reports]


@pytest.mark.slow
@pytest.mark.parametrize("packer", IMPROVERS)
def test_no_more_nodes_than_asked_for_and_another_seed_is_another_way(packer: str) -> None:
    problem = replace(guillotine(60, 1), capacity=None)
    solved = [solve(problem, packer, Limits(nodes=150, seed=seed)) for seed in range(4)]
    assert all(each.nodes <= 150 for each in solved)
    assert len({tuple(each.plan.offsets.values()) for each in solved}) > 1


@pytest.mark.parametrize("packer", IMPROVERS)
def test_seconds_are_kept(packer: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a clock that is a second later at each reading: 20 s are at most 20 looks at it."""
    problem = replace(guillotine(60, 2), capacity=None)
    clock = counted_clock(monkeypatch, 1.0, "solvers.core.outcome", "solvers.core.incumbent")
    few = solve(problem, packer, Limits(seconds=20.0))
    assert few.status == "feasible"
    assert clock.reads <= 20 + AFTER_THE_END
    before = clock.reads
    many = solve(problem, packer, Limits(seconds=60.0))
    assert clock.reads - before <= 60 + AFTER_THE_END
    assert many.nodes > few.nodes


@pytest.mark.parametrize("packer", IMPROVERS)
def test_a_plan_within_the_capacity_ends_it(packer: str) -> None:
    problem = replace(guillotine(60, 2), capacity=None)
    bound = contention(problem)
    roomy, tight, less = (
        solve(replace(problem, capacity=capacity), packer, Limits(nodes=5))
        for capacity in (2 * bound, bound, bound - 1)
    )
    assert (roomy.status, roomy.nodes) == ("feasible", 0)
    assert (tight.status, less.status) == ("unknown", "infeasible")


def test_a_worse_plan_is_not_kept() -> None:
    problem = PROBLEMS[0]
    best = solve(problem, "exact", Limits(nodes=20_000)).plan
    run = Anytime(problem, Limits(nodes=1), None, best)
    run.offer(naive(problem))
    assert run.plan == best
    assert run.peak == best.peak(problem)
    assert run.good_enough
    assert run.done(100)
