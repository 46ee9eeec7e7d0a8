"""A complete search for offsets: whether buffers fit in a capacity, and the smallest peak.

Source: this project, after Moffitt 2023 (MiniMalloc) and Maas et al. 2022 (TelaMalloc); docs/references.md.
"""

from __future__ import annotations

from time import perf_counter

from chipmodel.model.plan import PackingProgress, Plan, Problem, Status
from solvers.core.outcome import Limits, Outcome, Report
from solvers.core.preprocess import validate
from solvers.search import columns as col
from solvers.search.fuse import fused
from solvers.search.model import (
    MAX_BUFFERS,
    ConstraintClash,
    NotSearchable,
    SearchModel,
    plan_of,
    search_model,
)
from solvers.search.workers import SearchWorker, WorkerRace, compiled_kernel

ALL_RULES = 15
LIMIT_REACHED = "search stopped by its limits"
EXHAUSTED = "search exhausted"
LEFT_OUT = "search exhausted, but some offsets were left out of it"
"""What ``proof`` says if empty buffers touch edges of memories: that no plan was found proves nothing."""
SECONDS_PER_SECTION_PAIR = 1e-9
"""Seconds that comparing two buffers in one section takes at most (measured on 1,000 to 4,000 buffers)."""
FIRST_SWEEP_NODES = 20_000
"""Nodes for each target of ``minimise`` in its first sweep; each further sweep has twice as many."""


def search(problem: Problem, limits: Limits, report: Report | None = None) -> Outcome:
    """Return a plan within the capacity, or the lowest peak without one. Raises BadInput if malformed."""
    validate(problem)
    if problem.capacity is None:
        return minimise(problem, limits, report)
    return fit(problem, problem.capacity, limits, report)


def fit(
    problem: Problem, capacity: int, limits: Limits, report: Report | None = None, *, rules: int = ALL_RULES
) -> Outcome:
    """Search a plan of ``problem`` within ``capacity`` bytes, and within its own capacity if it has one.

    The status is feasible with a plan, infeasible where the search was exhausted, else unknown. ``rules`` has
    a bit for each of the kernel's rules that may be off without changing the answer: rests, twins, stacks,
    jumps.
    """
    budget = _SearchBudget(problem, limits)
    if problem.capacity is not None:
        capacity = min(capacity, problem.capacity)
    if budget.spent:
        return Outcome("unknown", None, 0, proof=LIMIT_REACHED)
    try:
        model = _model_of(problem)
    except ConstraintClash as clash:
        return Outcome("infeasible", None, 0, proof=str(clash), explanation=clash.buffers)
    except NotSearchable as why:
        return Outcome("unknown", None, 0, proof=f"not searched: {why}")
    if report:
        report(PackingProgress(0.0, None, model.bound(), f"searching a plan of {capacity} bytes"))
    return _Target(problem, model, capacity, rules).go(budget)


def _model_of(problem: Problem) -> SearchModel:
    """The problem as the search has it. Raises ConstraintClash, and NotSearchable, without a kernel too."""
    if compiled_kernel() is None:
        raise NotSearchable("the compiled search is not here")
    return search_model(problem)


def _seconds_to_begin(problem: Problem) -> float:
    """What the tables of a target take to make, which nothing interrupts."""
    count = len(problem.buffers)
    sections = len({span.start for buffer in problem.buffers for span in buffer.live})
    return 0.0 if count > MAX_BUFFERS else SECONDS_PER_SECTION_PAIR * count**2 * sections


class _SearchBudget:
    """What is left of the limits of a call that begins now, less what it takes to begin with a target."""

    def __init__(self, problem: Problem, limits: Limits) -> None:
        self.limits, self.began = limits, perf_counter()
        self.until = limits.until(self.began).before(_seconds_to_begin(problem))
        self.nodes = limits.nodes
        self.used = 0

    @property
    def spent(self) -> bool:
        return self.until.over or (self.nodes is not None and self.used >= self.nodes)

    @property
    def left(self) -> int | None:
        return None if self.nodes is None else max(0, self.nodes - self.used)

    def use(self, nodes: int) -> None:
        """Charge a search that used so many nodes. One at least: what is left may be less than one for each
        worker, and would never be used up."""
        self.used += max(1, nodes)

    def part(self, nodes: int) -> int:
        """``nodes``, or what is left where that is less."""
        return nodes if self.nodes is None else max(1, min(nodes, self.nodes - self.used))


class _Target:
    """A capacity, and a search for it that can be paused and resumed."""

    def __init__(self, problem: Problem, model: SearchModel, capacity: int, rules: int = ALL_RULES) -> None:
        self.problem = problem
        self.model = model
        self.capacity = capacity
        self.rules = rules
        self.race: WorkerRace | None = None

    def go(self, budget: _SearchBudget, nodes: int | None = None) -> Outcome:
        """Search for at most ``nodes`` more, or as long as the budget lasts."""
        bound = self.model.bound()
        if bound > self.capacity:
            return Outcome(
                "infeasible", None, bound, proof="contention", explanation=self.model.fullest_section()
            )
        if self.race is None:
            try:
                self._begin(budget.limits)
            except ConstraintClash as clash:
                return Outcome("infeasible", None, bound, proof=str(clash), explanation=clash.buffers)
        assert self.race is not None
        before = self.race.nodes
        more = budget.left if nodes is None else budget.part(nodes)
        winner = self.race.run(budget.until, None if more is None else before + more)
        used = self.race.nodes - before
        budget.use(used)
        return _answer(self.problem, self.model, winner, used)

    def _begin(self, limits: Limits) -> None:
        self.model = fused(self.model, self.capacity)
        self.race = WorkerRace(self.model, self.capacity, limits.seed, limits.threads, self.rules)


