"""Hill climbing: what it improves, when it stops, and that a seed determines the plan."""

from dataclasses import replace

import pytest
from hypothesis import given

from chipmodel.model.plan import Problem
from chipmodel.verify.offsets import check
from solvers.core.bounds import contention
from solvers.core.first_fit import ORDERS, first_fit
from solvers.core.outcome import Limits, Progress
from solvers.heuristics import hill_climb as module
from solvers.heuristics.hill_climb import ITERATIONS, hill_climb
from tests.solvers.many_problems import simple_problems
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
    reports: list[Progress] = []
    outcome = hill_climb(problem, Limits(), reports.append)
    assert (outcome.status, outcome.lower_bound) == ("optimal", contention(problem))
    assert "climbing" in {each.stage for each in reports}
    assert outcome.proof
    assert 0 < outcome.nodes < ITERATIONS


def test_too_many_pairs_are_not_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_PAIRS", 10)
    outcome = hill_climb(HARD, Limits(nodes=500))
    assert (outcome.nodes, outcome.status) == (0, "feasible")
    assert outcome.proof == "not searched: more than 10 pairs alive together"


@given(simple_problems())
def test_never_above_large_first(problem: Problem) -> None:
    assert peak_of(problem, Limits(nodes=30)) <= first_fit(problem, ORDERS["large-first"]).peak(problem)
