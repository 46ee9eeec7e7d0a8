"""The best, the worst and the expected path, exactly: dynamic programming over the tree of commands.

Two paths that leave the machine in the same state (``EventSimulator.key``) differ from there on by an offset
of cycles only. So at each point of the tree it is enough to know, for each state that is possible there, the
least and the most cycles to it, its probability, and the mean of the cycles; and from each state a part of
the tree is run once, however many paths come by. Where regions start with an idle DMA engine all states of a
point are one, and the work is that of running every arm once.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

from chipmodel.chip.chip import Chip
from chipmodel.machine.simulate import EventSimulator
from chipmodel.paths.taken import Decided, Taken, again, then
from chipmodel.paths.tree import Block, Choice, Iterations, Stretch

Key = tuple[object, ...]
PartKey = tuple[str, str | None]
"""An ``if`` and its arm, or a ``loop`` and None."""
ONE, NONE = Fraction(1), Fraction(0)
FORK = 10
"""Passes that a machine's fork and key take the time of."""


class TooManyStates(Exception):
    """The machine has more distinct states along the paths than there is time to look at."""


@dataclass(slots=True)
class Budget:
    """What may still be done: passes of the simulator (``EventSimulator.passes``), with its commands and
    ``FORK`` for each stretch; and ways from state to state to join."""

    passes: int
    joins: int

    def simulate(self, passes: int) -> None:
        """Raises TooManyStates where it was more than the budget allows."""
        self.passes -= passes
        if self.passes < 0:
            raise TooManyStates

    def join(self, ways: int) -> None:
        """Raises TooManyStates where the budget does not allow it."""
        self.joins -= ways
        if self.joins < 0:
            raise TooManyStates


@dataclass(slots=True)
class End:
    """All ways to one state: how likely they are, the sum of their cycles, each times its probability, and
    the quickest and the slowest of them."""

    machine: EventSimulator
    weight: Fraction
    cycles: Fraction
    least: int
    most: int
    quickest: Taken = None
    slowest: Taken = None

    def after(self, way: End) -> End:
        """First the ways to here, then ``way``."""
        return End(
            way.machine,
            self.weight * way.weight,
            self.cycles * way.weight + self.weight * way.cycles,
            self.least + way.least,
            self.most + way.most,
            then(self.quickest, way.quickest),
            then(self.slowest, way.slowest),
        )

    def times(self, number: int) -> End:
        """The same ``number`` times, from the state to itself with certainty."""
        return End(
            self.machine,
            ONE,
            self.cycles * number,
            self.least * number,
            self.most * number,
            again(self.quickest, number),
            again(self.slowest, number),
        )

    def join(self, other: End) -> None:
        """Further ways to the same state."""
        self.weight += other.weight
        self.cycles += other.cycles
        if other.least < self.least:
            self.least, self.quickest = other.least, other.quickest
        if other.most > self.most:
            self.most, self.slowest = other.most, other.slowest


@dataclass(slots=True)
class Spent:
    """In one arm or body: how often it runs on average, the cycles in it on average, and of one execution."""

    runs: Fraction
    cycles: Fraction
    least: int
    most: int

    def join(self, other: Spent, weight: Fraction) -> None:
        """Further executions, which happen with probability ``weight`` (or so often)."""
        self.runs += weight * other.runs
        self.cycles += weight * other.cycles
        self.least = min(self.least, other.least)
        self.most = max(self.most, other.most)


@dataclass(slots=True)
class Ways:
    """All that may happen in a part of the tree from one state on: by state, how it ends; by arm and loop,
    what is spent there. The probabilities of the ends add up to 1."""

    ends: dict[Key, End] = field(default_factory=dict[Key, End])
    spent: dict[PartKey, Spent] = field(default_factory=dict[PartKey, Spent])

    def add(self, key: Key, end: End) -> None:
        """Ways that end in state ``key``."""
        known = self.ends.get(key)
        if known is None:
            self.ends[key] = end
        else:
            known.join(end)

    def spend(self, spent: dict[PartKey, Spent], weight: Fraction) -> None:
        """What is spent in a part that runs ``weight`` times on average."""
        for key, each in spent.items():
            known = self.spent.setdefault(key, Spent(NONE, NONE, each.least, each.most))
            known.join(each, weight)

    def run(self, key: PartKey, ways: Ways, weight: Fraction) -> None:
        """The part ``key`` runs ``weight`` times on average, each time in these ``ways``."""
        ends = ways.ends.values()
        cycles = sum((end.cycles for end in ends), NONE)
        here = Spent(ONE, cycles, min(end.least for end in ends), max(end.most for end in ends))
        self.spend({key: here}, weight)
        self.spend(ways.spent, weight)