def _answer(problem: Problem, model: SearchModel, winner: SearchWorker | None, nodes: int) -> Outcome:
    if winner is None:
        return Outcome("unknown", None, model.bound(), nodes, LIMIT_REACHED)
    if winner.status == col.FOUND:
        plan = plan_of(problem, model, winner.offsets.tolist())
        return Outcome("feasible", plan, model.bound(), nodes, "plan found by search")
    if not model.complete:
        return Outcome("unknown", None, model.bound(), nodes, LEFT_OUT)
    return Outcome("infeasible", None, model.bound(), nodes, EXHAUSTED)


def minimise(
    problem: Problem,
    limits: Limits,
    report: Report | None = None,
    upper: Plan | None = None,
    lower: int | None = None,
) -> Outcome:
    """Search the plan with the lowest peak; the best plan and bound where ``limits`` end the search.

    ``upper`` is a correct plan to improve on, ``lower`` a proven bound in bytes. Targets between the two are
    tried for a few nodes each: the bound first, then targets ever closer to the best plan; once even the
    smallest improvement fails, all of it is repeated with twice the nodes.
    """
    budget, bound = _SearchBudget(problem, limits), lower or 0
    status: Status = "feasible" if upper else "unknown"
    if budget.spent:
        return Outcome(status, upper, bound, proof=LIMIT_REACHED)
    try:
        model = _model_of(problem)
    except ConstraintClash as clash:
        return Outcome("infeasible", None, 0, proof=str(clash), explanation=clash.buffers)
    except NotSearchable as why:
        return Outcome(status, upper, bound, proof=f"not searched: {why}")
    return _Descent(problem, model, budget, report, upper, bound).run()


class _Descent:
    """The best plan and bound so far, brought closer to each other."""

    def __init__(
        self,
        problem: Problem,
        model: SearchModel,
        budget: _SearchBudget,
        report: Report | None,
        upper: Plan | None,
        lower: int,
    ) -> None:
        self.problem = problem
        self.model = model
        self.budget = budget
        self.report = report
        self.plan = upper
        self.lower = self._round_up(max(lower, model.bound()))
        self.used = 0
        self.exhausted = False
        self.left_out = False
        self.at_bound = _Target(problem, model, self.lower)
        self.spent_at_bound = 0

    def _round_up(self, size: int) -> int:
        """The lowest multiple of the unit that is not below ``size``."""
        return -(-size // self.model.unit) * self.model.unit

    @property
    def peak(self) -> int | None:
        return None if self.plan is None else self.plan.peak(self.problem)

    @property
    def highest(self) -> int:
        """The highest target worth trying."""
        top = self.model.most if self.problem.capacity is None else self.problem.capacity
        return top if self.peak is None else min(top, self.peak - 1)

    def run(self) -> Outcome:
        self._tell("first plan")
        nodes = FIRST_SWEEP_NODES
        if self.plan is None:
            self._try(_Target(self.problem, self.model, self.highest), max(nodes, 4 * len(self.model.items)))
        while self._open:
            self._sweep(nodes)
            nodes *= 2
        return self._outcome()

    @property
    def _open(self) -> bool:
        return self.lower <= self.highest and not self.budget.spent and not self.left_out

    def _sweep(self, nodes: int) -> None:
        """Try targets ever closer to the best plan; after each new plan begin halfway to the bound again.

        The bound itself is searched for as many nodes as all other targets together: it is often reached, and
        a plan that fills sections completely is found sooner than one that almost does.
        """
        part = 2
        while self._open:
            if self.spent_at_bound <= self.used // 2:
                self._try(self.at_bound, nodes)
            step = (self.highest - self.lower) // self.model.unit
            if not self._open or self._try(
                self._target(self.highest - step // part * self.model.unit), nodes
            ):
                continue
            if step // part == 0:
                return
            part *= 2

    def _target(self, capacity: int) -> _Target:
        return (
            self.at_bound
            if capacity < self.lower + self.model.unit
            else _Target(self.problem, self.model, capacity)
        )

    def _try(self, target: _Target, nodes: int) -> bool:
        """Search the target; whether a plan was found or proven impossible."""
        self._tell(f"searching a plan of {target.capacity} bytes")
        outcome = target.go(self.budget, nodes)
        self.used += outcome.nodes
        if target is self.at_bound:
            self.spent_at_bound += outcome.nodes
        if outcome.plan is not None:
            self.plan = outcome.plan
        elif outcome.status == "infeasible":
            self.exhausted = outcome.proof == EXHAUSTED
            self._raise(self._round_up(target.capacity + 1))
        self.left_out |= outcome.proof == LEFT_OUT
        return outcome.status in ("feasible", "infeasible")

    def _raise(self, lower: int) -> None:
        self.lower = lower
        self.at_bound = _Target(self.problem, self.model, lower)
        self.spent_at_bound = self.used // 2

    def _tell(self, stage: str) -> None:
        if self.report:
            self.report(PackingProgress(perf_counter() - self.budget.began, self.peak, self.lower, stage))

    def _outcome(self) -> Outcome:
        peak = self.peak
        if self.lower > self.highest:
            proof = f"{EXHAUSTED} below it" if self.exhausted else "bound"
            if peak is None:
                return Outcome("infeasible", None, self.lower, self.used, proof)
            return Outcome("optimal", self.plan, peak, self.used, proof)
        proof = LEFT_OUT if self.left_out else LIMIT_REACHED
        status: Status = "unknown" if peak is None else "feasible"
        return Outcome(status, self.plan, self.lower, self.used, proof)
