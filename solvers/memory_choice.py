"""Choose for each buffer one of several memories of given capacities, the first ones being the best.

A constraint program chooses so that at no position more bytes are alive in a memory than it has, and that the
costs (bytes where nothing else is given) times the number of better memories are least. The packer then looks
for offsets; a choice without any is excluded, and the next one made.

Source: chipmodel; the model is solved by OR-Tools CP-SAT (docs/references.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING

from chipmodel.model.plan import Buffer, Plan, Problem, Solved
from chipmodel.records import dataclass
from solvers.core.live_sets import live_sets
from solvers.core.or_tools import cp_sat_solver
from solvers.core.outcome import Limits
from solvers.registry import solve

if TYPE_CHECKING:
    from ortools.sat.python import cp_model

MAX_CHOICES = 40
"""Choices that are tried at most."""
EXACT_CHOICES = 20
"""Choices without offsets after which each takes some of the bytes from the memory that it did not fit."""
SMALLER = 0.97
"""What remains of the bytes of that memory."""
DETERMINISTIC_SECONDS = 10.0
"""CP-SAT's limit for one choice, in its deterministic time: about as many seconds."""


@dataclass(frozen=True, slots=True)
class MemoryChoices:
    """``memory_of`` has the index of each buffer's memory, by name; ``solved`` the packing of each memory.

    ``cost`` is the sum over all buffers of their costs times memories passed over, and no choice that fits
    has less than ``lower_bound``. Where nothing was found ``memory_of`` is empty, and ``infeasible`` says
    whether that is proven.
    """

    memory_of: Mapping[str, int]
    solved: tuple[Solved, ...]
    cost: int
    lower_bound: int
    infeasible: bool = False


def choose_memories(
    buffers: Sequence[Buffer],
    capacities: Sequence[int],
    allowed: Mapping[str, Sequence[int]],
    packer: str,
    limits: Limits,
    costs: Mapping[str, int] | None = None,
) -> MemoryChoices:
    """Place every buffer in a memory of ``allowed`` (by name; all where it is not in it), so that each fits.

    ``costs`` is what each buffer costs for each memory passed over, its bytes if None. ``packer`` gives the
    offsets, with the same ``limits`` for every packing.
    """
    weights = {b.name: b.bytes if costs is None else costs[b.name] for b in buffers}
    run = _Choosing(buffers, capacities, allowed, packer, limits, weights)
    return run.all_best() or run.searched()


@dataclass(slots=True)
class _Choosing:
    buffers: Sequence[Buffer]
    capacities: Sequence[int]
    allowed: Mapping[str, Sequence[int]]
    packer: str
    limits: Limits
    costs: Mapping[str, int]
    excluded: list[tuple[int, frozenset[str]]] = field(default_factory=list[tuple[int, frozenset[str]]])
    """Sets of buffers that do not fit into the memory of that index together."""
    usable: list[int] = field(default_factory=list[int])
    """Bytes of each memory that a choice may use: the capacities, or less where choices did not fit."""
    proven: bool = True
    """Whether all that is excluded is proven not to fit."""

    def homes(self, buffer: Buffer) -> list[int]:
        """The memories that a buffer may lie in."""
        named = self.allowed.get(buffer.name, range(len(self.capacities)))
        return [index for index in named if buffer.bytes <= self.capacities[index]]

    def all_best(self) -> MemoryChoices | None:
        """Every buffer in its best memory, where that fits."""
        if any(not self.homes(buffer) for buffer in self.buffers):
            return MemoryChoices({}, (), 0, 0, infeasible=True)
        choice = {b.name: self.homes(b)[0] for b in self.buffers}
        solved = self.packed(choice)
        return None if solved is None else MemoryChoices(choice, solved, self.cost(choice), self.cost(choice))

    def searched(self) -> MemoryChoices:
        """The cheapest choice whose packings fit, and a bound from the first one made."""
        bound = 0
        self.usable = list(self.capacities)
        for number in range(MAX_CHOICES):
            choice, least, infeasible = _chosen(self)
            if self.proven:
                bound = max(bound, least)
            if choice is None:
                return MemoryChoices({}, (), 0, bound, infeasible and self.proven)
            solved = self.packed(choice)
            if solved is not None:
                return MemoryChoices(choice, solved, self.cost(choice), min(bound, self.cost(choice)))
            if number >= EXACT_CHOICES:
                memory, _ = self.excluded[-1]
                self.usable[memory] = int(self.usable[memory] * SMALLER)
                self.proven = False
        return MemoryChoices({}, (), 0, bound)

    def cost(self, choice: Mapping[str, int]) -> int:
        """Costs times memories passed over."""
        return sum(cost * choice[name] for name, cost in self.costs.items())

    def packed(self, choice: Mapping[str, int]) -> tuple[Solved, ...] | None:
        """A packing of each memory, the smallest found; None, with the set excluded, if one does not fit."""
        found: list[Solved] = []
        for index, capacity in enumerate(self.capacities):
            inside = tuple(b for b in self.buffers if choice[b.name] == index)
            solved = self.fitted(inside, capacity)
            if solved.peak > capacity or (inside and not solved.plan.offsets):
                self.excluded.append((index, frozenset(b.name for b in inside)))
                self.proven = self.proven and solved.status == "infeasible"
                return None
            found.append(solved)
        return tuple(found)

    def fitted(self, inside: tuple[Buffer, ...], capacity: int) -> Solved:
        """The smallest packing that is found, or if that does not fit one that does."""
        if not inside:
            return Solved(Plan({}), "optimal", 0, 0, 0.0, self.packer)
        solved = solve(Problem(inside), self.packer, self.limits)
        if solved.peak <= capacity:
            return solved
        return solve(Problem(inside, capacity), self.packer, self.limits)


def _chosen(run: _Choosing) -> tuple[dict[str, int] | None, int, bool]:
    """The cheapest choice not excluded, a bound on its cost, and whether there is proven to be none."""
    sat = cp_sat_solver()
    model: cp_model.CpModel = sat.CpModel()
    lies = {(b.name, m): model.new_bool_var("") for b in run.buffers for m in run.homes(b)}
    for buffer in run.buffers:
        model.add_exactly_one(lies[buffer.name, m] for m in run.homes(buffer))
    for alive in live_sets(run.buffers):
        for m, capacity in enumerate(run.usable):
            inside = [b for b in (run.buffers[n] for n in sorted(alive)) if (b.name, m) in lies]
            if sum(b.bytes for b in inside) > capacity:
                model.add(sum(b.bytes * lies[b.name, m] for b in inside) <= capacity)
    for m, names in run.excluded:
        model.add_bool_or(lies[name, m].negated() for name in sorted(names))
    model.minimize(sum(run.costs[name] * m * variable for (name, m), variable in lies.items()))
    solver: cp_model.CpSolver = sat.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = run.limits.seed
    solver.parameters.max_deterministic_time = DETERMINISTIC_SECONDS
    seconds = run.limits.seconds
    if seconds is not None:
        solver.parameters.max_time_in_seconds = seconds
    status = solver.solve(model)
    if status not in (sat.OPTIMAL, sat.FEASIBLE):
        return None, 0, status == sat.INFEASIBLE
    choice = {name: m for (name, m), variable in lies.items() if solver.boolean_value(variable)}
    return choice, max(0, round(solver.best_objective_bound)), False
