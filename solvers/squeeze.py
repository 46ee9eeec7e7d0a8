"""Search offsets within a capacity that a packer's plan exceeds though the largest live set does not."""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter

from chipmodel.model.plan import Problem, Solved
from solvers.core.anytime import status_of
from solvers.core.deadline import NO_DEADLINE, Deadline
from solvers.core.outcome import Limits

MAX_NODES = 100_000
"""Nodes of the complete search: about 0.2 s. Plans that exist are mostly found within 2,000."""


def squeezed(problem: Problem, solved: Solved, capacity: int, deadline: Deadline = NO_DEADLINE) -> Solved:
    """Return ``solved`` if it fits in ``capacity`` bytes, else a plan that does, if the search finds one
    until the ``deadline``, else ``solved``. Deterministic without a deadline."""
    if solved.peak <= capacity or solved.lower_bound > capacity or not solved.plan.offsets:
        return solved
    began = perf_counter()
    if deadline.ends("the search for offsets"):
        return solved
    from solvers.search.complete import fit

    plan = fit(problem, capacity, Limits(nodes=MAX_NODES, threads=1, deadline=deadline)).plan
    if plan is None:
        return solved
    peak = plan.peak(problem)
    return replace(
        solved,
        plan=plan,
        peak=peak,
        status=status_of(problem, peak, solved.lower_bound),
        seconds=solved.seconds + perf_counter() - began,
        proof=f"offsets by search: the plan of {solved.planner} takes {solved.peak:,} B",
    )
