"""The exact portfolio: bounds, heuristics, decomposition, the complete search and CP-SAT, in that order.

Each stage runs only where those before it leave something open; the first plan is known before the first
search begins.

Source: this project (docs/references.md lists what its stages are based on).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Literal

from chipmodel.model.certificate import Certificate, Searched, excludes, rests_on
from chipmodel.model.plan import Plan, Problem, Status
from solvers.core.bounds_certified import best_bound
from solvers.core.deadline import Deadline
from solvers.core.incumbent import Incumbent
from solvers.core.outcome import Limits, Outcome, Report
from solvers.core.preprocess import components, offset_unit, validate
from solvers.core.start import start_plans
from solvers.exact import skeleton
from solvers.exact.component import Component, has_trial, solve_component
from solvers.exact.explain import named, reduced
from solvers.heuristics.best_fit import greedy_best_fit
from solvers.heuristics.free_list import free_list
from solvers.search.model import MAX_BUFFERS as MAX_BUFFERS_IN_SEARCH

Goal = Literal["fit", "minimise"]
HEURISTICS_SHARE = 0.6
"""Share of the time that is left that the first plans may take; the rest is for searching and checking."""
FREE_LIST_SECONDS = 0.5
"""How late a free list may be, whose plan is far better than none: 62,185 buffers take as long."""
MAX_SEARCHED_BUFFERS = 20_000
"""Buffers of a component with more constraints than lifetimes beyond which it is not searched."""


def exact(
    problem: Problem, limits: Limits, report: Report | None = None, goal: Goal | None = None
) -> Outcome:
    """Return the best answer within ``limits``; see ``Outcome`` for what its status means.

    ``fit`` stops at the first plan within the problem's capacity, ``minimise`` seeks the smallest peak
    (within the capacity, if there is one). Without a ``goal`` a capacity means ``fit``. Raises BadInput for a
    problem without meaning.
    """
    validate(problem)
    goal = "minimise" if problem.capacity is None else goal or "fit"
    return _Portfolio(problem, limits, report, goal).run()


class _Portfolio:
    def __init__(self, problem: Problem, limits: Limits, report: Report | None, goal: Goal) -> None:
        self.problem, self.limits = problem, limits
        self.goal: Goal = goal
        self.progress = Incumbent(report)
        self.components = [Component(part) for part in components(problem)]
        self.certificate: Certificate = Searched(0, "none", 0, "nothing was searched")
        self.plans = self._first_plans()
        self.nodes = 0
        self.proof = ""

    def run(self) -> Outcome:
        self.certificate = best_bound(self.problem, self._until)
        self._bound(self.certificate)
        if excludes(self.certificate, self.problem.capacity):
            return self._infeasible(self.problem)
        self._start()
        waiting = [part for part in self.components if not self._is_solved(part)]
        waiting.sort(key=lambda part: -part.area)
        while waiting:
            waiting = [part for part in waiting if not self._is_solved(part)]
            if not waiting:
                break
            part = waiting.pop(0)
            outcome = self._search(part, len(waiting) + 1)
            if outcome.status == "infeasible":
                return self._infeasible(part.problem, outcome)
        return self._answer()

    def _start(self) -> None:
        """Keep the best of the heuristics' plans for every component, or the first one where a brief search
        comes next. For so many buffers that only skeletons are searched it is a free list's, which takes a
        second where others take ten."""
        self.progress.stage("heuristics")
        one_is_enough = all(has_trial(part.problem, self.limits, self.goal) for part in self.components)
        for plan in self.plans:
            self._offer(plan)
            if one_is_enough or all(self._is_low_enough(part) for part in self.components):
                return

    def _first_plans(self) -> Iterator[Plan]:
        """The heuristics' plans, those of ``auto`` among them, each one made when it is asked for."""
        count = len(self.problem.buffers)
        until = self._until.share(HEURISTICS_SHARE).to_place(self.problem.parts)
        if self.problem.plain and count > MAX_BUFFERS_IN_SEARCH:
            start = free_list(self.problem, self._until.before(-FREE_LIST_SECONDS))
            yield Plan(start.offsets)  # Of a start only these matter, not its arena.
            return
        yield from start_plans(self.problem, until)
        if self.problem.plain and not self._until.over:
            yield greedy_best_fit(self.problem, self._until)

    def _offer(self, plan: Plan) -> None:
        for part in self.components:
            part.offer(plan)
        self._tell()

    def _is_solved(self, part: Component) -> bool:
        """Whether this component has been searched, or need not be."""
        return part.closed or self._is_low_enough(part)

    def _is_low_enough(self, part: Component) -> bool:
        """Whether a lower plan of this component would change nothing."""
        target = self.progress.bound
        if self.goal == "fit" and self.problem.capacity is not None:
            target = self.problem.capacity
        return part.peak is not None and part.peak <= target

    def _search(self, part: Component, shares: int) -> Outcome:
        part.closed = True
        self.progress.stage("search")
        if not part.problem.plain and len(part.problem.buffers) > MAX_SEARCHED_BUFFERS:
            return self._not_searched(f"parts of over {MAX_SEARCHED_BUFFERS:,} buffers are not searched")
        if self._until.ends("the search for offsets"):
            return self._not_searched("the limits came first")
        others = [p.peak for p in self.components if p is not part]
        report = self.progress.part_report(part.peak, others, self.goal == "fit")
        left = self.progress.left(self.limits)
        limits = replace(self.limits, seconds=None if left is None else left / shares)
        outcome = self._solve(part, limits, report)
        self.nodes += outcome.nodes
        if outcome.plan is not None:
            part.offer(outcome.plan)
            self._tell()
        proven = outcome.certificate
        if outcome.status != "infeasible" and proven is not None and (proven.bytes or 0) > self._proven:
            self._bound(proven)
        if outcome.status != "optimal":
            self.proof = self.proof or outcome.proof
        return outcome

    def _not_searched(self, why: str) -> Outcome:
        self.proof = self.proof or why
        return Outcome("unknown", None, 0, proof=why)

    def _solve(self, part: Component, limits: Limits, report: Report) -> Outcome:
        """Solve a component; a peak below the bound of the whole would not help. That bound is rounded down
        to what the component's peaks are multiples of: rounded up it would be a bound of nothing."""
        overall = self.progress.bound
        if part.problem.plain and len(part.problem.buffers) > MAX_BUFFERS_IN_SEARCH:
            target = self.problem.capacity if self.goal == "fit" else None
            return skeleton.pack(part.problem, limits, target or overall, part.plan, report)
        whole = part.problem is self.problem
        own = self._proven if whole else best_bound(part.problem, self._until).bytes or 0
        unit = offset_unit(part.problem)
        lower = own if self.goal == "fit" else max(own, overall // unit * unit)
        return solve_component(part, limits, self.goal, lower, report)

    @property
    def _until(self) -> Deadline:
        """When the limits in seconds are reached."""
        return self.limits.deadline.within(self.progress.left(self.limits))

    @property
    def _proven(self) -> int:
        """What ``certificate`` proves; ``progress`` may have a higher bound of a solver that still runs."""
        return self.certificate.bytes or 0

    def _bound(self, certificate: Certificate) -> None:
        self.certificate = certificate
        self.progress.raise_bound(certificate.bytes or 0)

    def _peak(self) -> int | None:
        peaks = [part.peak for part in self.components]
        return None if None in peaks else max((p for p in peaks if p is not None), default=0)

    def _tell(self) -> None:
        peak = self._peak()
        if peak is not None:
            self.progress.found(peak)

    def _answer(self) -> Outcome:
        if not all(self._is_low_enough(part) for part in self.components):
            for plan in self.plans:
                self._offer(plan)
        peak, bound = self._peak(), self.progress.bound
        capacity = self.problem.capacity
        if peak is None or (capacity is not None and peak > capacity):
            return self._outcome("unknown", None, self.proof or "the limits came first")
        status: Status = "optimal" if peak == bound else "feasible"
        proof = rests_on(self.certificate) if status == "optimal" else self.proof
        return self._outcome(status, self._plan(), proof or "a plan that fits")

    def _plan(self) -> Plan:
        offsets: dict[str, int] = {}
        for part in self.components:
            offsets.update(part.offsets)
        return Plan({b.name: offsets[b.name] for b in self.problem.buffers})

    def _infeasible(self, problem: Problem, outcome: Outcome | None = None) -> Outcome:
        """The answer where component ``problem`` does not fit, with an explanation."""
        if outcome is not None and outcome.certificate is not None:
            self._bound(outcome.certificate)
        names = named(reduced(problem, self.certificate))
        alone = f"; {len(names)} of {len(self.problem.buffers)} buffers alone do not fit" if names else ""
        refused = self._outcome("infeasible", None, f"{rests_on(self.certificate)}{alone}")
        return replace(refused, explanation=names)

    def _outcome(self, status: Status, plan: Plan | None, proof: str) -> Outcome:
        bound, points = self.progress.bound, tuple(self.progress.points)
        return Outcome(status, plan, bound, self.nodes, proof, (), self.certificate, points)
