"""Pack more buffers than the search takes: those that are hard to place by the search, the others around
them.

The skeleton, at first the buffers with most bytes times conflicts, is searched for a plan within a target.
First fit then places it again, from its lowest offset up, which raises nothing, and all others after it. What
ends above the target joins the skeleton, or is placed next after it where the skeleton has become large. A
target within which the search does not find a plan of the skeleton goes up, halfway to the best plan.

Source: this project.
"""

from __future__ import annotations

from dataclasses import replace

from chipmodel.model.plan import Buffer, Plan, Problem
from solvers.core.conflicts import conflict_counts
from solvers.core.first_fit import first_fit
from solvers.core.incumbent import Incumbent
from solvers.core.outcome import Limits, Outcome, Report
from solvers.search import complete

FIRST_BUFFERS, MOST_BUFFERS = 300, 1200
"""Buffers of the skeleton at first, and at most (chosen by measurement on idealloc's benchmark)."""
SEARCH_NODES = 20_000
"""Nodes for one plan of the skeleton; most are found without a step back."""
STALE_ROUNDS = 20
"""Rounds without a better plan after which the last one is kept (chosen by measurement on the same)."""


def pack(problem: Problem, limits: Limits, target: int, best: Plan | None, report: Report) -> Outcome:
    """Return the best plan within ``limits`` of a problem whose only constraints are lifetimes and alignment.

    Begins with the plan ``best``; stops at a peak of ``target`` bytes, or where rounds bring nothing.
    """
    rounds = _SkeletonRounds(problem, limits, target, best, report)
    while rounds.open:
        rounds.one()
    if rounds.best is None:
        return Outcome("unknown", None, 0, rounds.nodes, "the limits came first")
    return Outcome("feasible", rounds.best, 0, rounds.nodes, "the limits came first")


class _SkeletonRounds:
    def __init__(
        self, problem: Problem, limits: Limits, target: int, best: Plan | None, report: Report
    ) -> None:
        self.problem, self.limits, self.goal, self.best = problem, limits, target, best
        self.progress = Incumbent(report)
        self.target = target
        self.nodes: int = 0
        self.stale = 0
        conflicts = conflict_counts(problem)
        hard = sorted(zip(conflicts, problem.buffers, strict=True), key=lambda pair: -pair[0] * pair[1].bytes)
        self.order = [buffer for _, buffer in hard]
        self.skeleton = self.order[:FIRST_BUFFERS]

    @property
    def peak(self) -> int | None:
        return None if self.best is None else self.best.peak(self.problem)

    @property
    def open(self) -> bool:
        reached = self.peak is not None and self.peak <= self.goal
        spent = self.limits.nodes is not None and self.nodes >= self.limits.nodes
        return not (reached or spent or self.stale > STALE_ROUNDS or self.progress.left(self.limits) == 0.0)

    def one(self) -> None:
        """Pack the skeleton, then all; keep a better plan, and learn what was hard to place."""
        left = None if self.limits.nodes is None else self.limits.nodes - self.nodes
        limits = replace(
            self.limits,
            seconds=self.progress.left(self.limits),
            nodes=SEARCH_NODES if left is None else min(left, SEARCH_NODES),
        )
        self.stale += 1
        found = complete.fit(Problem(tuple(self.skeleton)), self.target, limits)
        self.nodes += found.nodes
        if found.plan is None:
            self.target = self._higher()
            return
        plan = self._around(found.plan)
        if self.best is None or plan.peak(self.problem) < self.best.peak(self.problem):
            self.best, self.stale = plan, 0
            self.progress.found(plan.peak(self.problem))
        high = [b for b in self.order if plan.offsets[b.name] + b.bytes > self.target]
        self._learn(high)
        if not high:
            self.target = (self.goal + self.target) // 2

    def _higher(self) -> int:
        """A target halfway to the best plan, or half as high again where there is none."""
        return self.target + self.target // 2 if self.peak is None else (self.target + self.peak) // 2

    def _around(self, skeleton: Plan) -> Plan:
        inner = sorted(self.skeleton, key=lambda b: skeleton.offsets[b.name])
        outer = [b for b in self.order if b.name not in skeleton.offsets]
        turn = {b.name: number for number, b in enumerate([*inner, *outer])}
        until = self.limits.deadline.within(self.progress.left(self.limits))
        return first_fit(self.problem, lambda b: turn[b.name], until)

    def _learn(self, high: list[Buffer]) -> None:
        inside = {b.name for b in self.skeleton}
        new = [b for b in high if b.name not in inside]
        if len(self.skeleton) + len(new) <= MOST_BUFFERS:
            self.skeleton += new
        else:
            first = {b.name for b in new}
            self.order.sort(key=lambda b: b.name not in first)
