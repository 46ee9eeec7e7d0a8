"""Hill climbing: what it improves, when it stops, and that a seed determines the plan."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given

from chipmodel.geometry.interval import Interval
from chipmodel.model.plan import Buffer, Problem
from chipmodel.verify.offsets import check
from solvers.core.bounds import contention
from solvers.core.first_fit import ORDERS, first_fit
from solvers.core.outcome import Limits, Progress
from solvers.heuristics import hill_climb as module
from solvers.heuristics.hill_climb import ITERATIONS, hill_climb
from solvers.registry import solve
from tests.solvers.many_problems import simple_problems
from tests.support.work import counted_clock
from workloads.packing.guillotine import guillotine

HARD = replace(guillotine(100, 2), capacity=None)
"""A hundred buffers without a wasted byte; large-first wastes 29 %."""


def peak_of(problem: Problem, limits: Limits) -> int:
    outcome = hill_climb(problem, limits)
    assert outcome.plan is not None
    assert check(replace(problem, capacity=None), outcome.plan) == ()
    return outcome.plan.peak(problem)


def test_it_improves_on_large_first() -> None:
    problem = replace(guillotine(30, 1), capacity=None)
    assert first_fit(problem, ORDERS["large-first"]).peak(problem) > 1.2 * contention(problem)
    outcome = hill_climb(problem, Limits())
    assert (outcome.status, outcome.lower_bound) == ("optimal", contention(problem))
    assert outcome.proof
    assert 0 < outcome.nodes < ITERATIONS


def test_the_same_seed_and_iterations_give_the_same_plan() -> None:
    limits = Limits(nodes=200, seed=3)
    one, two = hill_climb(HARD, limits), hill_climb(HARD, limits)
    assert one.plan == two.plan
    assert one.nodes == two.nodes == 200
    assert [p.peak for p in one.trajectory] == [p.peak for p in two.trajectory]
    assert any(hill_climb(HARD, Limits(nodes=200, seed=s)).plan != one.plan for s in range(3))


def test_more_iterations_are_never_worse_and_none_is_large_first() -> None:
    peaks = [peak_of(HARD, Limits(nodes=n)) for n in (0, 1, 10, 50, 200, 800)]
    assert peaks == sorted(peaks, reverse=True)
    assert peaks[0] == first_fit(HARD, ORDERS["large-first"]).peak(HARD)
    assert peaks[-1] < 0.95 * peaks[0]


def test_the_trajectory_falls_and_is_reported() -> None:
    reports: list[Progress] = []
    outcome = hill_climb(HARD, Limits(nodes=300), reports.append)
    assert tuple(reports) == outcome.trajectory
    peaks = [p.peak for p in reports if p.peak is not None]
    assert peaks == sorted(peaks, reverse=True)
    assert peaks[-1] == outcome.plan.peak(HARD) if outcome.plan else False
    assert {p.lower_bound for p in reports[1:]} == {contention(HARD)}
    assert "climbing" in {p.stage for p in reports}
    solved = solve(HARD, "hill-climb", Limits(nodes=300))
    assert [peak for _, peak, _ in solved.trajectory] == [p.peak for p in reports]


def test_seconds_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock is read for each iteration, so that 20 s at a second a reading are at most 20 iterations."""
    counted_clock(monkeypatch, 1.0, "solvers.core.outcome", "solvers.core.incumbent")
    few, many = (hill_climb(HARD, Limits(seconds=seconds)) for seconds in (20.0, 40.0))
    assert few.status == many.status == "feasible"
    assert 10 < few.nodes <= 20
    assert few.nodes < many.nodes <= 40


def test_with_a_capacity_it_stops_at_the_first_plan_that_fits() -> None:
    bound = contention(HARD)
    roomy = hill_climb(replace(HARD, capacity=2 * bound), Limits(nodes=500))
    assert (roomy.status, roomy.nodes) == ("feasible", 0)
    tight = hill_climb(replace(HARD, capacity=5 * bound // 4), Limits(nodes=500))
    assert tight.status == "feasible"
    assert 0 < tight.nodes < 500
    assert hill_climb(replace(HARD, capacity=bound), Limits(nodes=5)).status == "unknown"
    assert hill_climb(replace(HARD, capacity=bound - 1), Limits(nodes=5)).status == "infeasible"


def test_too_many_pairs_are_not_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_PAIRS", 10)
    outcome = hill_climb(HARD, Limits(nodes=500))
    assert (outcome.nodes, outcome.status) == (0, "feasible")
    assert outcome.proof == "not searched: more than 10 pairs alive together"


def test_without_limits_large_problems_have_fewer_iterations(monkeypatch: pytest.MonkeyPatch) -> None:
    assert hill_climb(HARD, Limits()).nodes == ITERATIONS
    monkeypatch.setattr(module, "MAX_PAIR_CHECKS", 200_000)
    assert 0 < hill_climb(HARD, Limits()).nodes < ITERATIONS


@given(simple_problems())
def test_never_above_large_first(problem: Problem) -> None:
    assert peak_of(problem, Limits(nodes=30)) <= first_fit(problem, ORDERS["large-first"]).peak(problem)


def test_sizes_beyond_64_bits() -> None:
    problem = Problem((Buffer("a", 1 << 70, (Interval(0, 2),)), Buffer("b", 3, (Interval(1, 3),), 8)))
    assert hill_climb(problem, Limits()).status == "optimal"
