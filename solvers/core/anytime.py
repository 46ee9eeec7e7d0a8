"""Common parts of planners that improve a plan step by step: when to stop, what is reported and proven."""

from __future__ import annotations

from chipmodel.model.certificate import Certificate, rests_on
from chipmodel.model.plan import Plan, Problem, Status
from solvers.core.bounds_certified import best_bound
from solvers.core.incumbent import Incumbent
from solvers.core.outcome import Limits, Outcome, Report


class Anytime:
    """The best plan so far, beginning with ``first``; its bound and certificate."""

    def __init__(self, problem: Problem, limits: Limits, report: Report | None, first: Plan) -> None:
        self.problem, self.limits = problem, limits
        self.plan, self.peak = first, first.peak(problem)
        self.nodes = 0
        self.progress = Incumbent(report)
        self.progress.found(self.peak)
        self.certificate: Certificate = best_bound(problem, limits.until(self.progress.began))
        self.bound = self.certificate.bytes or 0
        self.progress.raise_bound(self.bound)

    @property
    def limited(self) -> bool:
        """Whether the user gave a limit."""
        return self.limits.nodes is not None or self.limits.seconds is not None

    @property
    def good_enough(self) -> bool:
        """Whether the plan reaches the bound, or is within the problem's capacity."""
        return self.peak <= max(self.bound, self.problem.capacity or 0)

    @property
    def out_of_time(self) -> bool:
        """Whether the limit in seconds is reached."""
        return self.limits.left(self.progress.began) == 0.0

    def done(self, most: int) -> bool:
        """Whether to stop: the plan is good enough, or a limit is reached (``most`` nodes without one)."""
        nodes = self.limits.nodes if self.limited else most
        return self.good_enough or self.out_of_time or (nodes is not None and self.nodes >= nodes)

    def offer(self, plan: Plan) -> None:
        """Keep ``plan`` if its peak is lower."""
        peak = plan.peak(self.problem)
        if peak < self.peak:
            self.plan, self.peak = plan, peak
            self.progress.found(peak)

    def outcome(self, proof: str = "") -> Outcome:
        """The answer; ``proof`` is its text where nothing is proven."""
        status = status_of(self.problem, self.peak, self.bound)
        if status in ("optimal", "infeasible"):
            proof = rests_on(self.certificate)
        points = tuple(self.progress.points)
        return Outcome(status, self.plan, self.bound, self.nodes, proof, (), self.certificate, points)


def status_of(problem: Problem, peak: int, bound: int) -> Status:
    """Return the status of a plan with this ``peak``, given a proven ``bound`` (both in bytes)."""
    if problem.capacity is not None and peak > problem.capacity:
        return "infeasible" if bound > problem.capacity else "unknown"
    return "optimal" if peak == bound else "feasible"