class Walker:
    """Runs parts of the tree on ``chip``, each from each state once."""

    def __init__(self, chip: Chip, budget: Budget) -> None:
        self.start = EventSimulator(chip)
        self.budget = budget
        self.known: dict[tuple[Stretch | Block, Key], Ways] = {}

    def all(self, tree: Block) -> Ways:
        """From an idle chip to the end of ``tree``, with what the DMA engine has left to do there: all ways
        end in one state. Raises TooManyStates."""
        ways = self.block(self.start.key(), self.start, tree)
        whole = Ways(spent=ways.spent)
        for end in ways.ends.values():
            machine = end.machine.fork()
            machine.drain()
            left = machine.clock - end.machine.clock
            whole.add((), end.after(End(machine, ONE, Fraction(left), left, left)))
        return whole

    def block(self, key: Key, machine: EventSimulator, block: Block) -> Ways:
        """All ways through ``block`` from one state."""
        known = self.known.get((block, key))
        if known is None:
            known = _at(key, machine)
            for node in block.nodes:
                known = self.follow(known, node)
            self.known[block, key] = known
        return known

    def node(self, key: Key, machine: EventSimulator, node: Stretch | Choice | Iterations) -> Ways:
        match node:
            case Stretch():
                return self.stretch(key, machine, node)
            case Choice():
                return self.choice(key, machine, node)
            case Iterations():
                return self.iterations(key, machine, node)

    def follow(self, ways: Ways, node: Stretch | Choice | Iterations) -> Ways:
        """``ways``, and then from each of their ends ``node``."""
        further = Ways(spent=ways.spent)
        for key, end in ways.ends.items():
            after = self.node(key, end.machine, node)
            self.budget.join(len(after.ends))
            for last, way in after.ends.items():
                further.add(last, end.after(way))
            further.spend(after.spent, end.weight)
        return further

    def stretch(self, key: Key, machine: EventSimulator, stretch: Stretch) -> Ways:
        """The one way through commands without a decision."""
        known = self.known.get((stretch, key))
        if known is None:
            after = machine.fork()
            for command in stretch.commands:
                after.run(command)
            self.budget.simulate(FORK + after.passes - machine.passes + len(stretch.commands))
            known = _at(after.key(), after, after.clock - machine.clock)
            self.known[stretch, key] = known
        return known

    def choice(self, key: Key, machine: EventSimulator, choice: Choice) -> Ways:
        ways = Ways()
        for option in choice.options:
            taken = self.block(key, machine, option.body)
            before = End(machine, option.probability, NONE, 0, 0)
            before.quickest = before.slowest = Decided(choice.name, option.name)
            self.budget.join(len(taken.ends))
            for last, way in taken.ends.items():
                ways.add(last, before.after(way))
            ways.run((choice.name, option.name), taken, option.probability)
        return ways

    def iterations(self, key: Key, machine: EventSimulator, loop: Iterations) -> Ways:
        """Iteration after iteration, all states side by side; after each number of iterations that may be the
        last, the share of the runs that end with it."""
        ways, now, made, still = Ways(), _at(key, machine), 0, ONE
        for iterations, chance in loop.chances:
            while made < iterations:
                made, now = self.more(loop, now, made, iterations, ways, still)
            for last, end in now.ends.items():
                before = End(machine, chance, NONE, 0, 0)
                before.quickest = before.slowest = Decided(loop.name, str(iterations))
                ways.add(last, before.after(end))
            still -= chance
        return ways

    def more(
        self, loop: Iterations, now: Ways, made: int, iterations: int, ways: Ways, still: Fraction
    ) -> tuple[int, Ways]:
        """One iteration more, or all up to ``iterations`` where each is like the one before."""
        if len(now.ends) == 1:
            ((key, end),) = now.ends.items()
            after = self.block(key, end.machine, loop.body)
            if after.ends.keys() == {key}:
                left = iterations - made
                self.budget.join(1)
                ways.run((loop.name, None), after, still * end.weight * left)
                return iterations, Ways({key: end.after(after.ends[key].times(left))})
        further = Ways()
        for key, end in now.ends.items():
            after = self.block(key, end.machine, loop.body)
            self.budget.join(len(after.ends))
            for last, way in after.ends.items():
                further.add(last, end.after(way))
            ways.run((loop.name, None), after, still * end.weight)
        return made + 1, further


def _at(key: Key, machine: EventSimulator, cycles: int = 0) -> Ways:
    """One way, to one state."""
    return Ways({key: End(machine, ONE, Fraction(cycles), cycles, cycles)})
