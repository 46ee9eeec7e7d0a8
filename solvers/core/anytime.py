"""What planners that improve a plan step by step have in common: when to stop, what is told, what is
proven."""

from __future__ import annotations

from chipmodel.model.certificate import Certificate, rests_on
from chipmodel.model.plan import Plan, Problem, Status
from solvers.core.bounds_certified import best_bound
from solvers.core.incumbent import Incumbent
from solvers.core.outcome import Limits, Outcome, Report


class Anytime:
    """The best plan so far. It is good enough at the proven bound, or within the problem's capacity."""

    def __init__(self, problem: Problem, limits: Limits, report: Report | None, first: Plan) -> None:
        self.problem, self.limits = problem, limits
        self.plan, self.peak = first, first.peak(problem)
        self.nodes = 0
        self.board = Incumbent(report)
        self.board.found(self.peak)
        self.certificate: Certificate = best_bound(problem, self.peak)
        self.bound = self.certificate.bytes or 0
        self.board.raise_bound(self.bound)

    @property
    def limited(self) -> bool:
        """Whether the user said when to stop."""
        return self.limits.nodes is not None or self.limits.seconds is not None

    @property
    def good_enough(self) -> bool:
        return self.peak <= max(self.bound, self.problem.capacity or 0)

    @property
    def late(self) -> bool:
        """Whether the seconds are over."""
        return self.limits.left(self.board.began) == 0.0

    def done(self, most: int) -> bool:
        """Whether to stop: the plan is good enough, or the limits are reached (``most`` nodes where there
        are none)."""
        nodes = self.limits.nodes if self.limited else most
        return self.good_enough or self.late or (nodes is not None and self.nodes >= nodes)

    def offer(self, plan: Plan) -> None:
        """Keeps ``plan`` if its peak is lower."""
        peak = plan.peak(self.problem)
        if peak < self.peak:
            self.plan, self.peak = plan, peak
            self.board.found(peak)

    def outcome(self, proof: str = "") -> Outcome:
        """``proof`` is said where nothing is proven."""
        status = self._status()
        if status in ("optimal", "infeasible"):
            proof = rests_on(self.certificate)
        points = tuple(self.board.points)
        return Outcome(status, self.plan, self.bound, self.nodes, proof, (), self.certificate, points)

    def _status(self) -> Status:
        capacity = self.problem.capacity
        if capacity is not None and self.peak > capacity:
            return "infeasible" if self.bound > capacity else "unknown"
        return "optimal" if self.peak == self.bound else "feasible"
