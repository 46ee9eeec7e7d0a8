"""The specialised complete search: whether buffers fit in a capacity, and in how little they do."""

from __future__ import annotations

from itertools import pairwise
from time import perf_counter
from typing import TYPE_CHECKING

from chipmodel.model.interval import Interval
from chipmodel.model.plan import Buffer, Plan, Problem, Status
from solvers.core.outcome import Limits, Outcome, Progress, Report
from solvers.search.fuse import fused
from solvers.search.model import Contradiction, Model, Unsuited, model_of, plan_of

if TYPE_CHECKING:
    from solvers.search.workers import Race, Worker

ALL_RULES = 15
LIMIT_REACHED = "search stopped by its limits"
EXHAUSTED = "search exhausted"
LEFT_OUT = "search exhausted, but some offsets were left out of it"
"""The proof where buffers of no bytes meet the edges of memories: then no plan found says nothing."""
FIRST_TRY = 20_000
"""Nodes for each target of ``minimise`` in its first sweep."""


def warm() -> float:
    """Compile the search, or load it where it was compiled before: the seconds that took."""
    began = perf_counter()
    pair = tuple(Buffer(name, 1, (Interval(0, 1),)) for name in "ab")
    fit(Problem(pair), 2, Limits(nodes=10, threads=1))
    return perf_counter() - began


def fit(
    problem: Problem,
    capacity: int,
    limits: Limits,
    report: Report | None = None,
    *,
    rules: int = ALL_RULES,
) -> Outcome:
    """Whether ``problem`` fits in ``capacity`` bytes, or its own capacity where that is smaller.

    Feasible with a plan, infeasible where the search went through everything, else unknown.
    ``rules`` has a bit for each of the kernel's rules that may be off without changing the answer:
    rests, twins, stacks, jumps.
    """
    began = perf_counter()
    if problem.capacity is not None:
        capacity = min(capacity, problem.capacity)
    try:
        model = model_of(problem)
    except Contradiction as clash:
        return Outcome("infeasible", None, 0, proof=str(clash), explanation=clash.buffers)
    except Unsuited as why:
        return Outcome("unknown", None, 0, proof=f"not searched: {why}")
    if report:
        report(Progress(0.0, None, model.bound(), f"searching a plan of {capacity} bytes"))
    return _Target(problem, model, capacity, rules).go(_Budget(limits, began))


class _Budget:
    """What is left of the limits."""

    def __init__(self, limits: Limits, began: float) -> None:
        self.limits = limits
        self.until = None if limits.seconds is None else began + limits.seconds
        self.nodes = limits.nodes
        self.used = 0

    @property
    def spent(self) -> bool:
        late = self.until is not None and perf_counter() >= self.until
        return late or (self.nodes is not None and self.used >= self.nodes)

    @property
    def left(self) -> int | None:
        return None if self.nodes is None else max(0, self.nodes - self.used)

    def part(self, nodes: int) -> int:
        """At most ``nodes``, at most what is left."""
        return nodes if self.nodes is None else max(1, min(nodes, self.nodes - self.used))


class _Target:
    """A capacity, and a search that can be taken up again where it was left."""

    def __init__(self, problem: Problem, model: Model, capacity: int, rules: int = ALL_RULES) -> None:
        self.problem = problem
        self.model = model
        self.capacity = capacity
        self.rules = rules
        self.race: Race | None = None

    def go(self, budget: _Budget, nodes: int | None = None) -> Outcome:
        """Search for ``nodes`` more at most, or as long as the budget lasts."""
        bound = self.model.bound()
        if bound > self.capacity:
            return Outcome("infeasible", None, bound, proof="contention", explanation=self.model.crowd())
        if self.race is None:
            try:
                self._begin(budget.limits)
            except Contradiction as clash:
                return Outcome("infeasible", None, bound, proof=str(clash), explanation=clash.buffers)
        assert self.race is not None
        before = self.race.nodes
        more = budget.left if nodes is None else budget.part(nodes)
        winner = self.race.run(budget.until, None if more is None else before + more)
        used = self.race.nodes - before
        budget.used += used
        return _answer(self.problem, self.model, winner, used)

    def _begin(self, limits: Limits) -> None:
        from solvers.search.workers import Race

        self.model = fused(self.model, self.capacity)
        self.race = Race(self.model, self.capacity, limits.seed, limits.threads, self.rules)


