"""Which items stay in SharedMemory, decided for all steps at once, by mixed-integer programming (SCIP).

Time runs in one interval a step, from the end of the step before to its own end: first what has to wait,
then compute. The DMA engine moves bytes as a fluid, as early as there is room: what an item needs may come
in any interval since its touch before. Everything that is left out (offsets, order in the queue, set-ups of
slices, bank conflicts) only costs more. So where all numbers are the least that any plan has, the bound
is one of every plan whose items lie whole in SharedMemory or pass through.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from fractions import Fraction
from importlib import import_module
from itertools import pairwise
from typing import Any

from solvers.residency_problem import Item, Joined, Option, Overlay, ResidencyFound, ResidencyProblem

NODES = 2_000
"""Nodes of branch and bound."""
UNITS = 100_000
"""All steps' compute and all loads take about so many units of time: numbers that floats are good at."""
HORIZON = 64
"""Loads further ahead than so many intervals, and stores put off further, move at some time: that there is
room for them is asked for where the horizon begins. Pairs of a load and an interval would grow with the
square."""
PUT_OFF = 3
"""Intervals from the one that makes an item in which what is not yet stored of it is counted."""
SETTINGS = "limits/gap = 0.0005\nseparating/maxroundsroot = 5"
"""What bounds within 0.05 % is good enough, and more rounds of cuts at the root cost more than they save: 5.6
instead of 19 s on ShuffleNetV1 with 145,664 B of luna-arcs, the slowest of many."""
TOLERANCE = 1e-6
"""SCIP's own, for feasibility; the bound is lowered by as much."""


