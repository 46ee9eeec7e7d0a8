"""The best, the worst and the expected cycles over all paths: dynamic programming over the tree of commands.

After two paths that leave the simulator in the same state (``EventSimulator.key``), the same commands take
the same cycles. So at each point of the tree it is enough to know, for each possible state, the least and
the most cycles to it, its probability, and the mean of the cycles; and each part of the tree is simulated
once from each state. Where regions start with an idle DMA engine every point has one state, and the work is
to simulate every arm once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from chipmodel.hardware.chip import Chip
from chipmodel.machine.simulate import EventSimulator
from chipmodel.paths.decisions import Decision, Decisions, concatenate, repeat
from chipmodel.paths.tree import CommandBlock, CommandSegment, PathNode, WeightedBranch, WeightedLoop

StateKey = tuple[object, ...]
"""See ``EventSimulator.key``."""
PartKey = tuple[str, str | None]
"""An ``if`` and its arm, or a ``loop`` and None."""
ONE, ZERO = Fraction(1), Fraction(0)
FORK_PASSES = 10
"""Passes of the simulator (``EventSimulator.passes``) that take as long as a fork and its key (measured)."""


class AnalysisTooCostly(Exception):
    """The exact analysis needs more work than its budget allows."""


@dataclass(slots=True)
class AnalysisBudget:
    """The work that may still be done: passes of the simulator (``EventSimulator.passes``), with commands and
    ``FORK_PASSES`` for each segment; and paths from state to state to join."""

    passes: int
    joins: int

    def use_passes(self, passes: int) -> None:
        """Raises AnalysisTooCostly where the budget does not allow them."""
        self.passes -= passes
        if self.passes < 0:
            raise AnalysisTooCostly

    def use_joins(self, joins: int) -> None:
        """Raises AnalysisTooCostly where the budget does not allow them."""
        self.joins -= joins
        if self.joins < 0:
            raise AnalysisTooCostly


@dataclass(slots=True)
class PathsToState:
    """All paths through a part of the tree that end in one state."""

    state: EventSimulator
    probability: Fraction
    cycles: Fraction
    """The sum over the paths of their cycles times their probability."""
    least: int
    most: int
    quickest: Decisions = None
    slowest: Decisions = None

    def followed_by(self, later: PathsToState) -> PathsToState:
        """These paths, each followed by one of ``later``, which begin in this state."""
        return PathsToState(
            later.state,
            self.probability * later.probability,
            self.cycles * later.probability + self.probability * later.cycles,
            self.least + later.least,
            self.most + later.most,
            concatenate(self.quickest, later.quickest),
            concatenate(self.slowest, later.slowest),
        )

    def repeated(self, times: int) -> PathsToState:
        """These paths ``times`` times, where they lead from their state back to it with certainty."""
        return PathsToState(
            self.state,
            ONE,
            self.cycles * times,
            self.least * times,
            self.most * times,
            repeat(self.quickest, times),
            repeat(self.slowest, times),
        )

    def join(self, other: PathsToState) -> None:
        """Add further paths to the same state."""
        self.probability += other.probability
        self.cycles += other.cycles
        if other.least < self.least:
            self.least, self.quickest = other.least, other.quickest
        if other.most > self.most:
            self.most, self.slowest = other.most, other.slowest


@dataclass(slots=True)
class PartTotals:
    """What is known of one arm or loop body: mean number of its executions, mean of their total cycles, and
    the least and the most cycles of one execution."""

    runs: Fraction
    cycles: Fraction
    least: int
    most: int

    def join(self, other: PartTotals, weight: Fraction) -> None:
        """Add further executions, which occur ``weight`` times on average."""
        self.runs += weight * other.runs
        self.cycles += weight * other.cycles
        self.least = min(self.least, other.least)
        self.most = max(self.most, other.most)


@dataclass(slots=True)
class PathSet:
    """All paths through a part of the tree from one state, by the state in which they end; the probabilities
    of these add up to 1. ``parts`` has the totals of the arms and loop bodies inside."""

    ends: dict[StateKey, PathsToState] = field(default_factory=dict[StateKey, PathsToState])
    parts: dict[PartKey, PartTotals] = field(default_factory=dict[PartKey, PartTotals])

    def add(self, key: StateKey, paths: PathsToState) -> None:
        """Add paths that end in state ``key``."""
        known = self.ends.get(key)
        if known is None:
            self.ends[key] = paths
        else:
            known.join(paths)

    def add_parts(self, parts: Mapping[PartKey, PartTotals], weight: Fraction) -> None:
        """Add the totals of a part of the tree that runs ``weight`` times on average."""
        for key, each in parts.items():
            known = self.parts.setdefault(key, PartTotals(ZERO, ZERO, each.least, each.most))
            known.join(each, weight)

    def add_runs(self, key: PartKey, paths: PathSet, weight: Fraction) -> None:
        """Add to ``parts`` that ``key``, whose paths are ``paths``, runs ``weight`` times on average."""
        ends = paths.ends.values()
        cycles = sum((end.cycles for end in ends), ZERO)
        here = PartTotals(ONE, cycles, min(end.least for end in ends), max(end.most for end in ends))
        self.add_parts({key: here}, weight)
        self.add_parts(paths.parts, weight)


def after_segment(state: EventSimulator, segment: CommandSegment) -> tuple[EventSimulator, int]:
    """The state after the commands of a segment, and the passes that this cost, those of the fork too."""
    after = state.fork()
    for command in segment.commands:
        after.run(command)
    return after, FORK_PASSES + after.passes - state.passes + len(segment.commands)


class ExactAnalysis:
    """Finds the paths through parts of a tree of commands on ``chip``, once for each part and state."""

    def __init__(self, chip: Chip, budget: AnalysisBudget) -> None:
        self.start = EventSimulator(chip)
        self.budget = budget
        self.known: dict[tuple[CommandSegment | CommandBlock, StateKey], PathSet] = {}

    def all_paths(self, tree: CommandBlock) -> PathSet:
        """All paths from an idle chip until ``tree`` and all of its transfers have ended, which is one state.
        Raises AnalysisTooCostly."""
        paths = self.block(self.start.key(), self.start, tree)
        drained = PathSet(parts=paths.parts)
        for end in paths.ends.values():
            state = end.state.fork()
            state.drain()
            left = state.clock - end.state.clock
            drained.add((), end.followed_by(PathsToState(state, ONE, Fraction(left), left, left)))
        return drained

    def block(self, key: StateKey, state: EventSimulator, block: CommandBlock) -> PathSet:
        """All paths through ``block`` from one state."""
        known = self.known.get((block, key))
        if known is None:
            known = _single_path(key, state)
            for node in block.nodes:
                known = self.follow(known, node)
            self.known[block, key] = known
        return known

    def node(self, key: StateKey, state: EventSimulator, node: PathNode) -> PathSet:
        """All paths through ``node`` from one state."""
        match node:
            case CommandSegment():
                return self.segment(key, state, node)
            case WeightedBranch():
                return self.branch(key, state, node)
            case WeightedLoop():
                return self.loop(key, state, node)

    def follow(self, paths: PathSet, node: PathNode) -> PathSet:
        """All of ``paths``, each followed by ``node``."""
        further = PathSet(parts=paths.parts)
        for key, end in paths.ends.items():
            after = self.node(key, end.state, node)
            self.budget.use_joins(len(after.ends))
            for last, later in after.ends.items():
                further.add(last, end.followed_by(later))
            further.add_parts(after.parts, end.probability)
        return further

    def segment(self, key: StateKey, state: EventSimulator, segment: CommandSegment) -> PathSet:
        """The single path through commands without a decision."""
        known = self.known.get((segment, key))
        if known is None:
            after, passes = after_segment(state, segment)
            self.budget.use_passes(passes)
            known = _single_path(after.key(), after, after.clock - state.clock)
            self.known[segment, key] = known
        return known

    def branch(self, key: StateKey, state: EventSimulator, branch: WeightedBranch) -> PathSet:
        paths = PathSet()
        for arm in branch.arms:
            inside = self.block(key, state, arm.body)
            before = _decided(state, branch.name, arm.name, arm.probability)
            self.budget.use_joins(len(inside.ends))
            for last, later in inside.ends.items():
                paths.add(last, before.followed_by(later))
            paths.add_runs((branch.name, arm.name), inside, arm.probability)
        return paths

    def loop(self, key: StateKey, state: EventSimulator, loop: WeightedLoop) -> PathSet:
        """Run iteration after iteration from all states at once; after each possible number of iterations,
        add the executions that end there."""
        paths, now, made, continuing = PathSet(), _single_path(key, state), 0, ONE
        for iterations, chance in loop.chances:
            while made < iterations:
                count, now = self.iterate(loop, now, iterations - made, paths, continuing)
                made += count
            for last, end in now.ends.items():
                paths.add(last, _decided(state, loop.name, str(iterations), chance).followed_by(end))
            continuing -= chance
        return paths

    def iterate(
        self, loop: WeightedLoop, now: PathSet, left: int, paths: PathSet, continuing: Fraction
    ) -> tuple[int, PathSet]:
        """Run one more iteration, or all ``left`` where each begins and ends in the same single state.

        Returns how many, and all paths up to their end. Adds the executions of the body to ``paths``;
        ``continuing`` is the probability that the loop makes these iterations.
        """
        if len(now.ends) == 1:
            ((key, end),) = now.ends.items()
            after = self.block(key, end.state, loop.body)
            if after.ends.keys() == {key}:
                self.budget.use_joins(1)
                paths.add_runs((loop.name, None), after, continuing * end.probability * left)
                return left, PathSet({key: end.followed_by(after.ends[key].repeated(left))})
        further = PathSet()
        for key, end in now.ends.items():
            after = self.block(key, end.state, loop.body)
            self.budget.use_joins(len(after.ends))
            for last, later in after.ends.items():
                further.add(last, end.followed_by(later))
            paths.add_runs((loop.name, None), after, continuing * end.probability)
        return 1, further


def _single_path(key: StateKey, state: EventSimulator, cycles: int = 0) -> PathSet:
    return PathSet({key: PathsToState(state, ONE, Fraction(cycles), cycles, cycles)})


def _decided(state: EventSimulator, name: str, choice: str, probability: Fraction) -> PathsToState:
    """A path of no cycles that takes one decision."""
    decision = Decision(name, choice)
    return PathsToState(state, probability, ZERO, 0, 0, decision, decision)
