"""``python -m bench.search_soundness BEGIN END``: the search against brute force on random problems.

For each seed: the optimum by trying everything; then, with a random set of the search's rules turned
off, ``fit`` at the optimum must find a plan and one byte below it prove that there is none, ``minimise``
must prove the optimum, and where brute force finds no plan at all neither may the search. "unknown" is
right only where buffers of no bytes meet the edges of memories (see search_model).
"""

from __future__ import annotations

import sys
from collections import Counter
from random import Random

from chipmodel.model.plan import Problem, check
from solvers.core.outcome import Limits, Outcome
from solvers.search.complete import ALL_RULES, LEFT_OUT, fit, minimise
from solvers.search.model import ConstraintClash, search_model
from tests.solvers.brute_force import MOST, optimum, random_problem

BUFFERS = 7
LIMITS = Limits(nodes=100_000, threads=1)


def differences(seed: int, buffers: int = BUFFERS) -> tuple[list[str], str]:
    """What the search says otherwise than brute force about the problem of that seed; the answer's kind."""
    random = Random(seed)
    problem = random_problem(random, buffers)
    rules = ALL_RULES if seed % 2 else random.randrange(ALL_RULES + 1)
    best = optimum(problem, MOST)
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
    wrong = list(check(problem, outcome.plan)) if outcome.plan else []
    if outcome.status != status and not (outcome.proof == LEFT_OUT and not _complete(problem)):
        wrong.append(f"{outcome.status} ({outcome.proof}) instead of {status}")
    return wrong


def _complete(problem: Problem) -> bool:
    try:
        return search_model(problem).complete
    except ConstraintClash:
        return True


def main(begin: int, end: int) -> int:
    kinds: Counter[str] = Counter()
    failures = 0
    for seed in range(begin, end):
        wrong, kind = differences(seed)
        kinds[kind] += 1
        failures += bool(wrong)
        for words in wrong:
            print(f"seed {seed}: {words}")
        if seed % 500 == 499:
            print(f"{seed + 1 - begin} problems, {dict(kinds)}, {failures} failures", flush=True)
    print(f"{end - begin} problems, {dict(kinds)}, {failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2])))
