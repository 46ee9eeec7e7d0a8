"""One part of a problem through the exact planners: the specialised search, then CP-SAT beside it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from threading import Thread
from time import perf_counter
from typing import Literal

from chipmodel.model.certificate import Searched
from chipmodel.model.plan import Plan, Problem
from solvers.core.outcome import Limits, Outcome, Report
from solvers.exact import cp_sat
from solvers.search import complete

SEARCH_FIRST_SECONDS = 0.25
"""What the search has to itself before CP-SAT joins it, where more than lifetimes count."""
SEARCH_FIRST_SHARE, SEARCH_FIRST_SECONDS_PLAIN = 0.6, 30.0
"""The same for a problem of lifetimes only, on which CP-SAT is of little help: a part of the time, or so
many seconds where there is no limit."""
BOTH_SHARE, BOTH_SECONDS = 0.2, 30.0
"""Then both work on such a problem for so long; and then the search has it again."""


@dataclass
class Component:
    """A part of a problem and the best plan of it so far, whatever the capacity."""

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
        """Keeps the part of ``plan`` that is its own, where it is lower."""
        peak = plan.peak(self.problem)
        if self.peak is None or peak < self.peak:
            self.peak = peak
            self.offsets = {b.name: plan.offsets[b.name] for b in self.problem.buffers}

    @property
    def plan(self) -> Plan | None:
        """The best plan, where it is within the capacity."""
        capacity = self.problem.capacity
        if self.peak is None or (capacity is not None and self.peak > capacity):
            return None
        return Plan(self.offsets)


def is_infeasible(outcome: Outcome) -> bool:
    """Whether it is proven that no plan satisfies all constraints."""
    return outcome.status == "infeasible"


def solve_component(
    part: Component, limits: Limits, goal: Literal["fit", "minimise"], lower: int, report: Report | None
) -> Outcome:
    """What the search, and where it leaves something open CP-SAT, say of ``part``.

    ``lower`` is a bound that is proven for the peak of this very part.
    """
    began = perf_counter()
    task = _ComponentSolver(part, goal, lower, report)
    if limits.nodes is not None or limits.threads < 2:
        return _in_turn(task, limits, began)
    outcome = task.search(_within(limits, began, _alone(part, limits)), None)
    if _done(outcome, goal) or limits.left(began) == 0:
        return outcome
    if outcome.proof.startswith("not searched"):
        rest = replace(limits, seconds=limits.left(began))
        return _better(part.problem, outcome, task.cp_sat(rest, outcome, None))
    outcome = _together(task, _within(limits, began, _beside(part, limits)), outcome)
    if _done(outcome, goal) or limits.left(began) == 0:
        return outcome
    rest = replace(limits, seconds=limits.left(began), seed=limits.seed + 2)
    return _better(part.problem, outcome, task.search(rest, outcome.plan))


def _within(limits: Limits, began: float, seconds: float | None) -> Limits:
    left = limits.left(began)
    if left is None or seconds is None:
        return replace(limits, seconds=seconds if left is None else left)
    return replace(limits, seconds=min(seconds, left))


def _alone(part: Component, limits: Limits) -> float:
    if not part.problem.plain:
        return SEARCH_FIRST_SECONDS
    return SEARCH_FIRST_SECONDS_PLAIN if limits.seconds is None else limits.seconds * SEARCH_FIRST_SHARE


def _beside(part: Component, limits: Limits) -> float | None:
    """How long both work; CP-SAT is of most help where more than lifetimes count."""
    if not part.problem.plain:
        return None
    return BOTH_SECONDS if limits.seconds is None else limits.seconds * BOTH_SHARE


@dataclass
class _ComponentSolver:
    part: Component
    goal: Literal["fit", "minimise"]
    lower: int
    report: Report | None

    def search(self, limits: Limits, upper: Plan | None) -> Outcome:
        problem = self.part.problem
        if self.goal == "fit" and problem.capacity is not None:
            return _signed(
                complete.fit(problem, problem.capacity, limits, self.report), problem, "the search"
            )
        start = upper or self.part.plan
        outcome = complete.minimise(problem, limits, self.report, start, self.lower)
        return _signed(outcome, problem, "the search")

    def cp_sat(self, limits: Limits, before: Outcome, switch: cp_sat.Switch | None) -> Outcome:
        problem = self.part.problem
        start = before.plan or self.part.plan
        if self.goal == "fit" and problem.capacity is not None:
            outcome = cp_sat.fit(problem, problem.capacity, limits, self.report, start, switch)
        else:
            lower = max(self.lower, before.lower_bound)
            outcome = cp_sat.minimise(problem, limits, self.report, start, lower, switch)
        return _signed(outcome, problem, "CP-SAT")


def _in_turn(task: _ComponentSolver, limits: Limits, began: float) -> Outcome:
    """One after the other: the same answer every time where only nodes are limited."""
    half = replace(limits, seconds=None if limits.seconds is None else limits.seconds / 2)
    outcome = task.search(half if not task.part.problem.plain else limits, None)
    left = limits.left(began)
    if _done(outcome, task.goal) or left == 0:
        return outcome
    other = task.cp_sat(replace(limits, seconds=left), outcome, None)
    return _better(task.part.problem, outcome, other)


def _together(task: _ComponentSolver, limits: Limits, before: Outcome) -> Outcome:
    """CP-SAT on a thread of its own, beside the search with another seed; the first to finish ends it."""
    switch = cp_sat.Switch()
    found: list[Outcome] = []
    single = replace(limits, threads=1)
    thread = _started(lambda: found.append(task.cp_sat(single, before, switch)))
    try:
        other = task.search(replace(single, seed=limits.seed + 1), before.plan)
        if not _done(other, task.goal):
            thread.join()
    finally:
        while thread.is_alive():
            switch.stop()
            thread.join(0.05)
    return _better(task.part.problem, before, other, *found)


def _started(work: Callable[[], None]) -> Thread:
    thread = Thread(target=work, daemon=True)
    thread.start()
    return thread


def _done(outcome: Outcome, goal: str) -> bool:
    if goal == "fit" and outcome.status == "feasible":
        return True
    return outcome.status in ("optimal", "infeasible")


def _signed(outcome: Outcome, problem: Problem, solver: str) -> Outcome:
    """``outcome`` with a certificate, if it has none and claims something."""
    if outcome.certificate is not None:
        return outcome
    bound: int | None = outcome.lower_bound
    if outcome.status == "infeasible":
        bound = None if problem.capacity is None else problem.capacity + 1
    record = "all offsets of all buffers"
    return replace(outcome, certificate=Searched(bound, solver, outcome.nodes, record))


def _better(problem: Problem, *outcomes: Outcome) -> Outcome:
    """What all of them together say of ``problem``."""
    settled = [o for o in outcomes if o.status in ("optimal", "infeasible")]
    planned = [(o.plan.peak(problem), i) for i, o in enumerate(outcomes) if o.plan is not None]
    best = settled[0] if settled else outcomes[min(planned)[1] if planned else -1]
    nodes = sum(o.nodes for o in outcomes)
    bound = best.lower_bound if settled else max(o.lower_bound for o in outcomes)
    return replace(best, nodes=nodes, lower_bound=bound)