def solve_residency(
    problem: ResidencyProblem,
    nodes: int = NODES,
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
    return _Model(problem, relaxed, thrift, horizon).solved(nodes)


class _Model:
    """Variables are shares of an item from 0 to 1, and time in units of ``unit`` cycles."""

    def __init__(
        self, problem: ResidencyProblem, relaxed: bool, thrift: float, horizon: int = HORIZON
    ) -> None:
        self.problem = problem
        self.horizon = max(1, horizon)
        self.relaxed = relaxed
        self.solver = _solver("GLOP" if relaxed else "SCIP")
        self.infinity = self.solver.infinity()
        self.unit = _unit(problem)
        count = len(problem.steps)
        self.moved: list[list[tuple[Fraction, Any]]] = [[] for _ in range(count + 1)]
        """Loads and stores in each interval; the last one is after all steps."""
        self.sometime: list[list[tuple[Fraction, Any]]] = [[] for _ in range(count)]
        """Loads and stores in this interval or in any before it."""
        self.waited: list[list[tuple[Fraction, Any]]] = [[] for _ in range(count)]
        """Of those, what has to end before the step computes."""
        self.held: list[list[tuple[int, Any]]] = [[] for _ in range(count)]
        """Bytes in SharedMemory at the end of each step's compute."""
        self.through: list[list[tuple[int, Any]]] = [[] for _ in range(count)]
        """Bytes there all along the step."""
        self.meanwhile: list[list[tuple[int, Any]]] = [[] for _ in range(count)]
        """Bytes that move while the step computes, of what passes and of its own weights."""
        self.operands: list[dict[int, Any]] = [{} for _ in range(count)]
        """Bytes that a step's own items take where they take most, by item."""
        self.endings: list[dict[int, Any]] = [{} for _ in range(count)]
        """The same at the end."""
        self.shrinks: set[int] = {option.step for option in problem.options if option.ending is not None}
        """Steps at whose end operands take less."""
        self.options: defaultdict[int, list[tuple[Option, Any]]] = defaultdict(list)
        for option in problem.options:
            self.options[option.step].append((option, self._either()))
        self.saved: defaultdict[int, list[tuple[int, Any]]] = defaultdict(list)
        self.there: list[list[Any]] = []
        self.kept: list[list[Any]] = []
        self.staying: list[Any] = []
        """Shares that stay for a loop."""
        self.cut: dict[int, Any] = {}
        """Whether some of an item in a loop does not stay."""
        for index, item in enumerate(problem.items):
            self._item(index, item)
        for step in self.options:
            self._optional(step)
        self.joined = [self._join(join) for join in problem.joins]
        self._overlaid()
        self.durations = [self._duration(step) for step in range(count)]
        self.durations.append(self._after())
        for step in range(count):
            self._room(step)
        self._idle()
        times = [*(step.times for step in problem.steps), 1]
        total = sum(t * d for t, d in zip(times, self.durations, strict=True))
        if thrift:
            moved = (*(a + b for a, b in zip(self.moved, self.sometime, strict=False)), self.moved[-1])
            total += thrift * sum(t * self._time(m) for t, m in zip(times, moved, strict=True))
        self.solver.Minimize(total)

    # -- items ---------------------------------------------------------------------------------

    def _item(self, index: int, item: Item) -> None:
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

    def _stays(self, index: int, item: Item, there: list[Any]) -> Any:
        """Ensures that what stays for all trips of a loop takes its bytes throughout, and that what passes
        of the same item lies beside it. To load it once costs nothing more: the first trip would have as
        well."""
        if item.loop is None:
            return 0
        stays, cut = self._share(), self._either()
        passing = min(max(item.passing), item.bytes)
        self.cut[index] = cut
        self.solver.Add(stays >= 1 - cut)
        self.solver.Add(item.bytes * stays + passing * cut <= item.bytes)
        for lies in there:
            self.solver.Add(lies >= stays)
        for step in range(*item.loop):
            if step not in item.touches:
                self._lies(step, item.bytes, stays)
        return stays

    def _choice(self, item: Item) -> Any:
        if item.pinned is not None:
            return self.solver.NumVar(item.pinned, item.pinned, "")
        return self._either() if item.whole else self._share()

    def _either(self) -> Any:
        return self._share() if self.relaxed else self.solver.BoolVar("")

    def _kept(self, item: Item, before: Any, after: Any) -> Any:
        """Ensures that what is kept between two touches lies there at both."""
        kept = self._either() if item.whole else self._share()
        self.solver.Add(kept <= before)
        if item.whole:
            self.solver.Add(kept <= after)
        if not item.moves:
            self.solver.Add(before == after)
            self.solver.Add(kept == after)
        return kept

    def _share(self) -> Any:
        return self.solver.NumVar(0, 1, "")

    def _at_touch(self, index: int, item: Item, touch: int, stays: Any) -> None:
        """The bytes that a touch takes, and those of what is kept on the way to it."""
        step = item.touches[touch]
        inside = item.absorbed is not None and step > item.absorbed
        if not inside:
            every = step in self.options and item.whole
            passing, ending = (0 if every else min(p[touch], item.bytes) for p in _passing(item))
            # Of what lies there in part only as much need be there before the end as passes.
            if item.loop is None:
                self.operands[step][index] = passing + (item.bytes - passing) * (stays if item.whole else 0)
                self.endings[step][index] = ending + (item.bytes - ending) * stays
            else:
                self.operands[step][index] = item.bytes * self.staying[index] + passing * self.cut[index]
                self.endings[step][index] = item.bytes * stays + ending * self.cut[index]
            if ending < passing:
                self.shrinks.add(step)
            between = range(item.touches[touch - 1] + 1, step) if touch else range(0)
            for over in between:
                if item.absorbed is None or over <= item.absorbed:
                    self._lies(over, item.bytes, self.kept[index][touch])

    def _lies(self, step: int, size: int, share: Any) -> None:
        self.held[step].append((size, share))
        self.through[step].append((size, share))

    def _brought(self, item: Item, touch: int, there: list[Any], kept: Any) -> None:
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
            early = self._sometime(first - 1, cycles)
            self.held[first - 1].append((item.reads[touch], early))
        for interval in range(first, step):
            held, load = self._share(), self._load(interval, cycles)
            self.solver.Add(held == load + (0 if early is None else early))
            if touch and interval == item.touches[0] and item.made:
                self.solver.Add(load <= 1 - there[0])
            self.held[interval].append((item.reads[touch], held))
            if early is not None:
                self.through[interval].append((item.reads[touch], early))
            early = held
        own = self._load(step, cycles)
        self.waited[step].append((cycles, own))
        meanwhile = self._load(step, cycles)
        if item.whole:
            self.solver.Add(meanwhile <= 1 - stays)
        if item.whole or len(item.touches) == 1:
            self.meanwhile[step].append((item.reads[touch], meanwhile))
        self.solver.Add(kept + (0 if early is None else early) + own + meanwhile + self.staying[-1] >= 1)

    def _sometime(self, interval: int, cycles: Fraction) -> Any:
        share = self._share()
        self.sometime[interval].append((cycles, share))
        return share

    def _load(self, interval: int, cycles: Fraction) -> Any:
        share = self._share()
        self.moved[interval].append((cycles, share))
        return share

    def _stored(self, item: Item, there: list[Any], kept: list[Any]) -> list[tuple[int, Any]]:
        """Ensures that an output, and what comes back, is in Psram by then: stored by its own step, where it
        passes through; in any interval behind; or while the step that has it come back waits. Of what was
        made in stripes the last may be stored while the first come back, where it comes in stripes too."""
        made = item.touches[0]
        last = len(self.problem.steps) if item.ends else item.touches[-1] - 1
        passed = self._load(made, item.store)
        self.solver.Add(passed <= 1 - there[0])
        self.meanwhile[made].append((item.bytes, passed))
        stored = [(made, passed)]
        soon = min(last, made + self.horizon)
        stored += [(interval, self._load(interval, item.store)) for interval in range(made + 1, soon + 1)]
        for back, stays, each in zip(item.touches[1:], there[1:], kept, strict=True):
            if back - 1 > soon:
                stored.append((back - 1, self._sometime(back - 1, item.store)))
            own, beside = self._load(back, item.store), self._load(back, item.store)
            self.waited[back].append((item.store, own))
            self.solver.Add(beside <= 1 - there[0])
            self.solver.Add(beside <= 1 - stays)
            before = sum(share for interval, share in stored if interval < back)
            self.solver.Add(before + own + beside >= 1 - each)
            stored += [(back, own), (back, beside)]
        if item.ends:
            if soon < last:
                stored.append((last - 1, self._sometime(last - 1, item.store)))
                stored.append((last, self._load(last, item.store)))
            self.solver.Add(sum(share for _, share in stored) >= 1)
        return stored

    def _not_stored_yet(self, index: int, item: Item, stored: list[tuple[int, Any]]) -> None:
        """Ensures that what neither stays nor is stored by then still takes memory, for a few intervals from
        the one that makes it: there beside the stripe that is counted, if nothing else may lie there."""
        made, there, kept = item.touches[0], self.there[index][0], self.kept[index]
        stop = item.touches[1] if len(kept) > 1 else len(self.problem.steps)
        stays = kept[1] if len(kept) > 1 else 0
        for interval in range(made, min(stop, made + PUT_OFF)):
            if item.absorbed is not None and interval > item.absorbed:
                return
            left = -sum(share for at, share in stored if at <= interval) + 1
            if interval > made:
                left -= stays
            elif any(overlay.over == index for overlay in self.problem.overlays):
                continue
            else:
                left -= there + (item.ending or item.passing)[0] / item.bytes
            rest = self.solver.NumVar(0, 1, "")
            self.solver.Add(rest >= left)
            self.held[interval].append((item.bytes, rest))

    # -- steps ---------------------------------------------------------------------------------

    def _optional(self, step: int) -> None:
        """Ensures that exactly the items of one option pass, with its bytes and transfers; none without."""
        options = self.options[step]
        total = sum(chosen for _, chosen in options)
        every = any(not option.passing for option, _ in options)
        self.solver.Add(total == 1 if every else total <= 1)
        for index, item in enumerate(self.problem.items):
            if step in item.touches and item.whole:
                passing = sum(chosen for option, chosen in options if index in option.passing)
                self.solver.Add(self.there[index][item.touches.index(step)] == 1 - passing)
        for option, chosen in options:
            self.through[step].append((option.bytes, chosen))
            self.held[step].append((option.bytes if option.ending is None else option.ending, chosen))
            if option.moved:
                self.moved[step].append((Fraction(option.moved), chosen))

    def _join(self, join: Joined) -> Any:
        """Ensures that parts made in their whole stay until it is there, and take its bytes from then on."""
        items = self.problem.items
        chosen = self._either()
        for part in join.parts:
            for variable in (*self.there[part], *self.kept[part][1:]):
                self.solver.Add(variable >= chosen)
        self.solver.Add(self.there[join.whole][0] >= chosen)
        made = {part: items[part].touches[0] for part in join.parts}
        for step in range(min(made.values()), join.step):
            alive = sum(items[part].bytes for part, first in made.items() if first <= step)
            self._lies(step, items[join.whole].bytes - alive, chosen)
        self._lies(join.step, -sum(items[part].bytes for part in join.parts), chosen)
        self.saved[join.step].append((join.saved, chosen))
        return chosen

    def _overlaid(self) -> None:
        """Ensures that items in place of one another take the bytes of the larger side."""
        for overlay in self.problem.overlays:
            for taken, lie in ((self.operands, self.through), (self.endings, self.held)):
                sides = list(self._sides(overlay, taken[overlay.step]))
                if len(sides) < 2:
                    continue
                both = self.solver.NumVar(0, self.infinity, "")
                for side in sides:
                    self.solver.Add(both >= side)
                lie[overlay.step].append((1, both))

    def _sides(self, overlay: Overlay, operands: dict[int, Any]) -> Iterator[Any]:
        if overlay.over not in operands or not any(i in operands for i in overlay.under):
            return
        yield operands.pop(overlay.over)
        yield sum(operands.pop(item) for item in overlay.under if item in operands)

    def _duration(self, step: int) -> Any:
        """Ensures that an interval is long enough for its transfers, and for what is waited for and then
        computed."""
        duration = self.solver.NumVar(0, self.infinity, "")
        waited = self._time(self.waited[step])
        more = sum(float(option.cycles / self.unit) * chosen for option, chosen in self.options.get(step, ()))
        less = sum(float(cycles / self.unit) * chosen for cycles, chosen in self.saved.get(step, ()))
        waited += self._interrupted(step)
        self.solver.Add(duration >= waited + self.problem.steps[step].cycles / self.unit + more - less)
        self.solver.Add(duration >= self._time(self.moved[step]))
        return duration

    def _interrupted(self, step: int) -> Any:
        """Ensures that what the step's option leaves no memory to move while it computes is waited for."""
        options = self.options.get(step, ())
        told = [(option.meanwhile, chosen) for option, chosen in options if option.meanwhile is not None]
        if not told or not self.problem.each:
            return 0
        capacity = self.problem.capacity
        waits = self.solver.NumVar(0, self.infinity, "")
        every = sum(size for size, _ in self.meanwhile[step]) / capacity
        free = sum((most / capacity - every) * chosen for most, chosen in told)
        moves = sum(size / capacity * share for size, share in self.meanwhile[step])
        self.solver.Add(moves <= waits + every + free)
        return float(self.problem.each * capacity / self.unit) * waits

    def _after(self) -> Any:
        duration = self.solver.NumVar(0, self.infinity, "")
        self.solver.Add(duration >= self._time(self.moved[-1]))
        return duration

    def _idle(self) -> None:
        """Ensures that what moves at some time up to an interval finds the engine idle by then."""
        last = max((step for step, moves in enumerate(self.sometime) if moves), default=-1)
        idle: Any = 0
        for step, moves in enumerate(self.sometime[: last + 1]):
            left = self.solver.NumVar(0, self.infinity, "")
            own = self.durations[step] - self._time(self.moved[step]) - self._time(moves)
            self.solver.Add(left == idle + self.problem.steps[step].times * own)
            idle = left

    def _time(self, moves: list[tuple[Fraction, Any]]) -> Any:
        return sum(float(cycles / self.unit) * share for cycles, share in moves)

    def _room(self, step: int) -> None:
        """Ensures that operands, what is kept for later and what is loaded already fit SharedMemory: at the
        end, and where the operands take most, which only matters where that is before the end."""
        self._fits(self.held[step], self.endings[step])
        if step in self.shrinks:
            self._fits(self.through[step], self.operands[step])

    def _fits(self, lie: list[tuple[int, Any]], operands: dict[int, Any]) -> None:
        capacity = self.problem.capacity
        summed: defaultdict[int, float] = defaultdict(float)
        variables: dict[int, Any] = {}
        for size, share in lie:
            variables[share.index()] = share
            summed[share.index()] += size / capacity
        total = sum(summed[i] * variables[i] for i in summed)
        self.solver.Add(total + sum(operands.values()) * (1 / capacity) <= 1)

    # -- answer --------------------------------------------------------------------------------

    def solved(self, nodes: int) -> ResidencyFound:
        if not self.relaxed:
            self.solver.SetSolverSpecificParametersAsString(f"limits/nodes = {nodes}\n{SETTINGS}")
        status = self.solver.Solve()
        objective = self.solver.Objective()
        if status not in (self.solver.OPTIMAL, self.solver.FEASIBLE):
            bound = 0.0 if self.relaxed or status == self.solver.INFEASIBLE else objective.BestBound()
            return ResidencyFound(max(0.0, bound) * float(self.unit), None)
        bound = objective.Value() if self.relaxed else objective.BestBound()
        return ResidencyFound(
            bound * float(self.unit) * (1 - TOLERANCE),
            objective.Value() * float(self.unit),
            tuple(_yes(v) for v in self.joined),
            tuple(tuple(_yes(v) for v in values) for values in self.there),
            tuple(tuple(_yes(v) for v in values) for values in self.kept),
            tuple(0.0 if isinstance(v, int) else v.solution_value() for v in self.staying),
            tuple(d.solution_value() * float(self.unit) for d in self.durations),
            0 if self.relaxed else self.solver.nodes(),
        )


def _solver(name: str) -> Any:
    pywraplp: Any = import_module("ortools.linear_solver.pywraplp")  # which has no types
    return pywraplp.Solver.CreateSolver(name)


def _passing(item: Item) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Bytes that pass where they are most, and at the end."""
    return item.passing, item.ending or item.passing


def _yes(variable: Any) -> bool:
    return not isinstance(variable, int) and variable.solution_value() > 0.5


def _unit(problem: ResidencyProblem) -> Fraction:
    compute = sum(step.cycles * step.times for step in problem.steps)
    moved = sum((max(item.loads) + item.store for item in problem.items), Fraction(0))
    return max(Fraction(1, 1000), Fraction(compute + moved) / UNITS)
