"""Which items stay in SharedMemory, decided for all steps at once, by mixed-integer programming (SCIP).

Time runs in one interval a step, from the end of the step before to its own end: first what has to wait,
then compute. The DMA engine moves bytes as a fluid, as early as there is room: what an item needs may come
in any interval since its touch before. Everything that is left out (offsets, order in the queue, set-ups of
slices, bank conflicts) only costs more. So where all numbers are the least that any plan has, the bound
is one of every plan whose items lie whole in SharedMemory or pass through.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import Any

from solvers.residency.accounts import ResidencyAccounts
from solvers.residency.problem import Joined, ResidencyFound, ResidencyItem, ResidencyProblem

MAX_NODES = 2_000
"""Nodes of branch and bound."""
HORIZON = 64
"""Loads further ahead than so many intervals, and stores put off further, move at some time: that there is
room for them is asked for where the horizon begins. Pairs of a load and an interval would grow with the
square."""
STORE_DELAY = 3
"""Intervals from the one that makes an item in which what is not yet stored of it is counted."""
SETTINGS = "limits/gap = 0.0005\nseparating/maxroundsroot = 5"
"""What bounds within 0.05 % is good enough, and more rounds of cuts at the root cost more than they save: 5.6
instead of 19 s on ShuffleNetV1 with 145,664 B of luna-arcs, the slowest of many."""
TOLERANCE = 1e-6
"""SCIP's own, for feasibility; the bound is lowered by as much."""


def solve_residency(
    problem: ResidencyProblem,
    nodes: int = MAX_NODES,
    relaxed: bool = False,
    thrift: float = 0.0,
    horizon: int = HORIZON,
) -> ResidencyFound:
    """The least cycles over all residencies, within so many ``nodes``.

    ``relaxed`` lets items lie there in parts, which takes milliseconds and bounds from below all the same.
    With ``thrift`` each cycle of the DMA engine counts that part of a cycle more, whoever hides it: what is
    to be planned leaves the engine idle where it may; the bound is then none of the cycles. A shorter
    ``horizon`` (steps that a load comes early, or a store late, in full detail) is solved sooner, and bounds
    less.
    """
    return _ResidencyModel(problem, relaxed, thrift, horizon).solved(nodes)


