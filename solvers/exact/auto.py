"""``auto``: quick heuristics first, and the exact portfolio only where none of them will do.

With a capacity a plan will do if it fits, otherwise if its peak is proven smallest. Nearly every problem of a
compiler fits by its first heuristic; where it does not, the search mostly finds a plan within a few thousand
nodes.

Source: chipmodel.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from chipmodel.model.certificate import rests_on
from chipmodel.model.plan import Plan, Problem
from solvers.core.anytime import status_of
from solvers.core.bounds_certified import quick_bound
from solvers.core.deadline import Deadline
from solvers.core.first_fit import ORDERS, first_fit
from solvers.core.incumbent import Incumbent
from solvers.core.outcome import Limits, Outcome, Report
from solvers.core.preprocess import validate
from solvers.core.start import MAX_BUFFERS_ALL_ORDERS, start_plans
from solvers.exact.portfolio import exact
from solvers.heuristics.best_fit import greedy_best_fit

EXACT = "exact"
CONSTRAINED = "constrained fit"
"""What makes the first plan of a problem with more constraints than lifetimes, alignment and capacity."""


def auto(problem: Problem, limits: Limits, report: Report | None = None) -> Outcome:
    """Return the first heuristic's plan that will do, else the answer of ``exact`` within ``limits``.

    ``Outcome.planner`` names the packer that made the plan. Raises BadInput for a problem without meaning.
    """
    validate(problem)
    progress = Incumbent(report)
    certificate = quick_bound(problem)
    bound = certificate.bytes or 0
    progress.raise_bound(bound)
    best: Outcome | None = None
    deadline = limits.until(progress.began)
    for name, plan in _quick_plans(problem, deadline.to_place(problem.parts)):
        peak = plan.peak(problem)
        progress.found(peak)
        if best is None or best.plan is None or peak < best.plan.peak(problem):
            status = status_of(problem, peak, bound)
            proof = rests_on(certificate) if status in ("optimal", "infeasible") else ""
            best = Outcome(status, plan, bound, 0, proof, (), certificate, (), name)
        if peak <= max(bound, problem.capacity or 0):
            return replace(best, trajectory=tuple(progress.points))
    if best is not None and deadline.over:
        return replace(best, trajectory=tuple(progress.points))
    known = None if best is None or best.plan is None else best.plan.peak(problem)
    wish = progress.part_report(known, (), problem.capacity is not None)
    searched = exact(problem, limits, wish)
    return replace(_better(problem, best, searched), trajectory=tuple(progress.points))


def _better(problem: Problem, best: Outcome | None, searched: Outcome) -> Outcome:
    """The search's answer; where it has no plan, or a worse one, with that of the best heuristic."""
    searched = replace(searched, planner=EXACT)
    if best is None or best.plan is None:
        return searched
    if searched.plan is None or best.plan.peak(problem) < searched.plan.peak(problem):
        return replace(searched, plan=best.plan, planner=best.planner)
    return searched


def _quick_plans(problem: Problem, deadline: Deadline) -> Iterator[tuple[str, Plan]]:
    if not problem.nested:
        yield from ((CONSTRAINED, plan) for plan in start_plans(problem, deadline))
        return
    yield "large-first", first_fit(problem, ORDERS["large-first"], deadline)
    if len(problem.buffers) > MAX_BUFFERS_ALL_ORDERS:
        return
    if problem.plain and not deadline.over:
        yield "greedy-best-fit", greedy_best_fit(problem, deadline)
    for name in ("short-first", "sequential"):
        if not deadline.over:
            yield name, first_fit(problem, ORDERS[name], deadline)
