"""Check the offsets of a plan, pair of buffers by pair of buffers.

This is deliberately the slowest and plainest code that can be right: every pair of buffers, every pair of
intervals.
"""

from chipmodel.model.plan import Buffer, Plan, Problem
from chipmodel.verify.offsets import buffer_violations, pair_violations


def check(problem: Problem, plan: Plan) -> tuple[str, ...]:
    """Describe every violation of ``problem`` by ``plan``; empty for a correct plan. O(n^2)."""
    violations: list[str] = []
    placed: list[tuple[Buffer, int]] = []
    for buffer in problem.buffers:
        if buffer.name not in plan.offsets:
            violations.append(f"buffer {buffer.name!r} has no offset")
            continue
        placed.append((buffer, plan.offsets[buffer.name]))
    for buffer, offset in placed:
        violations += buffer_violations(buffer, offset, problem)
    for index, (a, a_offset) in enumerate(placed):
        for b, b_offset in placed[:index]:
            violations += pair_violations(problem, b, b_offset, a, a_offset)
    return tuple(violations)
