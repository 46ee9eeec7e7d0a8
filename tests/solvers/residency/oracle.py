"""All residencies of small problems, each with its least time by linear programming; and random ones.

Written from what ``solvers.residency.problem`` says, one linear program for each answer to all questions of
yes and no: who lies there, who is kept, which option, which joins.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from importlib import import_module
from itertools import product
from random import Random
from typing import Any

from solvers.residency.problem import (
    InPlaceItems,
    Joined,
    PassingOption,
    ResidencyItem,
    ResidencyProblem,
    ResidencyStep,
)

Line = tuple[tuple[bool, ...], tuple[bool, ...]]
"""Of one item: whether it lies there at each touch, and whether it was kept since the one before."""


def best_of_all(problem: ResidencyProblem) -> float | None:
    """The fewest cycles of any residency; None where none fits."""
    found = (_Linear(problem, *choice).least() for choice in _choices(problem))
    return min((cycles for cycles in found if cycles is not None), default=None)


def _choices(
    problem: ResidencyProblem,
) -> Iterator[tuple[tuple[Line, ...], dict[int, PassingOption], tuple[bool, ...]]]:
    lines = product(*(list(_lines(item)) for item in problem.items))
    steps = sorted({option.step for option in problem.options})
    for line in lines:
        for options in product(*(_options(problem, line, step) for step in steps)):
            for joined in product((False, True), repeat=len(problem.joins)):
                if all(_whole(line, join) for join, made in zip(problem.joins, joined, strict=True) if made):
                    chosen = {o.step: o for o in options if o is not None}
                    yield line, chosen, joined


def _whole(line: tuple[Line, ...], join: Joined) -> bool:
    """Whether parts stay until their whole is there."""
    parts = all(all(line[p][0]) and all(line[p][1][1:]) for p in join.parts)
    return parts and line[join.whole][0][0]


def _lines(item: ResidencyItem) -> Iterator[Line]:
    """Of shares (items that are not whole) the linear program decides; of one in a loop, kept says whether
    all of it stays for all iterations."""
    count = len(item.touches)
    if not item.whole:
        yield (True,) * count, (False,) * count
        if item.loop:
            yield (True,) * count, (True,) * count
        return
    for there in product((False, True), repeat=count):
        if item.pinned is not None and any(t != item.pinned for t in there):
            continue
        if not item.moves and len(set(there)) > 1:
            continue
        for rest in product((False, True), repeat=count - 1):
            kept = (False, *rest)
            both = all(not k or (there[j] and there[j - 1]) for j, k in enumerate(kept))
            if both and (item.moves or all(k == there[0] for k in rest)):
                yield there, kept


def _options(problem: ResidencyProblem, line: tuple[Line, ...], step: int) -> list[PassingOption | None]:
    """The options whose items pass, and no others; none where all lie there and none says so."""
    own = [o for o in problem.options if o.step == step]
    passing = {
        index
        for index, item in enumerate(problem.items)
        if item.whole and step in item.touches and not line[index][0][item.touches.index(step)]
    }
    fitting: list[PassingOption | None] = [o for o in own if set(o.passing) == passing]
    if not passing and all(o.passing for o in own):
        fitting.append(None)
    return fitting


@dataclass
class _Linear:
    """The rest, as amounts: shares of items that move in each interval."""

    problem: ResidencyProblem
    line: tuple[Line, ...]
    options: dict[int, PassingOption]
    joined: tuple[bool, ...]
    solver: Any = field(init=False)

    def least(self) -> float | None:
        pywraplp: Any = import_module("ortools.linear_solver.pywraplp")
        self.solver = pywraplp.Solver.CreateSolver("GLOP")
        count = len(self.problem.steps)
        self.busy: list[Any] = [0.0] * (count + 1)
        self.first: list[Any] = [0.0] * (count + 1)
        """What has to end before the step computes."""
        self.memory: list[Any] = [0.0] * count
        """At the end of each step, without its own items."""
        self.own: list[dict[int, Any]] = [{} for _ in range(count)]
        for index, item in enumerate(self.problem.items):
            self._item(index, item)
        self._steps()
        return self._solve()

    def _item(self, index: int, item: ResidencyItem) -> None:
        there, kept = self.line[index]
        shares: list[Any] = [1.0 * t for t in there]
        stayed: list[Any] = [1.0 * k for k in kept]
        if not item.whole:
            shares = [self._amount() for _ in there]
            stayed = [0.0, *(self._at_most(share) for share in shares[:-1])]
        if item.made and (item.ends or len(there) > 1):
            self._rest(index, item, self._stores(item, there, stayed), stayed)
        if item.loop:
            self._looped(index, item, kept[0])
            return
        for touch, step in enumerate(item.touches):
            free = item.whole and any(o.step == step for o in self.problem.options)
            least = 0 if free else min(item.bytes, item.passing[touch])
            self.own[step][index] = least + (item.bytes - least) * shares[touch]
            for between in range(item.touches[touch - 1] + 1 if touch else step, step):
                self.memory[between] += item.bytes * stayed[touch]
            if (touch or not item.made) and item.loads[touch]:
                self._loads(item, touch, there, stayed[touch])

    def _looped(self, index: int, item: ResidencyItem, entire: bool) -> None:
        """A share of an item with one touch stays throughout the loop, in addition to what is streamed."""
        assert item.loop
        (step,), (passing,) = item.touches, item.passing
        stays = 1.0 if entire else self._amount()
        if not entire:
            self.solver.Add(item.bytes * stays + passing <= item.bytes)
        self.own[step][index] = item.bytes * stays + (0 if entire else passing)
        for position in range(*item.loop):
            if position != step:
                self.memory[position] += item.bytes * stays
        self._loads(item, 0, (True,), stays)

    def _loads(self, item: ResidencyItem, touch: int, lies: tuple[bool, ...], stayed: Any) -> None:
        """From the step of the touch before on, or behind it where that made the item whole."""
        step = item.touches[touch]
        made_whole = item.made and touch == 1 and lies[0]
        first = item.touches[touch - 1] + made_whole if touch else item.since
        there: Any = 0.0
        for interval in range(first, step):
            there += self._move(interval, item.loads[touch])
            self.memory[interval] += item.reads[touch] * there
        there += self._move(step, item.loads[touch], waits=True)
        if not (lies[touch] and item.whole):
            there += self._move(step, item.loads[touch])
        self.solver.Add(there + stayed >= 1)

    def _stores(
        self, item: ResidencyItem, there: tuple[bool, ...], stayed: list[Any]
    ) -> list[tuple[int, Any]]:
        made = item.touches[0]
        stop = len(self.problem.steps) + 1 if item.ends else item.touches[-1]
        stored = [(t, self._move(t, item.store)) for t in range(made + there[0], stop)]
        for touch in range(1, len(there)):
            back = item.touches[touch]
            now = [(back, self._move(back, item.store, waits=True))]
            if not (there[0] or there[touch]):  # the last stripes go while the first come back
                now.append((back, self._move(back, item.store)))
            before = [(t, amount) for t, amount in stored if t < back]
            self.solver.Add(sum(amount for _, amount in before + now) + stayed[touch] >= 1)
            stored += now
        if item.ends:
            self.solver.Add(sum(amount for _, amount in stored) >= 1)
        return stored

    def _rest(
        self, index: int, item: ResidencyItem, stored: list[tuple[int, Any]], stayed: list[Any]
    ) -> None:
        """Until the second touch, for three intervals at most, what is neither there nor stored."""
        made = item.touches[0]
        stop = min(made + 3, item.touches[1] if len(item.touches) > 1 else len(self.problem.steps))
        for interval in range(made, stop):
            counted = item.bytes * (stayed[1] if len(stayed) > 1 else 0.0)
            if interval == made:
                counted = item.bytes if self.line[index][0][0] else item.passing[0]
            over = interval == made and any(o.over == index for o in self.problem.overlays)
            if not over:
                rest = self.solver.NumVar(0, item.bytes, "")
                gone = item.bytes * sum(amount for at, amount in stored if at <= interval)
                self.solver.Add(rest >= item.bytes - gone - counted)
                self.memory[interval] += rest

    def _steps(self) -> None:
        problem = self.problem
        more = [step.cycles for step in problem.steps]
        for step, option in self.options.items():
            self.memory[step] += option.bytes
            self.busy[step] += option.moved
            more[step] += option.cycles
        for join, made in zip(problem.joins, self.joined, strict=True):
            if made:
                self._join(join, more)
        self.lasts = [self.solver.NumVar(0, self.solver.infinity(), "") for _ in self.busy]
        for step, lasts in enumerate(self.lasts):
            self.solver.Add(lasts >= self.busy[step])
            if step < len(more):
                self.solver.Add(lasts >= self.first[step] + more[step])
                self._room(step)

    def _join(self, join: Joined, more: list[int]) -> None:
        """The bytes of the whole from the first part on: what no part takes yet, none twice at the end."""
        items = self.problem.items
        more[join.step] -= join.saved
        for step in range(min(items[p].touches[0] for p in join.parts), join.step):
            made = sum(items[p].bytes for p in join.parts if items[p].touches[0] <= step)
            self.memory[step] += items[join.whole].bytes - made
        self.memory[join.step] -= sum(items[p].bytes for p in join.parts)

    def _room(self, step: int) -> None:
        own = self.own[step]
        sides: list[tuple[Any, Any]] = []
        for overlay in self.problem.overlays:
            under = [i for i in overlay.under if i in own]
            if overlay.step == step and overlay.over in own and under:
                sides.append((own.pop(overlay.over), sum(own.pop(i) for i in under)))
        alone = self.memory[step] + sum(own.values())
        for picked in product(*sides):
            self._below(alone + sum(picked))

    def _below(self, taken: Any) -> None:
        room = self.solver.NumVar(0, self.solver.infinity(), "")
        self.solver.Add(taken + room == self.problem.capacity)

    def _move(self, interval: int, cycles: Fraction, waits: bool = False) -> Any:
        amount = self._amount()
        self.busy[interval] += float(cycles) * amount
        if waits:
            self.first[interval] += float(cycles) * amount
        return amount

    def _amount(self) -> Any:
        return self.solver.NumVar(0, 1, "")

    def _at_most(self, most: Any) -> Any:
        """What need not be more than all of it."""
        amount = self._amount()
        self.solver.Add(amount <= most)
        return amount

    def _solve(self) -> float | None:
        times = [*(step.times for step in self.problem.steps), 1]
        self.solver.Minimize(sum(t * lasts for t, lasts in zip(times, self.lasts, strict=True)))
        if self.solver.Solve() != self.solver.OPTIMAL:
            return None
        return float(self.solver.Objective().Value())


def random_problem(seed: int) -> ResidencyProblem:
    """Up to four steps and four items, memories from too small for one to roomy."""
    random = Random(seed)
    count = random.randint(1, 4)
    steps = tuple(
        ResidencyStep(random.choice((0, 5, 20, 60)), random.choice((1, 1, 1, 2))) for _ in range(count)
    )
    items: list[ResidencyItem] = []
    left = 5
    for number in range(random.randint(1, 4)):
        item = _item(random, f"i{number}", count, min(left, 3))
        items.append(item)
        left -= len(item.touches) * item.whole
        if not left:
            break
    overlays = tuple(_overlays(random, items))
    options = () if random.random() < 0.5 else tuple(_some_options(random, items, count))
    joins = () if random.random() < 0.7 or overlays else tuple(_joins(random, items))
    return ResidencyProblem(steps, tuple(items), random.randint(20, 160), overlays, options, joins)


def _item(random: Random, name: str, count: int, most: int) -> ResidencyItem:
    touches = tuple(sorted(random.sample(range(count), random.randint(1, min(count, most)))))
    size, whole, made = random.randint(1, 80), random.random() < 0.75, random.random() < 0.5
    pace = Fraction(random.randint(0, 8), 4)
    passing = tuple(random.randint(1, size) for _ in touches)
    reads = tuple(size if random.random() < 0.8 else random.randint(1, size) for _ in touches)
    loop = None
    if not whole and len(touches) == 1 and random.random() < 0.6:
        loop = (random.randint(0, touches[0]), random.randint(touches[0] + 1, count))
    return ResidencyItem(
        name,
        size,
        touches,
        tuple(3 + pace * r for r in reads),
        reads,
        passing,
        made and whole,
        5 + pace * size,
        ends=made and random.random() < 0.4,
        whole=whole,
        moves=random.random() < 0.8 or not whole,
        pinned=random.choice((None, None, None, True, False)) if whole else None,
        since=random.choice((0, 0, random.randint(0, touches[0]))),
        loop=loop,
    )


def _overlays(random: Random, items: list[ResidencyItem]) -> Iterator[InPlaceItems]:
    for index, item in enumerate(items):
        others = [o for o, other in enumerate(items) if o != index and item.touches[0] in other.touches]
        if item.whole and others and random.random() < 0.4:
            yield InPlaceItems(item.touches[0], (random.choice(others),), index)
            return


def _some_options(random: Random, items: list[ResidencyItem], count: int) -> Iterator[PassingOption]:
    for step in range(count):
        here = [i for i, item in enumerate(items) if item.whole and step in item.touches]
        for _ in range(random.choice((0, 1, 2)) if here else 0):
            passing = tuple(random.sample(here, random.randint(0, len(here))))
            size = random.randint(0, 40)
            more, moved = random.choice((0, 3, 20)), random.choice((0, 9))
            yield PassingOption(step, passing, size, more, moved)


def _joins(random: Random, items: list[ResidencyItem]) -> Iterator[Joined]:
    for whole, item in enumerate(items):
        step = item.touches[0]
        parts = tuple(
            index
            for index, part in enumerate(items)
            if index != whole and part.whole and part.made and part.touches[-1] == step > part.touches[0]
        )
        if item.whole and item.made and parts and sum(items[p].bytes for p in parts) <= item.bytes:
            yield Joined(step, parts, whole, random.choice((0, 4)))
            return
