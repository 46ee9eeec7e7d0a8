"""Solve any problem as a constraint program with CP-SAT.

Source: OR-Tools CP-SAT; the model is this project's (``solvers.exact.cp_sat_model``; docs/references.md).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import TYPE_CHECKING, Any

from chipmodel.model.plan import PackingProgress, Plan, Problem, Status
from solvers.core.deadline import Deadline
from solvers.core.or_tools import cp_sat_solver
from solvers.core.outcome import Limits, Outcome, Report
from solvers.core.preprocess import highest_end, validate
from solvers.exact.cp_sat_model import CpSatModel, TooLarge

if TYPE_CHECKING:
    from ortools.sat.python import cp_model

NODES_PER_SECOND = 200_000
"""Nodes of ``Limits`` for one unit of CP-SAT's deterministic time."""
SECONDS_PER_PART = 7e-5
"""Seconds for each part of a lifetime by which CP-SAT is to end earlier: the model takes as long, and
presolving, which is late (measured on 15,000 buffers)."""
CP_SAT_PROOF = "the word of CP-SAT"
SUBSOLVERS = ("fixed", "default_lp")
"""Strategies that run first. "fixed", which places what can begin lowest, fits MiniMalloc's C, G and K in
seconds, where the default portfolio takes minutes; the other learns, and proves."""


@dataclass
class Switch:
    """Stop a running solver from another thread."""

    stopped: bool = False
    stops: list[Callable[[], None]] = field(default_factory=list[Callable[[], None]])

    def stop(self) -> None:
        self.stopped = True
        for each in self.stops:
            each()


def solve(problem: Problem, limits: Limits, report: Report | None = None) -> Outcome:
    """Return a plan within the capacity, or the lowest peak without one. Raises BadInput if malformed."""
    validate(problem)
    if problem.capacity is None:
        return minimise(problem, limits, report)
    return fit(problem, problem.capacity, limits, report)


def fit(
    problem: Problem,
    capacity: int,
    limits: Limits,
    report: Report | None = None,
    switch: Switch | None = None,
) -> Outcome:
    """Return a plan within ``capacity`` bytes: the status is ``feasible``, ``infeasible`` or ``unknown``."""
    return _CpSatRun(replace(problem, capacity=capacity), limits, report, switch or Switch()).run(
        capacity, None
    )


def minimise(
    problem: Problem,
    limits: Limits,
    report: Report | None = None,
    upper: Plan | None = None,
    lower: int | None = None,
    switch: Switch | None = None,
) -> Outcome:
    """Return the plan with the smallest peak, within the problem's capacity if it has one.

    ``upper`` is a correct plan within the capacity: lower ones are sought. ``lower`` is a proven bound:
    reaching it ends the search.
    """
    run = _CpSatRun(problem, limits, report, switch or Switch())
    top, bound = highest_end(problem), lower or 0
    if problem.capacity is not None:
        top = min(top, problem.capacity)
    if upper is None:
        return run.run(top, bound)
    peak = upper.peak(problem)
    if peak <= bound:
        return Outcome("optimal", upper, peak, proof="bound")
    found = run.run(min(top, peak - 1), bound)
    if found.plan is not None:
        return found
    if found.status == "infeasible":
        return replace(found, status="optimal", plan=upper, lower_bound=peak)
    return replace(found, status="feasible", plan=upper, lower_bound=min(peak, found.lower_bound))


