"""Explanations: they do not fit, and without any one buffer they do."""

from __future__ import annotations

from dataclasses import replace

import pytest

from chipmodel.model.certificate import LiveSet, Searched, rests_on
from chipmodel.model.plan import Problem, Status
from chipmodel.verify.certificate import verify_certificate
from solvers.core.bounds_certified import best_bound
from solvers.core.outcome import Limits
from solvers.core.preprocess import part_of
from solvers.exact.explain import explain
from tests.solvers.oracle import smallest_peak
from tests.solvers.random_problems import random_problem
from tests.support.buffers import buffer


def by_oracle(problem: Problem, limits: Limits) -> Status:
    return "infeasible" if smallest_peak(problem) is None else "feasible"


def test_a_live_set_needs_only_its_largest() -> None:
    problem = Problem((buffer("a", 5, 0, 2), buffer("b", 1, 0, 2), buffer("c", 4, 1, 3)), 8)
    explained = explain(problem, LiveSet(10, 1, ("a", "b", "c")), Limits(), by_oracle)
    assert explained.buffers == ("a", "c")
    assert explained.certificate == LiveSet(9, 1, ("a", "c"))
    assert explained.irreducible


def test_without_time_everything_is_the_explanation() -> None:
    problem = Problem((buffer("a", 5, 0, 2), buffer("b", 4, 0, 2)), 8)
    word = Searched(9, "somebody", 1, "everything")
    explained = explain(problem, word, Limits(seconds=0.0), by_oracle)
    assert explained.buffers == ("a", "b")
    assert not explained.irreducible


@pytest.mark.parametrize("first", range(0, 200, 100))
def test_small_sets_of_random_problems(first: int) -> None:
    found = 0
    for seed in range(first, first + 100):
        problem = random_problem(seed)
        best = smallest_peak(replace(problem, capacity=None)) if problem.capacity is None else None
        if problem.capacity is None:
            if best is None or best == 0:
                continue
            problem = replace(problem, capacity=best - 1)
        if smallest_peak(problem) is not None:
            continue
        found += 1
        word = Searched((problem.capacity or 0) + 1, "all plans", 1, "everything")
        bound = best_bound(problem, problem.capacity)
        beyond = bound.bytes is None or bound.bytes > (problem.capacity or 0)
        explained = explain(problem, bound if beyond else word, Limits(), by_oracle)
        assert explained.irreducible, seed
        assert smallest_peak(_part(problem, set(explained.buffers))) is None, seed
        for name in explained.buffers:
            rest = _part(problem, set(explained.buffers) - {name})
            assert smallest_peak(rest) is not None, (seed, name)
        assert verify_certificate(problem, explained.certificate) == (), seed
        solid = all(b.bytes for b in problem.buffers if b.name in explained.buffers)
        assert not (solid and rests_on(explained.certificate).startswith("the word")), seed
    assert found > 40


def _part(problem: Problem, names: set[str]) -> Problem:
    return part_of(problem, [b for b in problem.buffers if b.name in names])
