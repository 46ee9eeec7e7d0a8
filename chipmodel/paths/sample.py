"""The mean over paths drawn at random, with a confidence interval, for programs with too many states.

Each path is drawn as the program would decide, and takes the cycles that the simulator gives it. Stretches
between decisions are run once from each state of the machine, as in ``paths_exact``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from itertools import accumulate
from math import lcm, sqrt
from random import Random

from chipmodel.chip.chip import Chip
from chipmodel.machine.simulate import EventSimulator
from chipmodel.paths.exact import FORK, Key, PartKey, Spent
from chipmodel.paths.taken import Decided, Taken, then
from chipmodel.paths.tree import Block, Choice, Iterations, Stretch

NORMAL = 1.959963984540054
"""The two-sided 95 % quantile of the normal distribution."""
LEAST_SAMPLES = 16
"""Fewer do not tell how far off a mean may be."""
MOST_KNOWN = 4096
"""Stretches that are remembered."""


@dataclass(slots=True)
class Seen:
    """What sampled paths took; cycles in ``squares`` are squared."""

    size: int = 0
    cycles: int = 0
    squares: int = 0
    least: tuple[int, Taken] | None = None
    most: tuple[int, Taken] | None = None
    spent: dict[PartKey, Spent] = field(default_factory=dict[PartKey, Spent])

    @property
    def mean(self) -> Fraction:
        return Fraction(self.cycles, self.size)

    def interval(self) -> tuple[float, float]:
        """The 95 % confidence interval of the mean, by Student's t."""
        spread = Fraction(self.squares * self.size - self.cycles**2, self.size * (self.size - 1))
        half = student(self.size - 1) * sqrt(spread / self.size)
        return float(self.mean) - half, float(self.mean) + half

    def add(self, cycles: int, taken: Taken) -> None:
        """One path more."""
        self.size += 1
        self.cycles += cycles
        self.squares += cycles**2
        if self.least is None or cycles < self.least[0]:
            self.least = cycles, taken
        if self.most is None or cycles > self.most[0]:
            self.most = cycles, taken

    def run(self, key: PartKey, cycles: int) -> None:
        """One execution of an arm or body."""
        once = Spent(Fraction(1), Fraction(cycles), cycles, cycles)
        known = self.spent.get(key)
        if known is None:
            self.spent[key] = once
        else:
            known.join(once, Fraction(1))


def student(degrees: int) -> float:
    """The two-sided 95 % quantile of Student's t, by the Cornish-Fisher expansion (Abramowitz and Stegun,
    26.7.5); right to four digits from 10 degrees of freedom on."""
    x = NORMAL
    terms = (
        (x**3 + x) / 4,
        (5 * x**5 + 16 * x**3 + 3 * x) / 96,
        (3 * x**7 + 19 * x**5 + 17 * x**3 - 15 * x) / 384,
        (79 * x**9 + 776 * x**7 + 1482 * x**5 - 1920 * x**3 - 945 * x) / 92160,
    )
    return x + sum((term / float(degrees**power) for power, term in enumerate(terms, 1)), 0.0)


class Sampler:
    """Paths through ``tree`` on ``chip``, the same for the same ``seed``."""

    def __init__(self, tree: Block, chip: Chip, seed: int) -> None:
        self.tree = tree
        self.start = EventSimulator(chip)
        self.random = Random(seed)
        self.known: dict[tuple[Stretch, Key], tuple[Key, EventSimulator, int]] = {}
        self.work = 0
        """Passes of the simulator, and stretches."""
        self.seen = Seen()

    def sample(self) -> None:
        """One path more."""
        walk = _Walk(self)
        walk.block(self.tree)
        machine = walk.machine.fork()
        machine.drain()
        self.seen.add(walk.cycles + machine.clock - walk.machine.clock, walk.taken)

    def stretch(self, stretch: Stretch, key: Key, machine: EventSimulator) -> tuple[Key, EventSimulator, int]:
        """The state behind ``stretch``, and the cycles to it."""
        known = self.known.get((stretch, key))
        self.work += 1
        if known is None:
            after = machine.fork()
            for command in stretch.commands:
                after.run(command)
            self.work += FORK + after.passes - machine.passes + len(stretch.commands)
            known = after.key(), after, after.clock - machine.clock
            if len(self.known) < MOST_KNOWN:
                self.known[stretch, key] = known
        return known


def drawn(chances: tuple[Fraction, ...], random: Random) -> int:
    """A number, each exactly as likely as its chance; the chances add up to 1."""
    whole = lcm(*(chance.denominator for chance in chances))
    point = random.randrange(whole)
    return next(number for number, below in enumerate(accumulate(chances)) if point < below * whole)


class _Walk:
    """One path, as it goes."""

    def __init__(self, sampler: Sampler) -> None:
        self.sampler = sampler
        self.machine = sampler.start
        self.key = self.machine.key()
        self.cycles = 0
        self.taken: Taken = None

    def block(self, block: Block) -> None:
        for node in block.nodes:
            match node:
                case Stretch():
                    self.key, self.machine, passed = self.sampler.stretch(node, self.key, self.machine)
                    self.cycles += passed
                case Choice():
                    number = drawn(tuple(o.probability for o in node.options), self.sampler.random)
                    option = node.options[number]
                    self.taken = then(self.taken, Decided(node.name, option.name))
                    self.part((node.name, option.name), option.body)
                case Iterations():
                    number = drawn(tuple(chance for _, chance in node.chances), self.sampler.random)
                    iterations = node.chances[number][0]
                    self.taken = then(self.taken, Decided(node.name, str(iterations)))
                    for _ in range(iterations):
                        self.part((node.name, None), node.body)

    def part(self, key: PartKey, body: Block) -> None:
        begin = self.cycles
        self.block(body)
        self.sampler.seen.run(key, self.cycles - begin)
