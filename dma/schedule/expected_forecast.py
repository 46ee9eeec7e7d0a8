"""The expected cycles of a schedule over all paths, where nothing contends.

The machine is that of ``dma.schedule.forecast``: one transfer after another, and an NPU, DMA and Psram that
nobody else uses. What the rest of a path takes depends on what is in flight only, so paths that meet in one
such state are one from there on. A run of a loop that changes nothing more is counted, not walked.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from chipmodel.model.nesting import Fork, Section, waits_after
from chipmodel.model.schedule import Direction

MOST_STATES = 24
"""Further states, the least probable ones, are taken for the most probable one."""
MOST_ITERATIONS = 24
"""Further iterations are taken to be like the last one walked."""


class Load(NamedTuple):
    """A transfer of ``cycles`` core cycles: a load that each of ``issues`` issues, or a store of the one."""

    direction: Direction
    issues: tuple[int, ...]
    due: int
    cycles: int


@dataclass(frozen=True, slots=True)
class Odds:
    """Of each ``if``, by name, the probabilities of its arms in order; of each loop, numbers of iterations
    with theirs, ascending. Those of one name add up to 1."""

    arms: Mapping[str, tuple[float, ...]]
    iterations: Mapping[str, tuple[tuple[int, float], ...]]

    def mean_iterations(self, loop: str) -> float:
        """Iterations of one run of ``loop``, on average."""
        return sum(iterations * chance for iterations, chance in self.iterations[loop])


State = tuple[int, tuple[tuple[int, int], ...]]
"""Cycles until the DMA engine is idle; which transfers are in flight, and the cycles until each ends."""
Ways = dict[State, tuple[float, float]]
"""By state, its probability, and the sum over its paths of cycles times probability."""
IDLE: State = (0, ())


class Expectation:
    """Forecasts for one tree of steps; ``work`` counts the steps that were walked for them."""

    def __init__(self, root: Section, computes: Sequence[int], odds: Odds) -> None:
        self.root = root
        self.computes = computes
        self.odds = odds
        self.work = 0

    def cycles(self, loads: Iterable[Load]) -> float:
        """Core cycles of one run on average; ``loads`` in the order of ``Schedule.transfers``."""
        run = _Run(self, tuple(loads))
        ends = run.section(self.root, {IDLE: (1.0, 0.0)})
        self.work += run.work
        return sum(cycles + state[0] * chance for state, (chance, cycles) in ends.items())


class _Run:
    """``here[p]``: at position ``p`` the loads to wait for that were issued before, those issued at once,
    those issued for later, the stores issued, the stores to wait for. ``behind``: by fork, awaited."""

    def __init__(self, of: Expectation, loads: tuple[Load, ...]) -> None:
        self.of = of
        self.loads = loads
        self.work = 0
        self.known: dict[tuple[int, State], tuple[State, int]] = {}
        self.here: dict[int, tuple[list[int], ...]] = defaultdict(lambda: ([], [], [], [], []))
        self.behind: dict[str, list[int]] = defaultdict(list)
        for index, load in enumerate(loads):
            self.place(index, load)

    def place(self, index: int, load: Load) -> None:
        if load.direction == "store":
            self.here[load.issues[0]][3].append(index)
            self.here[load.due][4].append(index)
            return
        if load.due not in load.issues:
            self.here[load.due][0].append(index)
        for issue in load.issues:
            self.here[issue][1 if issue == load.due else 2].append(index)
        for fork in {waits_after(self.of.root, issue, load.due) for issue in load.issues} - {None}:
            self.behind[fork or ""].append(index)

    def section(self, section: Section, ways: Ways) -> Ways:
        at = section.extent.start
        for fork in section.forks:
            ways = self.straight(at, fork.extent.start, ways)
            ways = self.loop(fork, ways) if fork.repeats else self.branch(fork, ways)
            ways = self.settled(self.behind[fork.name], ways)
            at = fork.extent.stop
        return self.straight(at, section.extent.stop, ways)

    def straight(self, start: int, stop: int, ways: Ways) -> Ways:
        if start == stop:
            return ways
        result: Ways = {}
        for state, (chance, cycles) in ways.items():
            if (start, state) not in self.known:
                self.known[start, state] = self.steps(start, stop, state)
            after, passed = self.known[start, state]
            _add(result, after, chance, cycles + passed * chance)
        return result

    def steps(self, start: int, stop: int, state: State) -> tuple[State, int]:
        self.work += stop - start
        clock, busy, ends = 0, state[0], dict(state[1])

        def begin(indices: list[int]) -> None:
            nonlocal busy
            for index in indices:
                busy = ends[index] = max(busy, clock) + self.loads[index].cycles

        def wait(indices: list[int]) -> None:
            nonlocal clock
            for index in indices:
                clock = max(clock, ends.pop(index, 0))

        for position in range(start, stop):
            if position not in self.here:
                clock += self.of.computes[position]
                continue
            before, once, later, stores, stored = self.here[position]
            wait(before)
            begin(once)
            wait(once)
            begin(later)
            clock += self.of.computes[position]
            begin(stores)
            wait(stored)
        return _state(busy, ends, clock), clock

    def settled(self, indices: list[int], ways: Ways) -> Ways:
        """Behind a branch or loop, all waits for ``indices``."""
        if not indices:
            return ways
        result: Ways = {}
        for (busy, in_flight), (chance, cycles) in ways.items():
            ends = dict(in_flight)
            clock = max((ends.pop(index, 0) for index in indices), default=0)
            _add(result, _state(busy, ends, clock), chance, cycles + clock * chance)
        return result

    def branch(self, fork: Fork, ways: Ways) -> Ways:
        result: Ways = {}
        for arm, share in zip(fork.arms, self.of.odds.arms[fork.name], strict=True):
            if share:
                for state, (chance, cycles) in self.section(arm, _scaled(ways, share)).items():
                    _add(result, state, chance, cycles)
        return _fewer(result)

    def loop(self, fork: Fork, ways: Ways) -> Ways:
        result: Ways = {}
        made = 0
        for iterations, chance in self.of.odds.iterations[fork.name]:
            ways = self.iterations(fork, ways, iterations - made)
            made = iterations
            for state, (share, cycles) in _scaled(ways, chance).items():
                _add(result, state, share, cycles)
        return _fewer(result)

    def iterations(self, fork: Fork, ways: Ways, number: int) -> Ways:
        for made in range(number):
            after = self.section(fork.arms[0], ways)
            if made + 1 >= MOST_ITERATIONS or _alike(after, ways):
                left = number - made - 1
                each = sum(c for _, c in after.values()) - sum(c for _, c in ways.values())
                whole = sum(chance for chance, _ in after.values())
                return {s: (p, c + left * each * p / whole) for s, (p, c) in after.items()}
            ways = after
        return ways


def _state(busy: int, ends: Mapping[int, int], clock: int) -> State:
    left = tuple(sorted((index, end - clock) for index, end in ends.items() if end > clock))
    return max(0, busy - clock), left


def _add(ways: Ways, state: State, chance: float, cycles: float) -> None:
    known = ways.get(state, (0.0, 0.0))
    ways[state] = known[0] + chance, known[1] + cycles


def _scaled(ways: Ways, share: float) -> Ways:
    return {state: (chance * share, cycles * share) for state, (chance, cycles) in ways.items()}


def _alike(a: Ways, b: Ways) -> bool:
    """Whether the states are equally probable in both."""
    return a.keys() == b.keys() and all(abs(a[state][0] - b[state][0]) < 1e-12 for state in a)


def _fewer(ways: Ways) -> Ways:
    """At most ``MOST_STATES`` states."""
    if len(ways) <= MOST_STATES:
        return ways
    ordered = sorted(ways, key=lambda state: (-ways[state][0], state))
    result = {state: ways[state] for state in ordered[:MOST_STATES]}
    for state in ordered[MOST_STATES:]:
        _add(result, ordered[0], *ways[state])
    return result
