"""The search with some of its rules turned off, against brute force on small random problems.

For each seed: the optimum by trying everything; then, with a random set of the search's rules turned
off, ``fit`` at the optimum must find a plan and one byte below it prove that there is none, ``minimise``
must prove the optimum, and where brute force finds no plan at all neither may the search. "unknown" is
right only where buffers of no bytes lie at the edges of memories (see ``solvers.search.model``).
"""

from collections import Counter
from dataclasses import replace
from random import Random

from chipmodel.model.plan import Problem
from solvers.core.outcome import Limits, Outcome
from solvers.search.complete import ALL_RULES, LEFT_OUT, fit, minimise
from solvers.search.model import ConstraintClash, search_model
from tests.fuzz.fuzzer import Fault
from tests.solvers.oracle import smallest_peak
from tests.solvers.random_problems import random_problem
from tests.support import plain_check

COUNT = 3000
BUFFERS = 7
MOST = 40
"""Bytes that any of these problems with a plan has room in."""
LIMITS = Limits(nodes=100_000, threads=1)


def differences(seed: int, buffers: int = BUFFERS) -> tuple[list[str], str]:
    """Where the search contradicts brute force on the problem of that seed, and whether a plan exists."""
    problem = replace(random_problem(seed, buffers), capacity=None)
    rules = ALL_RULES if seed % 2 else Random(seed).randrange(ALL_RULES + 1)
    best = smallest_peak(problem)
    wrong: list[str] = []
    if best is None:
        wrong += _expect(problem, fit(problem, MOST, LIMITS, rules=rules), "infeasible")
    else:
        wrong += _expect(problem, fit(problem, best, LIMITS, rules=rules), "feasible")
        if best:
            wrong += _expect(problem, fit(problem, best - 1, LIMITS, rules=rules), "infeasible")
        lowest = minimise(problem, LIMITS)
        wrong += _expect(problem, lowest, "optimal")
        if lowest.plan and lowest.proof != LEFT_OUT and lowest.plan.peak(problem) != best:
            wrong.append(f"minimise found {lowest.plan.peak(problem)}, the optimum is {best}")
    return [f"rules {rules}: {words}" for words in wrong], "infeasible" if best is None else "feasible"


def _expect(problem: Problem, outcome: Outcome, status: str) -> list[str]:
    wrong = list(plain_check.check(problem, outcome.plan)) if outcome.plan else []
    if outcome.status != status and not (outcome.proof == LEFT_OUT and not _complete(problem)):
        wrong.append(f"{outcome.status} ({outcome.proof}) instead of {status}")
    return wrong


def _complete(problem: Problem) -> bool:
    try:
        return search_model(problem).complete
    except ConstraintClash:
        return True


def check(seed: int) -> Counter[str]:
    wrong, kind = differences(seed)
    if wrong:
        raise Fault(f"seed {seed}: {'; '.join(wrong)}")
    return Counter({kind: 1})