@dataclass
class _CpSatRun:
    problem: Problem
    limits: Limits
    report: Report | None
    switch: Switch
    began: float = field(default_factory=perf_counter)

    def run(self, top: int, lower: int | None) -> Outcome:
        """Search a plan that ends by ``top``; with a ``lower`` bound, one with the smallest peak."""
        making = SECONDS_PER_PART * self.problem.parts
        self.limits = replace(self.limits, seconds=None, deadline=self._until.before(making))
        if self._until.ends("CP-SAT"):
            return Outcome("unknown", None, lower or 0, proof="the limits came first")
        try:
            model = CpSatModel(self.problem, top, lower)
        except TooLarge as reason:
            return Outcome("unknown", None, lower or 0, proof=f"CP-SAT was not asked: {reason}")
        if model.contradiction:
            return self._infeasible(top, lower, 0, model.contradiction)
        if self.limits.left(self.began) == 0:
            return Outcome("unknown", None, lower or 0, proof="the limits came first")
        return self._solve(model, top, lower)

    @property
    def _until(self) -> Deadline:
        return self.limits.until(self.began)

    def _solve(self, model: CpSatModel, top: int, lower: int | None) -> Outcome:
        sat: Any = cp_sat_solver()
        solver: cp_model.CpSolver = sat.CpSolver()
        self._configure(solver)
        callback = _watch(self, solver, model, lower or 0)
        self.switch.stops.append(solver.stop_search)
        status = sat.UNKNOWN if self.switch.stopped else solver.solve(model.sat, callback)
        nodes = 0 if self.switch.stopped and status == sat.UNKNOWN else solver.num_branches
        if status == sat.INFEASIBLE:
            return self._infeasible(top, lower, nodes, CP_SAT_PROOF)
        if status == sat.MODEL_INVALID:
            return Outcome("unknown", None, lower or 0, nodes, f"CP-SAT refused: {model.sat.validate()}")
        if status not in (sat.OPTIMAL, sat.FEASIBLE):
            bound = model.bound(solver.best_objective_bound) if lower is not None and nodes else 0
            return Outcome("unknown", None, max(lower or 0, bound), nodes, "the limits came first")
        plan = model.plan(solver.value)
        if lower is None:
            return Outcome("feasible", plan, 0, nodes, "a plan that fits")
        peak = plan.peak(self.problem)
        proven: Status = "optimal" if status == sat.OPTIMAL else "feasible"
        bound = (
            peak if proven == "optimal" else min(peak, max(lower, model.bound(solver.best_objective_bound)))
        )
        if bound == peak:
            proven = "optimal"
        return Outcome(
            proven, plan, bound, nodes, CP_SAT_PROOF if proven == "optimal" else "the limits came first"
        )

    def _infeasible(self, top: int, lower: int | None, nodes: int, proof: str) -> Outcome:
        """No plan ends by ``top``, which is the capacity, or an upper bound of settled plans' peaks."""
        beyond = max(top, self.problem.capacity or 0) + 1
        return Outcome("infeasible", None, max(lower or 0, beyond), nodes, proof)

    def _configure(self, solver: cp_model.CpSolver) -> None:
        """Ensure that the solver keeps the limits, and is deterministic where only nodes are limited."""
        parameters: Any = solver.parameters
        parameters.random_seed = self.limits.seed % (1 << 31)
        parameters.num_workers = max(1, self.limits.threads)
        parameters.subsolvers.extend(SUBSOLVERS)
        if self.limits.nodes is not None:
            parameters.num_workers = 1
        parameters.interleave_search = parameters.num_workers == 1
        if self.limits.nodes is not None:
            parameters.max_deterministic_time = self.limits.nodes / NODES_PER_SECOND
        left = self.limits.left(self.began)
        if left is not None:
            parameters.max_time_in_seconds = left

    def tell(self, peak: int | None, bound: int) -> None:
        if self.report is not None:
            self.report(PackingProgress(perf_counter() - self.began, peak, bound, "CP-SAT"))


def _watch(
    run: _CpSatRun, solver: cp_model.CpSolver, model: CpSatModel, lower: int
) -> cp_model.CpSolverSolutionCallback:
    """Ensure that every better plan and every better bound is reported."""
    sat: Any = cp_sat_solver()
    known: dict[str, int | None] = {"peak": None, "bound": lower}

    class Callback(sat.CpSolverSolutionCallback):  # type: ignore[misc]
        def on_solution_callback(self) -> None:
            known["peak"] = model.bound(self.objective_value) if model.peak is not None else None
            run.tell(known["peak"], known["bound"] or 0)

    def better_bound(value: float) -> None:
        if model.peak is None:
            return
        bound = model.bound(value)
        if bound > (known["bound"] or 0):
            known["bound"] = bound
            run.tell(known["peak"], bound)

    solver.best_bound_callback = better_bound
    callback: cp_model.CpSolverSolutionCallback = Callback()
    return callback
