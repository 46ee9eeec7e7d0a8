"""Solve one component of a problem exactly: by the search, then CP-SAT, briefly; then by both together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import islice
from math import inf
from threading import Thread
from time import perf_counter
from typing import Literal

from chipmodel.model.certificate import Searched
from chipmodel.model.plan import Plan, Problem
from solvers.core.deadline import Deadline
from solvers.core.outcome import MOST_SECONDS, Limits, Outcome, Report
from solvers.core.start import start_plans
from solvers.exact import cp_sat
from solvers.search import complete

TRIAL_SEARCH_NODES = 20_000
"""Nodes of the search before CP-SAT is asked where the peak is minimised, or something besides lifetimes
constrains: on the zoo's networks the search proves within so many what it proves at all."""
TRIAL_CP_SAT_NODES = 25_000
"""Nodes for CP-SAT then: SkipNet's buffers take up to 22,000."""
TRIAL_LEAST_NODES = 200_000
"""Limits of fewer nodes, as packer ``auto`` has, have no such trial."""
FIT_FIRST_SHARE, FIT_FIRST_SECONDS = 0.6, 30.0
"""After so much time CP-SAT joins a fit of buffers with lifetimes only, which it helps little: a share of
the limit, or seconds where there is none."""
BOTH_SHARE, BOTH_SECONDS = 0.2, 30.0
"""Time for both together on such problems, as a share of the limit or in seconds; then search alone."""


@dataclass
class Component:
    """An independent part of a problem and its best plan so far, which may exceed the capacity."""

    problem: Problem
    offsets: dict[str, int] = field(default_factory=dict[str, int])
    peak: int | None = None
    closed: bool = False
    """Whether it has been searched."""

    def __post_init__(self) -> None:
        if not self.problem.buffers:
            self.peak = 0

    @property
    def area(self) -> int:
        return sum(b.bytes * sum(map(len, b.live)) for b in self.problem.buffers)

    def offer(self, plan: Plan) -> None:
        """Keep this component's part of ``plan`` if its peak is lower."""
        peak = plan.peak(self.problem)
        if self.peak is None or peak < self.peak:
            self.peak = peak
            self.offsets = {b.name: plan.offsets[b.name] for b in self.problem.buffers}

    @property
    def plan(self) -> Plan | None:
        """The best plan if it is within the capacity, else None."""
        capacity = self.problem.capacity
        if self.peak is None or (capacity is not None and self.peak > capacity):
            return None
        return Plan(self.offsets)


def solve_component(
    part: Component, limits: Limits, goal: Literal["fit", "minimise"], lower: int, report: Report | None
) -> Outcome:
    """Return the answer of the search, and of CP-SAT where that leaves something open.

    ``lower`` is a proven bound of this component's peak.
    """
    began = perf_counter()
    solver = _ComponentSolver(part, goal, lower, report)
    trial = Outcome("unknown", None, lower)
    hard = goal == "minimise" or not part.problem.plain
    if has_trial(part.problem, limits, goal):
        trial = solver.search(_briefly(limits, TRIAL_SEARCH_NODES), None)
        if trial.proof.startswith("not searched"):
            further = solver.with_further_plans(trial, limits.until(began))
            return solver.then_cp_sat(_rest(limits, began, trial), further)
        trial = solver.then_cp_sat(_briefly(_rest(limits, began, trial), TRIAL_CP_SAT_NODES), trial)
        if _done(trial, goal):
            return trial
        trial, limits = solver.with_further_plans(trial, limits.until(began)), _rest(limits, began, trial)
        if 0 in (limits.seconds, limits.nodes):
            return trial
    if limits.nodes is not None or limits.threads < 2:
        return _in_turn(solver, limits, trial)
    if hard:
        return _together(solver, limits, trial)
    first, both = FIT_FIRST_SECONDS, BOTH_SECONDS
    if limits.seconds is not None:
        first, both = limits.seconds * FIT_FIRST_SHARE, limits.seconds * BOTH_SHARE
    outcome = solver.search(_within(limits, began, first), None)
    if _done(outcome, goal) or limits.left(began) == 0:
        return outcome
    outcome = _together(solver, _within(replace(limits, seed=limits.seed + 1), began, both), outcome)
    if _done(outcome, goal) or limits.left(began) == 0:
        return outcome
    rest = replace(limits, seconds=limits.left(began), seed=limits.seed + 2)
    return _better(part.problem, outcome, solver.search(rest, outcome.plan))


def has_trial(problem: Problem, limits: Limits, goal: Literal["fit", "minimise"]) -> bool:
    """Return whether ``solve_component`` begins with a brief search, which needs one start plan only: more of
    them take longer than that search, which mostly ends with a proof."""
    hard = goal == "minimise" or not problem.plain
    return hard and (limits.nodes is None or limits.nodes >= TRIAL_LEAST_NODES)


def _within(limits: Limits, began: float, seconds: float) -> Limits:
    left = limits.left(began)
    return replace(limits, seconds=seconds if left is None else min(seconds, left))


