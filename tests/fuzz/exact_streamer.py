"""The search of ``solvers.loads.exact`` against all plans of small random segments of steps."""

from __future__ import annotations

from collections import Counter

from solvers.loads.exact import solve_stream
from tests.solvers.loads.oracle import best_of_all, random_stream

COUNT = 10_000


def check(seed: int) -> Counter[str]:
    """Cycles and peak are the least of all plans. Raises AssertionError where they are not."""
    problem = random_stream(seed)
    outcome = solve_stream(problem)
    assert outcome.status == "optimal", f"seed {seed}: {outcome}"
    assert outcome.least_peak, f"seed {seed}: {outcome}"
    assert (outcome.cycles, outcome.peak) == best_of_all(problem), f"seed {seed}: {outcome}"
    return Counter(problems=1, loads=len(problem.slices))
