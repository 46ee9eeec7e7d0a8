"""The expected cycles of a schedule over all paths, without contention.

The machine is that of ``dma.schedule.forecast``: one transfer after another, and an NPU, DMA engine and Psram
without other users. How long the rest of a path takes depends only on the transfers in flight, so paths that
reach an equal state are merged. Iterations of a loop that no longer change the states are counted, not
walked.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from chipmodel.hardware.chip import Chip
from chipmodel.model.nesting import Fork, Section, waits_after
from chipmodel.model.program import Program
from chipmodel.model.schedule import Direction, Schedule, steps
from chipmodel.passes.liveness import scopes
from dma.schedule.forecast import TransferTimes
from dma.schedule.probabilities import BranchProbabilities, branch_probabilities, path_probabilities
from dma.schedule.streamer import IssuedTransfer, queue_order

MAX_STATES = 24
"""States kept after a branch or loop; the least probable others are merged into the most probable."""
MAX_WALKED_ITERATIONS = 24
"""Iterations of a loop that are walked; further ones are taken to be like the last of them."""


class PathTransfer(NamedTuple):
    """A transfer of ``cycles`` core cycles, issued at one position and waited for at another one."""

    direction: Direction
    issue: int
    due: int
    cycles: int


EngineState = tuple[int, tuple[tuple[int, int], ...]]
"""Cycles until the DMA engine is idle; which transfers are in flight, and the cycles until each ends."""
StateDistribution = dict[EngineState, tuple[float, float]]
"""For each state its probability, and the sum over its paths of cycles times probability."""
IDLE: EngineState = (0, ())


class PathForecast:
    """Forecasts for one tree of steps."""

    def __init__(self, root: Section, computes: Sequence[int], probabilities: BranchProbabilities) -> None:
        self.root = root
        self.computes = computes
        self.probabilities = probabilities

    def cycles(self, transfers: Iterable[PathTransfer]) -> float:
        """Average core cycles of one run; ``transfers`` in the order of ``Schedule.transfers``."""
        run = _PathWalk(self, tuple(transfers))
        ends = run.section(self.root, {IDLE: (1.0, 0.0)})
        return sum(cycles + state[0] * chance for state, (chance, cycles) in ends.items())


class _PathWalk:
    """A walk over all paths of the tree.

    ``here[p]`` lists for position ``p`` the loads issued earlier that are waited for, the loads issued and
    waited for there, the loads issued for later steps, the stores issued, and the stores waited for.
    ``after_fork`` lists by branch or loop the loads that are waited for after it.
    """

    def __init__(self, of: PathForecast, transfers: tuple[PathTransfer, ...]) -> None:
        self.of = of
        self.transfers = transfers
        self.walked: dict[tuple[int, EngineState], tuple[EngineState, int]] = {}
        self.here: dict[int, tuple[list[int], ...]] = defaultdict(lambda: ([], [], [], [], []))
        self.after_fork: dict[str, list[int]] = defaultdict(list)
        for index, transfer in enumerate(transfers):
            self.place(index, transfer)

    def place(self, index: int, transfer: PathTransfer) -> None:
        issued, due = self.here[transfer.issue], self.here[transfer.due]
        if transfer.direction == "store":
            issued[3].append(index)
            due[4].append(index)
        elif transfer.issue == transfer.due:
            issued[1].append(index)
        else:
            issued[2].append(index)
            due[0].append(index)
            if fork := waits_after(self.of.root, transfer.issue, transfer.due):
                self.after_fork[fork].append(index)

    def section(self, section: Section, states: StateDistribution) -> StateDistribution:
        at = section.extent.start
        for fork in section.forks:
            states = self.straight(at, fork.extent.start, states)
            states = self.loop(fork, states) if fork.repeats else self.branch(fork, states)
            states = self.settled(self.after_fork[fork.name], states)
            at = fork.extent.stop
        return self.straight(at, section.extent.stop, states)

    def straight(self, start: int, stop: int, states: StateDistribution) -> StateDistribution:
        if start == stop:
            return states
        result: StateDistribution = {}
        for state, (chance, cycles) in states.items():
            if (start, state) not in self.walked:
                self.walked[start, state] = self.steps(start, stop, state)
            after, passed = self.walked[start, state]
            _add(result, after, chance, cycles + passed * chance)
        return result

    def steps(self, start: int, stop: int, state: EngineState) -> tuple[EngineState, int]:
        clock, busy, ends = 0, state[0], dict(state[1])

        def begin(indices: list[int]) -> None:
            nonlocal busy
            for index in indices:
                busy = ends[index] = max(busy, clock) + self.transfers[index].cycles

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

    def settled(self, indices: list[int], states: StateDistribution) -> StateDistribution:
        """The states after waiting for the transfers ``indices``, which follows a branch or loop."""
        if not indices:
            return states
        result: StateDistribution = {}
        for (busy, in_flight), (chance, cycles) in states.items():
            ends = dict(in_flight)
            clock = max((ends.pop(index, 0) for index in indices), default=0)
            _add(result, _state(busy, ends, clock), chance, cycles + clock * chance)
        return result

    def branch(self, fork: Fork, states: StateDistribution) -> StateDistribution:
        result: StateDistribution = {}
        for arm, share in zip(fork.arms, self.of.probabilities.arms[fork.name], strict=True):
            if share:
                for state, (chance, cycles) in self.section(arm, _scaled(states, share)).items():
                    _add(result, state, chance, cycles)
        return _merged(result)

    def loop(self, fork: Fork, states: StateDistribution) -> StateDistribution:
        result: StateDistribution = {}
        made = 0
        for iterations, chance in self.of.probabilities.iterations[fork.name]:
            states = self.iterations(fork, states, iterations - made)
            made = iterations
            for state, (share, cycles) in _scaled(states, chance).items():
                _add(result, state, share, cycles)
        return _merged(result)

    def iterations(self, fork: Fork, states: StateDistribution, number: int) -> StateDistribution:
        for made in range(number):
            after = self.section(fork.arms[0], states)
            if made + 1 >= MAX_WALKED_ITERATIONS or _equal(after, states):
                left = number - made - 1
                each = sum(c for _, c in after.values()) - sum(c for _, c in states.values())
                whole = sum(chance for chance, _ in after.values())
                return {s: (p, c + left * each * p / whole) for s, (p, c) in after.items()}
            states = after
        return states


def _state(busy: int, ends: Mapping[int, int], clock: int) -> EngineState:
    left = tuple(sorted((index, end - clock) for index, end in ends.items() if end > clock))
    return max(0, busy - clock), left


def _add(states: StateDistribution, state: EngineState, chance: float, cycles: float) -> None:
    known = states.get(state, (0.0, 0.0))
    states[state] = known[0] + chance, known[1] + cycles


def _scaled(states: StateDistribution, share: float) -> StateDistribution:
    return {state: (chance * share, cycles * share) for state, (chance, cycles) in states.items()}


def _equal(a: StateDistribution, b: StateDistribution) -> bool:
    """Whether both have the same states with the same probabilities."""
    return a.keys() == b.keys() and all(abs(a[state][0] - b[state][0]) < 1e-12 for state in a)


def _merged(states: StateDistribution) -> StateDistribution:
    """The distribution over at most ``MAX_STATES`` states."""
    if len(states) <= MAX_STATES:
        return states
    ordered = sorted(states, key=lambda state: (-states[state][0], state))
    result = {state: states[state] for state in ordered[:MAX_STATES]}
    for state in ordered[MAX_STATES:]:
        _add(result, ordered[0], *states[state])
    return result


class ScheduleForecast:
    """Forecasts for all schedules of one program on one chip: over all paths, or of one ``path``."""

    def __init__(self, program: Program, chip: Chip, path: Mapping[str, str] | None = None) -> None:
        one = None if path is None else path_probabilities(program, path)
        self.probabilities = one or branch_probabilities(program)
        self.cycles_of = TransferTimes(chip)

    def cycles(self, schedule: Schedule) -> float:
        """The expected core cycles of a run: for one path without contention what the simulator measures."""
        computes = [step.cycles for step in steps(schedule.body)]
        forecast = PathForecast(scopes(schedule.body).section, computes, self.probabilities)
        moves = (
            PathTransfer("load", m.issue, m.due, self.cycles_of(m.traffic, m.bytes)) for m in schedule.moves
        )
        transfers = (
            PathTransfer(t.direction, t.issue, t.due, self.cycles_of.of(t)) for t in schedule.transfers
        )
        return forecast.cycles((*moves, *transfers))


def path_transfers(issued: Iterable[IssuedTransfer], cycles_of: TransferTimes) -> Iterator[PathTransfer]:
    """Yield the transfers in the order of ``Schedule.transfers``, with their cycles."""
    for transfer in sorted(issued, key=queue_order):
        need = transfer.need
        yield PathTransfer(need.direction, transfer.issue, transfer.due, cycles_of.of(need))
