"""Every claim of the exact planners against all plans, on as many random problems as are asked for.

For each seed a problem of up to 7 buffers with all kinds of constraints: brute force, which tries every
offset and knows only ``check``, must agree with every status, peak, bound and explanation of the portfolio
and of both exact solvers, and every certificate must verify. For every fifth seed one of up to 14, on which
the search and CP-SAT must agree with each other. The test suite does some hundreds; this is the long run:

    python -m bench.exact_soundness 0 10000
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from dataclasses import replace

from chipmodel.model.certificate import rests_on
from chipmodel.model.plan import Plan, Problem
from chipmodel.verify.offsets import check
from solvers.core.outcome import Limits, Outcome
from solvers.exact import cp_sat
from solvers.search import complete as search
from tests.solvers.exact.test_portfolio import agree
from tests.solvers.oracle import smallest_peak
from tests.solvers.random_problems import random_problem

LIMITS = Limits(nodes=200_000, threads=1)
PAIRED = Limits(nodes=2_000_000, threads=1)


def small(seed: int) -> Counter[str]:
    """What one seed of up to 7 buffers showed; raises AssertionError at the first wrong claim."""
    problem = random_problem(seed)
    outcome = agree(seed, problem)
    best = smallest_peak(problem)
    unknown = 0
    for solver in (search, cp_sat):
        unknown += _hold(seed, problem, best, solver.minimise(problem, LIMITS))
        if problem.capacity is not None:
            unknown += _hold(seed, problem, best, solver.fit(problem, problem.capacity, LIMITS), False)
    seen = Counter({outcome.status: 1, "with constraints": not problem.plain})
    if outcome.certificate is not None:
        seen[f"proof: {rests_on(outcome.certificate)}"] += 1
    seen["left unknown by the search alone"] += unknown
    return seen


def _hold(seed: int, problem: Problem, best: int | None, outcome: Outcome, least: bool = True) -> bool:
    """One solver's status and plan against the smallest peak of all plans; whether it had no answer,
    which only the search may lack, for buffers of no bytes at the border of two memories."""
    where = f"seed {seed}: {outcome}"
    if outcome.status == "unknown":
        assert "left out" in outcome.proof, f"no answer, {where}"
        return True
    if outcome.status == "feasible" and "left out" in outcome.proof:
        least = False
    assert (outcome.status == "infeasible") == (best is None), where
    if outcome.plan is not None:
        assert not check(problem, outcome.plan), where
        assert not least or outcome.plan.peak(problem) == best, where
    return False


def paired(seed: int) -> Counter[str]:
    """Both exact solvers on one problem of up to 14 buffers; raises AssertionError where they differ."""
    problem = random_problem(seed, 14)
    one, other = search.minimise(problem, PAIRED), cp_sat.minimise(problem, PAIRED)
    if "unknown" in (one.status, other.status) or "feasible" in (one.status, other.status):
        return Counter({"pairs with a limit reached": 1})
    assert one.status == other.status, f"seed {seed}: {one} and {other}"
    assert _peak(problem, one.plan) == _peak(problem, other.plan), f"seed {seed}: {one} and {other}"
    return Counter({"pairs that agree": 1})


def _peak(problem: Problem, plan: Plan | None) -> int | None:
    if plan is None:
        return None
    assert not check(replace(problem), plan)
    return plan.peak(problem)


def main(first: int, stop: int) -> None:
    began = time.perf_counter()
    total: Counter[str] = Counter()
    for seed in range(first, stop):
        total += small(seed)
        if seed % 5 == 0:
            total += paired(seed)
        if seed % 1000 == 999 and sys.stderr.isatty():
            print(f"{seed + 1 - first:,} of {stop - first:,}", file=sys.stderr)
    shown = ", ".join(f"{name} {count:,}" for name, count in sorted(total.items()))
    print(f"seeds {first:,} to {stop - 1:,}: {shown}; no fault; {time.perf_counter() - began:,.0f} s")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