@dataclass
class _ComponentSolver:
    part: Component
    goal: Literal["fit", "minimise"]
    lower: int
    report: Report | None

    def search(self, limits: Limits, upper: Plan | None) -> Outcome:
        problem = self.part.problem
        if self.goal == "fit" and problem.capacity is not None:
            return _certified(
                complete.fit(problem, problem.capacity, limits, self.report), problem, "the search"
            )
        start = upper or self.part.plan
        outcome = complete.minimise(problem, limits, self.report, start, self.lower)
        return _certified(outcome, problem, "the search")

    def with_further_plans(self, trial: Outcome, until: Deadline) -> Outcome:
        """``trial``; where it found nothing lower than the first start plan, with the lowest of them all."""
        first, problem = self.part.peak, self.part.problem
        if trial.plan is not None and (first is None or trial.plan.peak(problem) < first):
            return trial
        for plan in islice(start_plans(problem, until), 1, None):
            self.part.offer(plan)
        return replace(trial, plan=self.part.plan)

    def cp_sat(self, limits: Limits, before: Outcome, switch: cp_sat.Switch | None) -> Outcome:
        problem = self.part.problem
        if self.goal == "fit" and problem.capacity is not None:
            outcome = cp_sat.fit(problem, problem.capacity, limits, self.report, switch)
        else:
            start, lower = before.plan or self.part.plan, max(self.lower, before.lower_bound)
            outcome = cp_sat.minimise(problem, limits, self.report, start, lower, switch)
        return _certified(outcome, problem, "CP-SAT")

    def then_cp_sat(self, limits: Limits, before: Outcome) -> Outcome:
        """The better of ``before`` and CP-SAT's answer, which is not asked for without need or time."""
        if _done(before, self.goal) or 0 in (limits.seconds, limits.nodes):
            return before
        return _better(self.part.problem, before, self.cp_sat(limits, before, None))


def _in_turn(solver: _ComponentSolver, limits: Limits, before: Outcome) -> Outcome:
    """Run one after the other: deterministic where only nodes are limited. CP-SAT has what the search leaves,
    which may have all nodes where CP-SAT helps little."""
    began, own = perf_counter(), limits
    if not solver.part.problem.nested:
        half = None if limits.seconds is None else limits.seconds / 2
        own = replace(limits, seconds=half, nodes=None if limits.nodes is None else -(-limits.nodes // 2))
    outcome = solver.search(own, before.plan)
    left = _rest(limits, began, outcome)
    return solver.then_cp_sat(left, _better(solver.part.problem, before, outcome))


def _briefly(limits: Limits, nodes: int) -> Limits:
    """``limits`` of a trial: few nodes, and one thread, so that its answer never depends on the clock."""
    return replace(limits, nodes=nodes, threads=1)


def _rest(limits: Limits, began: float, used: Outcome) -> Limits:
    """What ``used`` leaves of ``limits`` for work that began at ``perf_counter()`` time ``began``."""
    nodes = None if limits.nodes is None else max(0, limits.nodes - used.nodes)
    return replace(limits, seconds=limits.left(began), nodes=nodes)


def _together(solver: _ComponentSolver, limits: Limits, before: Outcome) -> Outcome:
    """Run the search, and CP-SAT on a thread beside it; the first to finish stops the other."""
    switch = cp_sat.Switch()
    found: list[Outcome] = []
    single = replace(limits, threads=1)

    def ask() -> None:
        found.append(solver.cp_sat(single, before, switch))

    def clock() -> float:
        """The time, which is over once CP-SAT has settled the question."""
        return inf if found and _done(found[0], solver.goal) else limits.deadline.clock()

    thread = _started(ask)
    until = replace(limits.deadline.within(MOST_SECONDS), clock=clock)
    try:
        other = solver.search(replace(single, deadline=until), before.plan)
        if not _done(other, solver.goal):
            thread.join()
    finally:
        while thread.is_alive():
            switch.stop()
            thread.join(0.05)
    return _better(solver.part.problem, before, other, *found)


def _started(work: Callable[[], None]) -> Thread:
    thread = Thread(target=work, daemon=True)
    thread.start()
    return thread


def _done(outcome: Outcome, goal: str) -> bool:
    if goal == "fit" and outcome.status == "feasible":
        return True
    return outcome.status in ("optimal", "infeasible")


def _certified(outcome: Outcome, problem: Problem, solver: str) -> Outcome:
    """``outcome`` with a certificate; one that names ``solver`` where it has none."""
    if outcome.certificate is not None:
        return outcome
    bound: int | None = outcome.lower_bound
    if outcome.status == "infeasible":
        bound = None if problem.capacity is None else problem.capacity + 1
    record = "all offsets of all buffers"
    return replace(outcome, certificate=Searched(bound, solver, outcome.nodes, record))


def _better(problem: Problem, *outcomes: Outcome) -> Outcome:
    """The best of several answers for ``problem``."""
    settled = [o for o in outcomes if o.status in ("optimal", "infeasible")]
    planned = [(o.plan.peak(problem), i) for i, o in enumerate(outcomes) if o.plan is not None]
    best = settled[0] if settled else outcomes[min(planned)[1] if planned else -1]
    nodes = sum(o.nodes for o in outcomes)
    proven = best if settled else max(outcomes, key=lambda o: o.lower_bound)
    return replace(best, nodes=nodes, lower_bound=proven.lower_bound, certificate=proven.certificate)