class _ResidencyModel:
    """Which items lie there, and what that enters in the ``books``."""

    def __init__(
        self, problem: ResidencyProblem, relaxed: bool, thrift: float, horizon: int = HORIZON
    ) -> None:
        self.problem = problem
        self.horizon = max(1, horizon)
        self.books = ResidencyAccounts(problem, relaxed)
        self.add = self.books.solver.Add
        self.there: list[list[Any]] = []
        self.kept: list[list[Any]] = []
        self.staying: list[Any] = []
        """Shares that stay for a loop."""
        self.cut: dict[int, Any] = {}
        """Whether some of an item in a loop does not stay."""
        for index, item in enumerate(problem.items):
            self._item(index, item)
        for step in self.books.options:
            self._optional(step)
        self.joined = [self._join(join) for join in problem.joins]
        self.books.settle(thrift)

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
                self._brought(item, touch, there, own)
        if item.made and (item.ends or len(there) > 1):
            stored = self._stored(item, there, kept[1:])
            self._not_stored_yet(index, item, stored)

    def _stays(self, index: int, item: ResidencyItem, there: list[Any]) -> Any:
        """Ensures that what stays for all iterations of a loop takes its bytes throughout, and that what
        passes of the same item lies beside it. To load it once costs nothing more: the first iteration would
        have as well."""
        if item.loop is None:
            return 0
        stays, cut = self.books.share(), self.books.either()
        passing = min(max(item.passing), item.bytes)
        self.cut[index] = cut
        self.add(stays >= 1 - cut)
        self.add(item.bytes * stays + passing * cut <= item.bytes)
        for lies in there:
            self.add(lies >= stays)
        for step in range(*item.loop):
            if step not in item.touches:
                self.books.lies(step, item.bytes, stays)
        return stays

    def _choice(self, item: ResidencyItem) -> Any:
        if item.pinned is not None:
            return self.books.solver.NumVar(item.pinned, item.pinned, "")
        return self.books.either() if item.whole else self.books.share()

    def _kept(self, item: ResidencyItem, before: Any, after: Any) -> Any:
        """Ensures that what is kept between two touches lies there at both."""
        kept = self.books.either() if item.whole else self.books.share()
        self.add(kept <= before)
        if item.whole:
            self.add(kept <= after)
        if not item.moves:
            self.add(before == after)
            self.add(kept == after)
        return kept

    def _at_touch(self, index: int, item: ResidencyItem, touch: int, stays: Any) -> None:
        """The bytes that a touch takes, and those of what is kept on the way to it."""
        step = item.touches[touch]
        inside = item.absorbed is not None and step > item.absorbed
        if not inside:
            every = step in self.books.options and item.whole
            passing, ending = (0 if every else min(p[touch], item.bytes) for p in _passing(item))
            # Of what lies there in part only as much need be there before the end as passes.
            if item.loop is None:
                self.books.operands[step][index] = passing + (item.bytes - passing) * (
                    stays if item.whole else 0
                )
                self.books.endings[step][index] = ending + (item.bytes - ending) * stays
            else:
                self.books.operands[step][index] = (
                    item.bytes * self.staying[index] + passing * self.cut[index]
                )
                self.books.endings[step][index] = item.bytes * stays + ending * self.cut[index]
            if ending < passing:
                self.books.shrinks.add(step)
            between = range(item.touches[touch - 1] + 1, step) if touch else range(0)
            for over in between:
                if item.absorbed is None or over <= item.absorbed:
                    self.books.lies(over, item.bytes, self.kept[index][touch])

    def _brought(self, item: ResidencyItem, touch: int, there: list[Any], kept: Any) -> None:
        """Ensures that a read finds everything: kept, loaded in an earlier interval, loaded while the step
        waits, or, of what passes through or may lie there in part, while it computes. The earliest interval
        is that of the touch before: what is made in stripes may come back while others are made."""
        step, cycles, stays = item.touches[touch], item.loads[touch], there[touch]
        if not cycles:
            return
        first = item.touches[touch - 1] if touch else item.since
        early: Any = None
        if step - first > self.horizon:
            first = step - self.horizon
            early = self.books.sometime_load(first - 1, cycles)
            self.books.held[first - 1].append((item.reads[touch], early))
        for interval in range(first, step):
            held, load = self.books.share(), self.books.load(interval, cycles)
            self.add(held == load + (0 if early is None else early))
            if touch and interval == item.touches[0] and item.made:
                self.add(load <= 1 - there[0])
            self.books.held[interval].append((item.reads[touch], held))
            if early is not None:
                self.books.through[interval].append((item.reads[touch], early))
            early = held
        own = self.books.load(step, cycles)
        self.books.waited[step].append((cycles, own))
        meanwhile = self.books.load(step, cycles)
        if item.whole:
            self.add(meanwhile <= 1 - stays)
        if item.whole or len(item.touches) == 1:
            self.books.meanwhile[step].append((item.reads[touch], meanwhile))
        self.add(kept + (0 if early is None else early) + own + meanwhile + self.staying[-1] >= 1)

    def _stored(self, item: ResidencyItem, there: list[Any], kept: list[Any]) -> list[tuple[int, Any]]:
        """Ensures that an output, and what comes back, is in Psram by then: stored by its own step, where it
        passes through; in any interval behind; or while the step that has it come back waits. Of what was
        made in stripes the last may be stored while the first come back, where it comes in stripes too."""
        made = item.touches[0]
        last = len(self.problem.steps) if item.ends else item.touches[-1] - 1
        passed = self.books.load(made, item.store)
        self.add(passed <= 1 - there[0])
        self.books.meanwhile[made].append((item.bytes, passed))
        stored = [(made, passed)]
        soon = min(last, made + self.horizon)
        stored += [
            (interval, self.books.load(interval, item.store)) for interval in range(made + 1, soon + 1)
        ]
        for back, stays, each in zip(item.touches[1:], there[1:], kept, strict=True):
            if back - 1 > soon:
                stored.append((back - 1, self.books.sometime_load(back - 1, item.store)))
            own, beside = self.books.load(back, item.store), self.books.load(back, item.store)
            self.books.waited[back].append((item.store, own))
            self.add(beside <= 1 - there[0])
            self.add(beside <= 1 - stays)
            before = sum(share for interval, share in stored if interval < back)
            self.add(before + own + beside >= 1 - each)
            stored += [(back, own), (back, beside)]
        if item.ends:
            if soon < last:
                stored.append((last - 1, self.books.sometime_load(last - 1, item.store)))
                stored.append((last, self.books.load(last, item.store)))
            self.add(sum(share for _, share in stored) >= 1)
        return stored

    def _not_stored_yet(self, index: int, item: ResidencyItem, stored: list[tuple[int, Any]]) -> None:
        """Ensures that what neither stays nor is stored by then still takes memory, for a few intervals from
        the one that makes it: there beside the stripe that is counted, if nothing else may lie there."""
        made, there, kept = item.touches[0], self.there[index][0], self.kept[index]
        stop = item.touches[1] if len(kept) > 1 else len(self.problem.steps)
        stays = kept[1] if len(kept) > 1 else 0
        for interval in range(made, min(stop, made + STORE_DELAY)):
            if item.absorbed is not None and interval > item.absorbed:
                return
            left = -sum(share for at, share in stored if at <= interval) + 1
            if interval > made:
                left -= stays
            elif any(overlay.over == index for overlay in self.problem.overlays):
                continue
            else:
                left -= there + (item.ending or item.passing)[0] / item.bytes
            rest = self.books.solver.NumVar(0, 1, "")
            self.add(rest >= left)
            self.books.held[interval].append((item.bytes, rest))

    # -- steps ---------------------------------------------------------------------------------

    def _optional(self, step: int) -> None:
        """Ensures that exactly the items of one option pass, with its bytes and transfers; none without."""
        options = self.books.options[step]
        total = sum(chosen for _, chosen in options)
        every = any(not option.passing for option, _ in options)
        self.add(total == 1 if every else total <= 1)
        for index, item in enumerate(self.problem.items):
            if step in item.touches and item.whole:
                passing = sum(chosen for option, chosen in options if index in option.passing)
                self.add(self.there[index][item.touches.index(step)] == 1 - passing)
        for option, chosen in options:
            self.books.through[step].append((option.bytes, chosen))
            self.books.held[step].append((option.bytes if option.ending is None else option.ending, chosen))
            if option.moved:
                self.books.moved[step].append((Fraction(option.moved), chosen))

    def _join(self, join: Joined) -> Any:
        """Ensures that parts made in their whole stay until it is there, and take its bytes from then on."""
        items = self.problem.items
        chosen = self.books.either()
        for part in join.parts:
            for variable in (*self.there[part], *self.kept[part][1:]):
                self.add(variable >= chosen)
        self.add(self.there[join.whole][0] >= chosen)
        made = {part: items[part].touches[0] for part in join.parts}
        for step in range(min(made.values()), join.step):
            alive = sum(items[part].bytes for part, first in made.items() if first <= step)
            self.books.lies(step, items[join.whole].bytes - alive, chosen)
        self.books.lies(join.step, -sum(items[part].bytes for part in join.parts), chosen)
        self.books.saved[join.step].append((join.saved, chosen))
        return chosen

    # -- answer --------------------------------------------------------------------------------

    def solved(self, nodes: int) -> ResidencyFound:
        solver, relaxed, unit = self.books.solver, self.books.relaxed, float(self.books.unit)
        if not relaxed:
            solver.SetSolverSpecificParametersAsString(f"limits/nodes = {nodes}\n{SETTINGS}")
        status = solver.Solve()
        objective = solver.Objective()
        if status not in (solver.OPTIMAL, solver.FEASIBLE):
            bound = 0.0 if relaxed or status == solver.INFEASIBLE else objective.BestBound()
            return ResidencyFound(max(0.0, bound) * unit, None)
        bound = objective.Value() if relaxed else objective.BestBound()
        return ResidencyFound(
            bound * unit * (1 - TOLERANCE),
            objective.Value() * unit,
            tuple(_yes(v) for v in self.joined),
            tuple(tuple(_yes(v) for v in values) for values in self.there),
            tuple(tuple(_yes(v) for v in values) for values in self.kept),
            tuple(0.0 if isinstance(v, int) else v.solution_value() for v in self.staying),
            tuple(d.solution_value() * unit for d in self.books.durations),
            0 if relaxed else solver.nodes(),
        )


def _passing(item: ResidencyItem) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Bytes that pass where they are most, and at the end."""
    return item.passing, item.ending or item.passing


def _yes(variable: Any) -> bool:
    return not isinstance(variable, int) and variable.solution_value() > 0.5
