"""Choose what stays in SharedMemory for all steps at once, by mixed-integer programming (SCIP).

Time has one interval for each step, from the end of the previous step to its own end: first waiting, then
compute. The DMA engine is modelled as a fluid: an item may be loaded in any interval since its previous touch
where there is space. Offsets, the order of the queue, set-up of slices and bank conflicts are left out.

Source: this project (docs/references.md).
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import Any

from solvers.core.deadline import NO_DEADLINE, Deadline
from solvers.residency.accounts import ResidencyAccounts
from solvers.residency.problem import Joined, ResidencyFound, ResidencyItem, ResidencyProblem

MAX_NODES = 500
"""Default limit of branch-and-bound nodes: well under a second."""
HORIZON = 16
"""Intervals ahead of a step in which its loads may lie, and after a step in which its stores may; otherwise
variables would grow with the square."""
STORE_DELAY = 3
"""Intervals, from the one that produces an item, in which its bytes not yet stored are counted."""
SETTINGS = "limits/gap = 0.0005\nseparating/maxroundsroot = 5"
"""SCIP stops within 0.05 % of the optimum. More rounds of cuts at the root cost more than they save
(measured: 5.6 instead of 19 s on ShuffleNetV1 with 145,664 B of luna-arcs, the slowest of many)."""


def solve_residency(
    problem: ResidencyProblem, dma_weight: float = 0.0, deadline: Deadline = NO_DEADLINE
) -> ResidencyFound:
    """Return the least cycles over all residencies, within ``MAX_NODES`` and until the ``deadline``.

    With ``dma_weight`` each DMA cycle costs that share of a cycle, even if it is hidden by compute, so that
    the answer leaves the engine idle where it can.
    """
    return ResidencyModel(problem, dma_weight).solved(deadline)


class ResidencyModel:
    """Variables of items and options, entered in the ``accounts``."""

    def __init__(self, problem: ResidencyProblem, dma_weight: float) -> None:
        self.problem = problem
        self.accounts = ResidencyAccounts(problem)
        self.add = self.accounts.solver.Add
        self.there: list[list[Any]] = []
        self.kept: list[list[Any]] = []
        self.staying: list[Any] = []
        """For each item, the share that stays for its loop."""
        self.cut: dict[int, Any] = {}
        """For items in a loop, whether some share does not stay."""
        for index, item in enumerate(problem.items):
            self._item(index, item)
        for step in self.accounts.options:
            self._optional(step)
        self.joined = [self._join(join) for join in problem.joins]
        self.accounts.add_constraints(dma_weight)

    # -- items ---------------------------------------------------------------------------------

    def _item(self, index: int, item: ResidencyItem) -> None:
        there = [self._choice(item) for _ in item.touches]
        kept: list[Any] = [0]
        for before, after in pairwise(there):
            kept.append(self._kept(item, before, after))
        self.there.append(there)
        self.kept.append(kept)
        self.staying.append(self._stays(index, item, there))
        for touch, (stays, own) in enumerate(zip(there, kept, strict=True)):
            self._at_touch(index, item, touch, stays)
            if touch or not item.made:
                self._loaded(item, touch, there, own)
        if item.made and (item.ends or len(there) > 1):
            stored = self._stored(item, there, kept[1:])
            self._not_stored_yet(index, item, stored)

    def _stays(self, index: int, item: ResidencyItem, there: list[Any]) -> Any:
        """Ensure that the share that stays for all iterations of a loop takes its bytes throughout, in
        addition to what is streamed of the item. Loading it once costs nothing more than in the first
        iteration."""
        if item.loop is None:
            return 0
        stays, cut = self.accounts.share(), self.accounts.binary()
        passing = min(max(item.passing), item.bytes)
        self.cut[index] = cut
        self.add(stays >= 1 - cut)
        self.add(item.bytes * stays + passing * cut <= item.bytes)
        for lies in there:
            self.add(lies >= stays)
        for step in range(*item.loop):
            if step not in item.touches:
                self.accounts.held[step].append((item.bytes, stays))
        return stays

    def _choice(self, item: ResidencyItem) -> Any:
        if item.pinned is not None:
            return self.accounts.solver.NumVar(item.pinned, item.pinned, "")
        return self.accounts.binary() if item.whole else self.accounts.share()

    def _kept(self, item: ResidencyItem, before: Any, after: Any) -> Any:
        """Ensure that what is kept between two touches is in SharedMemory at both."""
        kept = self.accounts.binary() if item.whole else self.accounts.share()
        self.add(kept <= before)
        if item.whole:
            self.add(kept <= after)
        if not item.moves:
            self.add(before == after)
            self.add(kept == after)
        return kept

    def _at_touch(self, index: int, item: ResidencyItem, touch: int, stays: Any) -> None:
        """Enter the bytes of a touch, and of what is kept since the previous one."""
        step = item.touches[touch]
        passes = step in self.accounts.options and item.whole
        passing = 0 if passes else min(item.passing[touch], item.bytes)
        own = passing + (item.bytes - passing) * stays
        if item.loop is not None:
            own = item.bytes * stays + passing * self.cut[index]
        self.accounts.operands[step][index] = own
        for over in range(item.touches[touch - 1] + 1, step) if touch else ():
            self.accounts.held[over].append((item.bytes, self.kept[index][touch]))

    def _loaded(self, item: ResidencyItem, touch: int, there: list[Any], kept: Any) -> None:
        """Ensure that a read has everything: kept, loaded in an earlier interval, loaded while the step
        waits, or, if it is streamed or kept in part, while it computes. The earliest interval is that of the
        previous touch: stripes may be loaded again while others are still produced."""
        step, cycles, stays = item.touches[touch], item.loads[touch], there[touch]
        if not cycles:
            return
        first = item.touches[touch - 1] if touch else item.since
        early: Any = 0
        for interval in range(max(first, step - HORIZON), step):
            held, load = self.accounts.share(), self.accounts.load(interval, cycles)
            self.add(held == load + early)
            if touch and interval == item.touches[0] and item.made:
                self.add(load <= 1 - there[0])
            self.accounts.held[interval].append((item.reads[touch], held))
            early = held
        own = self.accounts.load(step, cycles)
        self.accounts.waited[step].append((cycles, own))
        meanwhile = self.accounts.load(step, cycles)
        if item.whole:
            self.add(meanwhile <= 1 - stays)
        self.add(kept + early + own + meanwhile + self.staying[-1] >= 1)

    def _stored(self, item: ResidencyItem, there: list[Any], kept: list[Any]) -> list[tuple[int, Any]]:
        """Ensure that an output, and an item that is loaded again, is in Psram by then: stored by its own
        step, if it is streamed; in any later interval; or while the step that loads it again waits. If it is
        streamed both times, the last stripes may be stored while the first are loaded again."""
        made = item.touches[0]
        last = len(self.problem.steps) if item.ends else item.touches[-1] - 1
        passed = self.accounts.load(made, item.store)
        self.add(passed <= 1 - there[0])
        stored = [(made, passed)]
        stored += [
            (interval, self.accounts.load(interval, item.store))
            for interval in range(made + 1, min(last, made + HORIZON) + 1)
        ]
        for back, stays, each in zip(item.touches[1:], there[1:], kept, strict=True):
            own, meanwhile = self.accounts.load(back, item.store), self.accounts.load(back, item.store)
            self.accounts.waited[back].append((item.store, own))
            self.add(meanwhile <= 1 - there[0])
            self.add(meanwhile <= 1 - stays)
            before = sum(share for interval, share in stored if interval < back)
            self.add(before + own + meanwhile >= 1 - each)
            stored += [(back, own), (back, meanwhile)]
        if item.ends:
            self.add(sum(share for _, share in stored) >= 1)
        return stored

    def _not_stored_yet(self, index: int, item: ResidencyItem, stored: list[tuple[int, Any]]) -> None:
        """Ensure that what is neither kept nor stored yet takes memory, for a few intervals from the one that
        produces it; in that one in addition to the stripe, unless another item may share its bytes."""
        made, there, kept = item.touches[0], self.there[index][0], self.kept[index]
        stop = item.touches[1] if len(kept) > 1 else len(self.problem.steps)
        stays = kept[1] if len(kept) > 1 else 0
        for interval in range(made, min(stop, made + STORE_DELAY)):
            left = -sum(share for at, share in stored if at <= interval) + 1
            if interval > made:
                left -= stays
            elif any(overlay.over == index for overlay in self.problem.overlays):
                continue
            else:
                left -= there + item.passing[0] / item.bytes
            rest = self.accounts.solver.NumVar(0, 1, "")
            self.add(rest >= left)
            self.accounts.held[interval].append((item.bytes, rest))

    # -- steps ---------------------------------------------------------------------------------

    def _optional(self, step: int) -> None:
        """Ensure that exactly the items of one option are streamed, with its bytes and transfers, or none."""
        options = self.accounts.options[step]
        total = sum(chosen for _, chosen in options)
        every = any(not option.passing for option, _ in options)
        self.add(total == 1 if every else total <= 1)
        for index, item in enumerate(self.problem.items):
            if step in item.touches and item.whole:
                passing = sum(chosen for option, chosen in options if index in option.passing)
                self.add(self.there[index][item.touches.index(step)] == 1 - passing)
        for option, chosen in options:
            self.accounts.held[step].append((option.bytes, chosen))
            if option.moved:
                self.accounts.moved[step].append((Fraction(option.moved), chosen))

    def _join(self, join: Joined) -> Any:
        """Ensure that parts produced in place stay until the concatenation, whose bytes they take."""
        items = self.problem.items
        chosen = self.accounts.binary()
        for part in join.parts:
            for variable in (*self.there[part], *self.kept[part][1:]):
                self.add(variable >= chosen)
        self.add(self.there[join.whole][0] >= chosen)
        made = {part: items[part].touches[0] for part in join.parts}
        for step in range(min(made.values()), join.step):
            alive = sum(items[part].bytes for part, first in made.items() if first <= step)
            self.accounts.held[step].append((items[join.whole].bytes - alive, chosen))
        dead = sum(items[part].bytes for part in join.parts)
        self.accounts.held[join.step].append((-dead, chosen))
        self.accounts.saved[join.step].append((join.saved, chosen))
        return chosen

    # -- answer --------------------------------------------------------------------------------

    def solved(self, deadline: Deadline = NO_DEADLINE) -> ResidencyFound:
        solver, unit = self.accounts.solver, float(self.accounts.unit)
        solver.SetSolverSpecificParametersAsString(f"limits/nodes = {MAX_NODES}\n{SETTINGS}")
        if deadline.left is not None:
            solver.SetTimeLimit(max(1, int(deadline.left * 1000)))
        status = solver.Solve()
        if status not in (solver.OPTIMAL, solver.FEASIBLE):
            return ResidencyFound(None)
        return ResidencyFound(
            solver.Objective().Value() * unit,
            tuple(_is_set(v) for v in self.joined),
            tuple(tuple(_is_set(v) for v in values) for values in self.there),
            tuple(tuple(_is_set(v) for v in values) for values in self.kept),
            tuple(0.0 if isinstance(v, int) else v.solution_value() for v in self.staying),
        )


def _is_set(variable: Any) -> bool:
    return not isinstance(variable, int) and variable.solution_value() > 0.5
