"""Whole paths of all cores, each simulated from its start to its end: enumerated, or drawn at random.

An ``if`` or ``loop`` runs on one core, so a path of the program is one path of each core. They are drawn with
the probabilities of the program's decisions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import sqrt
from random import Random
from statistics import fmean, stdev

from chipmodel.hardware.chip import Chip
from chipmodel.machine.simulate import simulate_cores
from chipmodel.model.commands import Plain
from chipmodel.paths.decisions import Decision, Decisions, concatenate
from chipmodel.paths.tree import CommandBlock, CommandSegment, PathNode
from chipmodel.records import dataclass

NORMAL_QUANTILE = 1.959963984540054
"""The two-sided 95 % quantile of the normal distribution."""


@dataclass(frozen=True, slots=True)
class CorePath:
    """A path of one core: its commands in order, its decisions, and its probability."""

    commands: tuple[Plain, ...] = ()
    decisions: Decisions = None
    probability: Fraction = Fraction(1)

    def followed_by(self, later: CorePath) -> CorePath:
        return CorePath(
            self.commands + later.commands,
            concatenate(self.decisions, later.decisions),
            self.probability * later.probability,
        )


def simulated(paths: Sequence[CorePath], chip: Chip) -> tuple[int, Decisions, Fraction]:
    """Cycles, decisions and probability of one path of each core."""
    decisions: Decisions = None
    probability = Fraction(1)
    for path in paths:
        decisions, probability = concatenate(decisions, path.decisions), probability * path.probability
    return simulate_cores([path.commands for path in paths], chip).cycles, decisions, probability


def all_paths(block: CommandBlock) -> list[CorePath]:
    """All paths through ``block``."""
    paths = [CorePath()]
    for node in block.nodes:
        paths = [path.followed_by(later) for path in paths for later in _node_paths(node)]
    return paths


def _node_paths(node: PathNode) -> Iterator[CorePath]:
    if isinstance(node, CommandSegment):
        yield CorePath(node.commands)
        return
    for option in node.options:
        before = CorePath((), Decision(node.name, option.choice), option.probability)
        unrolled = CommandBlock(option.body.nodes * option.times)
        yield from (before.followed_by(path) for path in all_paths(unrolled))


def drawn_path(block: CommandBlock, random: Random) -> CorePath:
    """A path at random; its ``probability`` is not set."""
    commands: list[Plain] = []
    decisions: Decisions = None
    left = [*reversed(block.nodes)]
    while left:
        node = left.pop()
        if isinstance(node, CommandSegment):
            commands += node.commands
            continue
        (option,) = random.choices(node.options, [float(each.probability) for each in node.options])
        decisions = concatenate(decisions, Decision(node.name, option.choice))
        left += [*reversed(option.body.nodes)] * option.times
    return CorePath(tuple(commands), decisions)


def interval(cycles: Sequence[int]) -> tuple[float, float]:
    """The 95 % confidence interval of the mean, by Student's t."""
    half = student(len(cycles) - 1) * stdev(cycles) / sqrt(len(cycles))
    return fmean(cycles) - half, fmean(cycles) + half


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
