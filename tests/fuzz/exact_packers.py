"""Every claim of the exact packers against all plans of small random problems.

For each seed a problem of up to 7 buffers with all kinds of constraints: brute force, which tries every
offset and knows only ``check``, must agree with every status, peak, bound and explanation of the portfolio
and of both exact solvers, and every certificate must verify. For every fifth seed another problem of up to 14
buffers, on which the search and CP-SAT must agree with each other.
"""

from collections import Counter
from dataclasses import replace

from chipmodel.model.certificate import excludes, rests_on
from chipmodel.model.plan import Plan, Problem
from chipmodel.verify.certificate import verify_certificate
from solvers.core.outcome import Limits, Outcome
from solvers.core.preprocess import part_of
from solvers.exact import cp_sat
from solvers.exact.portfolio import exact
from solvers.search import complete
from tests.solvers.oracle import smallest_peak
from tests.solvers.random_problems import random_problem
from tests.support import plain_check

COUNT = 10_000
LIMITS = Limits(nodes=200_000, threads=1)
PAIR_LIMITS = Limits(nodes=2_000_000, threads=1)
PAIR_EVERY = 5
"""Of so many seeds, one also compares the two exact solvers on a larger problem."""


def agree(seed: int, problem: Problem) -> Outcome:
    """The outcome of minimising, after every claim in it was compared with all plans."""
    best = smallest_peak(problem)
    for goal in ("fit", "minimise"):
        outcome = exact(problem, LIMITS, goal=goal)
        assert outcome.certificate is not None
        assert verify_certificate(problem, outcome.certificate) == (), seed
        if best is None:
            assert outcome.status == "infeasible", seed
            assert excludes(outcome.certificate, problem.capacity), seed
            names = set(outcome.explanation)
            part = part_of(problem, [b for b in problem.buffers if b.name in names])
            assert not names or smallest_peak(part) is None, seed
            continue
        assert outcome.plan is not None, seed
        assert plain_check.check(problem, outcome.plan) == (), seed
        peak = outcome.plan.peak(problem)
        assert outcome.lower_bound <= best, seed
        if goal == "minimise" or problem.capacity is None or outcome.status == "optimal":
            assert (outcome.status, peak, outcome.lower_bound) == ("optimal", best, best), seed
        else:
            assert outcome.status == "feasible", seed
    return outcome


def small(seed: int) -> Counter[str]:
    """One problem of up to 7 buffers. Raises AssertionError at the first wrong claim."""
    problem = random_problem(seed)
    outcome = agree(seed, problem)
    best = smallest_peak(problem)
    unknown = 0
    for solver in (complete, cp_sat):
        unknown += _unanswered(seed, problem, best, solver.minimise(problem, LIMITS))
        if problem.capacity is not None:
            unknown += _unanswered(seed, problem, best, solver.fit(problem, problem.capacity, LIMITS), False)
    seen = Counter({outcome.status: 1, "with constraints": not problem.plain})
    if outcome.certificate is not None:
        seen[f"proof: {rests_on(outcome.certificate)}"] += 1
    seen["left unknown by the search alone"] += unknown
    return seen


def _unanswered(seed: int, problem: Problem, best: int | None, outcome: Outcome, least: bool = True) -> bool:
    """Compare one solver's status and plan with the smallest peak of all plans; whether it had no answer.

    Only the search may have none, for buffers of no bytes at the border of two memories."""
    where = f"seed {seed}: {outcome}"
    if outcome.status == "unknown":
        assert "left out" in outcome.proof, f"no answer, {where}"
        return True
    if outcome.status == "feasible" and "left out" in outcome.proof:
        least = False
    assert (outcome.status == "infeasible") == (best is None), where
    if outcome.plan is not None:
        assert not plain_check.check(problem, outcome.plan), where
        assert not least or outcome.plan.peak(problem) == best, where
    return False


def paired(seed: int) -> Counter[str]:
    """Both exact solvers on one problem of up to 14 buffers; raises AssertionError where they differ."""
    problem = random_problem(seed, 14)
    one, other = complete.minimise(problem, PAIR_LIMITS), cp_sat.minimise(problem, PAIR_LIMITS)
    if "unknown" in (one.status, other.status) or "feasible" in (one.status, other.status):
        return Counter({"pairs with a limit reached": 1})
    assert one.status == other.status, f"seed {seed}: {one} and {other}"
    assert _peak(problem, one.plan) == _peak(problem, other.plan), f"seed {seed}: {one} and {other}"
    return Counter({"pairs that agree": 1})


def _peak(problem: Problem, plan: Plan | None) -> int | None:
    if plan is None:
        return None
    assert not plain_check.check(replace(problem), plan)
    return plan.peak(problem)


def check(seed: int) -> Counter[str]:
    return small(seed) + (Counter[str]() if seed % PAIR_EVERY else paired(seed))
