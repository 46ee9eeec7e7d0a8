"""The smallest gap against a slow reference, and its guarantees."""

from hypothesis import given, settings

from chipmodel.model.plan import Plan, Problem
from chipmodel.verify.offsets import check
from solvers.heuristics.best_fit import greedy_best_fit
from tests.solvers.many_problems import odd_problems


def slow(problem: Problem) -> Plan:
    """Every aligned offset that is free, grouped into gaps; the smallest gap, the lowest of those."""
    offsets: dict[str, int] = {}
    for item in sorted(problem.buffers, key=lambda b: -b.bytes):
        rivals = [b for b in problem.buffers if b.name in offsets and b.bytes and b.conflicts(item)]
        taken = sorted((offsets[r.name], offsets[r.name] + r.bytes) for r in rivals)
        gaps: list[tuple[int, int]] = []
        end = 0
        for low, high in taken:
            start = -(-end // item.alignment) * item.alignment
            if low - start >= item.bytes:
                gaps.append((low - start, start))
            end = max(end, high)
        above = -(-end // item.alignment) * item.alignment
        offsets[item.name] = min(gaps)[1] if gaps and item.bytes else above if item.bytes else 0
    return Plan({b.name: offsets[b.name] for b in problem.buffers})


@settings(max_examples=200)
@given(odd_problems())
def test_it_equals_the_reference_and_is_correct(problem: Problem) -> None:
    plan = greedy_best_fit(problem)
    assert plan.offsets == slow(problem).offsets
    assert check(problem, plan) == ()
