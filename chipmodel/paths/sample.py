"""Estimate the mean cycles from paths drawn at random, where the exact analysis is too costly.

Each path is drawn with the probabilities of the program's decisions, and simulated. Segments between
decisions are simulated once from each state, as in ``chipmodel.paths.exact``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from itertools import accumulate
from math import lcm, sqrt
from random import Random

from chipmodel.hardware.chip import Chip
from chipmodel.machine.simulate import EventSimulator
from chipmodel.paths.decisions import Decision, Decisions, concatenate
from chipmodel.paths.exact import PartKey, PartTotals, StateKey, after_segment
from chipmodel.paths.tree import CommandBlock, CommandSegment, WeightedBranch, WeightedLoop

NORMAL_QUANTILE = 1.959963984540054
"""The two-sided 95 % quantile of the normal distribution."""
MAX_CACHED_SEGMENTS = 4096
"""Segments and states whose result is remembered, to limit memory (assumed)."""


@dataclass(slots=True)
class SampleStatistics:
    """Sums over the sampled paths, and the quickest and the slowest one with their cycles."""

    size: int = 0
    cycles: int = 0
    squares: int = 0
    """The sum of squared cycles."""
    least: tuple[int, Decisions] | None = None
    most: tuple[int, Decisions] | None = None
    parts: dict[PartKey, PartTotals] = field(default_factory=dict[PartKey, PartTotals])
    """The sum over all sampled paths."""

    @property
    def mean(self) -> Fraction:
        return Fraction(self.cycles, self.size)

    def interval(self) -> tuple[float, float]:
        """The 95 % confidence interval of the mean, by Student's t."""
        variance = Fraction(self.squares * self.size - self.cycles**2, self.size * (self.size - 1))
        half = student(self.size - 1) * sqrt(variance / self.size)
        return float(self.mean) - half, float(self.mean) + half

    def add(self, cycles: int, decisions: Decisions) -> None:
        """Add one path."""
        self.size += 1
        self.cycles += cycles
        self.squares += cycles**2
        if self.least is None or cycles < self.least[0]:
            self.least = cycles, decisions
        if self.most is None or cycles > self.most[0]:
            self.most = cycles, decisions

    def add_run(self, key: PartKey, cycles: int) -> None:
        """Add one execution of an arm or loop body."""
        once = PartTotals(Fraction(1), Fraction(cycles), cycles, cycles)
        known = self.parts.get(key)
        if known is None:
            self.parts[key] = once
        else:
            known.join(once, Fraction(1))


def student(degrees: int) -> float:
    """The two-sided 95 % quantile of Student's t, by the Cornish-Fisher expansion (Abramowitz and Stegun,
    26.7.5); right to four digits from 10 degrees of freedom on."""
    x = NORMAL_QUANTILE
    terms = (
        (x**3 + x) / 4,
        (5 * x**5 + 16 * x**3 + 3 * x) / 96,
        (3 * x**7 + 19 * x**5 + 17 * x**3 - 15 * x) / 384,
        (79 * x**9 + 776 * x**7 + 1482 * x**5 - 1920 * x**3 - 945 * x) / 92160,
    )
    return x + sum((term / float(degrees**power) for power, term in enumerate(terms, 1)), 0.0)


class PathSampler:
    """Draws paths through ``tree`` on ``chip``, the same ones for the same ``seed``."""

    def __init__(self, tree: CommandBlock, chip: Chip, seed: int) -> None:
        self.tree = tree
        self.start = EventSimulator(chip)
        self.random = Random(seed)
        self.known: dict[tuple[CommandSegment, StateKey], tuple[StateKey, EventSimulator, int]] = {}
        self.work = 0
        """Passes of the simulator and segments so far."""
        self.statistics = SampleStatistics()

    def sample(self) -> None:
        """Draw one path and add it to ``statistics``."""
        path = _SampledPath(self)
        path.block(self.tree)
        drained = path.state.fork()
        drained.drain()
        self.statistics.add(path.cycles + drained.clock - path.state.clock, path.decisions)

    def segment(
        self, segment: CommandSegment, key: StateKey, state: EventSimulator
    ) -> tuple[StateKey, EventSimulator, int]:
        """The state after ``segment``, with its key, and the cycles to it."""
        known = self.known.get((segment, key))
        self.work += 1
        if known is None:
            after, passes = after_segment(state, segment)
            self.work += passes
            known = after.key(), after, after.clock - state.clock
            if len(self.known) < MAX_CACHED_SEGMENTS:
                self.known[segment, key] = known
        return known


def draw_index(chances: tuple[Fraction, ...], random: Random) -> int:
    """Draw an index, with exactly the probabilities ``chances``, which add up to 1."""
    denominator = lcm(*(chance.denominator for chance in chances))
    point = random.randrange(denominator)
    return next(index for index, below in enumerate(accumulate(chances)) if point < below * denominator)


def draw(node: WeightedBranch | WeightedLoop, random: Random) -> tuple[PartKey, Decision, CommandBlock, int]:
    """Decide at ``node``: which part runs then, the decision, the commands of the part, and how often."""
    if isinstance(node, WeightedBranch):
        arm = node.arms[draw_index(tuple(arm.probability for arm in node.arms), random)]
        return (node.name, arm.name), Decision(node.name, arm.name), arm.body, 1
    iterations, _ = node.chances[draw_index(tuple(chance for _, chance in node.chances), random)]
    return (node.name, None), Decision(node.name, str(iterations)), node.body, iterations


class _SampledPath:
    """One path while it is drawn: its state, cycles and decisions so far."""

    def __init__(self, sampler: PathSampler) -> None:
        self.sampler = sampler
        self.state = sampler.start
        self.key = self.state.key()
        self.cycles = 0
        self.decisions: Decisions = None

    def block(self, block: CommandBlock) -> None:
        for node in block.nodes:
            if isinstance(node, CommandSegment):
                self.key, self.state, passed = self.sampler.segment(node, self.key, self.state)
                self.cycles += passed
                continue
            part, decision, body, times = draw(node, self.sampler.random)
            self.decisions = concatenate(self.decisions, decision)
            for _ in range(times):
                self.part(part, body)

    def part(self, key: PartKey, body: CommandBlock) -> None:
        begin = self.cycles
        self.block(body)
        self.sampler.statistics.add_run(key, self.cycles - begin)