def _answer(problem: Problem, model: Model, winner: Worker | None, nodes: int) -> Outcome:
    from solvers.search import state as k

    if winner is None:
        return Outcome("unknown", None, model.bound(), nodes, LIMIT_REACHED)
    if winner.status == k.FOUND:
        plan = plan_of(problem, model, winner.offsets.tolist())
        if not _stands(model, winner.offsets.tolist()):
            raise AssertionError("the search found a plan in which buffers overlap")
        return Outcome("feasible", plan, model.bound(), nodes, "plan found by search")
    if not model.complete:
        return Outcome("unknown", None, model.bound(), nodes, LEFT_OUT)
    return Outcome("infeasible", None, model.bound(), nodes, EXHAUSTED)


def _stands(model: Model, offsets: list[int]) -> bool:
    """Whether nothing overlaps in any section: a check on the compiled code that costs next to nothing."""
    stacks: list[list[tuple[int, int]]] = [[] for _ in range(model.sections)]
    for group, offset in zip(model.groups, offsets, strict=True):
        for section, height in group.sections:
            stacks[section].append((offset * model.unit, height))
    for stack in stacks:
        stack.sort()
        if any(low + height > high for (low, height), (high, _) in pairwise(stack)):
            return False
    return True


def minimise(
    problem: Problem,
    limits: Limits,
    report: Report | None = None,
    upper: Plan | None = None,
    lower: int | None = None,
) -> Outcome:
    """The lowest peak, or the lowest found with the best bound proven within ``limits``.

    ``upper`` is a plan to improve on, which must be right; ``lower`` a proven bound in bytes. Targets
    between the two are tried for a few nodes each: the bound first, then ever closer to the best plan;
    once even the smallest step fails, again with twice the nodes.
    """
    began = perf_counter()
    try:
        model = model_of(problem)
    except Contradiction as clash:
        return Outcome("infeasible", None, 0, proof=str(clash), explanation=clash.buffers)
    except Unsuited as why:
        bound = lower or 0
        return Outcome("feasible" if upper else "unknown", upper, bound, proof=f"not searched: {why}")
    return _Descent(problem, model, _Budget(limits, began), report, upper, lower or 0, began).run()


class _Descent:
    """A plan and a bound that approach each other."""

    def __init__(
        self,
        problem: Problem,
        model: Model,
        budget: _Budget,
        report: Report | None,
        upper: Plan | None,
        lower: int,
        began: float,
    ) -> None:
        self.problem = problem
        self.model = model
        self.budget = budget
        self.report = report
        self.plan = upper
        self.lower = self._round_up(max(lower, model.bound()))
        self.began = began
        self.used = 0
        self.exhausted = False
        self.left_out = False
        self.at_bound = _Target(problem, model, self.lower)
        self.spent_at_bound = 0

    def _round_up(self, size: int) -> int:
        """The lowest peak from ``size`` on that a settled plan can have."""
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
        nodes = FIRST_TRY
        if self.plan is None:
            self._try(_Target(self.problem, self.model, self.highest), max(nodes, 4 * len(self.model.groups)))
        while self._open:
            self._sweep(nodes)
            nodes *= 2
        return self._outcome()

    @property
    def _open(self) -> bool:
        return self.lower <= self.highest and not self.budget.spent and not self.left_out

    def _sweep(self, nodes: int) -> None:
        """Ever closer to the best plan until one is found, beginning far from it again where that helps.

        The bound itself is searched for as many nodes as all else: it is often reached, and a plan with
        full sections is found sooner than one with a little to spare.
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
        """Whether the search found a plan of the target, or proved that there is none."""
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
            self.report(Progress(perf_counter() - self.began, self.peak, self.lower, stage))

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
