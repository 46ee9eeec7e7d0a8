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
from chipmodel.paths.tree import CommandBlock, CommandSegment, PartKey, PathNode, WeightedDecision

StateKey = tuple[object, ...]
"""See ``EventSimulator.key``."""
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

    def follow(self, paths: PathSet, node: PathNode) -> PathSet:
        """All of ``paths``, each followed by ``node``."""
        further = PathSet(parts=paths.parts)
        for key, end in paths.ends.items():
            if isinstance(node, CommandSegment):
                after = self.segment(key, end.state, node)
            else:
                after = self.decision(key, end.state, node)
            self.budget.use_joins(len(after.ends))
            for last, later in after.ends.items():
                further.add(last, end.followed_by(later))
            further.add_parts(after.parts, end.probability)
        return further

    def segment(self, key: StateKey, state: EventSimulator, segment: CommandSegment) -> PathSet:
        """The single path through commands without a decision."""
        known = self.known.get((segment, key))
        if known is None:
            after = state.fork()
            for command in segment.commands:
                after.run(command)
            self.budget.use_passes(FORK_PASSES + after.passes - state.passes + len(segment.commands))
            known = _single_path(after.key(), after, after.clock - state.clock)
            self.known[segment, key] = known
        return known

    def decision(self, key: StateKey, state: EventSimulator, node: WeightedDecision) -> PathSet:
        """Run a loop's iterations one after another from all states at once; after each possible number of
        them, and after each arm of an ``if``, add the executions that end there."""
        paths, now, made, continuing = PathSet(), _single_path(key, state), 0, ONE
        for option in node.options:
            if not node.repeats:
                now, made, continuing = _single_path(key, state), 0, option.probability
            decision = Decision(node.name, option.choice)
            while made < option.times:
                left = option.times - made
                count, now = self.iterate(node.part(option), option.body, now, left, paths, continuing)
                made += count
            before = PathsToState(state, option.probability, ZERO, 0, 0, decision, decision)
            for last, end in now.ends.items():
                paths.add(last, before.followed_by(end))
            continuing -= option.probability
        return paths

    def iterate(
        self, part: PartKey, body: CommandBlock, now: PathSet, left: int, paths: PathSet, continuing: Fraction
    ) -> tuple[int, PathSet]:
        """Run ``body`` once more, or all ``left`` times where each begins and ends in the same single state.

        Returns how often, and all paths up to their end. Adds the executions to ``paths`` as those of
        ``part``; ``continuing`` is the probability that these occur.
        """
        further, times = PathSet(), 1
        for key, end in now.ends.items():
            after = self.block(key, end.state, body)
            if len(now.ends) == 1 and after.ends.keys() == {key}:
                times = left
            self.budget.use_joins(len(after.ends))
            for last, later in after.ends.items():
                further.add(last, end.followed_by(later.repeated(times) if times > 1 else later))
            paths.add_runs(part, after, continuing * end.probability * times)
        return times, further


def _single_path(key: StateKey, state: EventSimulator, cycles: int = 0) -> PathSet:
    return PathSet({key: PathsToState(state, ONE, Fraction(cycles), cycles, cycles)})
