"""Paths on a chip with several cores.

An ``if`` or ``loop`` runs on one core, so a path of the program is one path of each core. All cores run at
the same time, so each path is simulated from its start to its end: all of them where they are few, otherwise
a sample.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from random import Random

from chipmodel.hardware.chip import Chip
from chipmodel.machine.simulate import simulate_cores
from chipmodel.model.commands import Plain
from chipmodel.paths.decisions import Decision, Decisions, concatenate
from chipmodel.paths.exact import AnalysisTooCostly
from chipmodel.paths.sample import SampleStatistics, draw
from chipmodel.paths.tree import (
    CommandBlock,
    CommandSegment,
    PathNode,
    WeightedBranch,
    WeightedLoop,
    count_paths,
)

MAX_ENUMERATED_PATHS = 64
"""Paths up to which each is simulated (assumed: as long as a small sample takes)."""


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


@dataclass(frozen=True, slots=True)
class EnumeratedPaths:
    """Quickest and slowest of all paths with their cycles, and the mean of the cycles."""

    least: tuple[int, Decisions]
    most: tuple[int, Decisions]
    mean: Fraction


def enumerate_paths(trees: Sequence[CommandBlock], chip: Chip) -> EnumeratedPaths:
    """Simulate every path. Raises AnalysisTooCostly where there are more than ``MAX_ENUMERATED_PATHS``."""
    count = 1
    for tree in trees:
        count *= count_paths(tree)
    if count > MAX_ENUMERATED_PATHS:
        raise AnalysisTooCostly
    runs = [_simulated(paths, chip) for paths in product(*([*_block_paths(tree)] for tree in trees))]
    mean = sum((probability * cycles for cycles, _, probability in runs), Fraction(0))
    least, most = min(runs, key=lambda run: run[0]), max(runs, key=lambda run: run[0])
    return EnumeratedPaths(least[:2], most[:2], mean)


class CorePathSampler:
    """Draws paths of all cores, the same ones for the same ``seed``."""

    def __init__(self, trees: Sequence[CommandBlock], chip: Chip, seed: int) -> None:
        self.trees = trees
        self.chip = chip
        self.random = Random(seed)
        self.statistics = SampleStatistics()
        self.work = 0
        """Commands simulated so far."""

    def sample(self) -> None:
        """Draw one path of each core and add them to ``statistics``."""
        paths = tuple(_draw_path(tree, self.random) for tree in self.trees)
        self.work += sum(len(path.commands) for path in paths)
        cycles, decisions, _ = _simulated(paths, self.chip)
        self.statistics.add(cycles, decisions)


def _simulated(paths: tuple[CorePath, ...], chip: Chip) -> tuple[int, Decisions, Fraction]:
    """Cycles, decisions and probability of one path of each core."""
    decisions: Decisions = None
    probability = Fraction(1)
    for path in paths:
        decisions, probability = concatenate(decisions, path.decisions), probability * path.probability
    return simulate_cores([path.commands for path in paths], chip).cycles, decisions, probability


def _block_paths(block: CommandBlock) -> Iterator[CorePath]:
    paths = [CorePath()]
    for node in block.nodes:
        paths = [path.followed_by(later) for path in paths for later in _node_paths(node)]
    yield from paths


def _node_paths(node: PathNode) -> Iterator[CorePath]:
    match node:
        case CommandSegment():
            yield CorePath(node.commands)
        case WeightedBranch():
            for arm in node.arms:
                before = CorePath((), Decision(node.name, arm.name), arm.probability)
                yield from (before.followed_by(path) for path in _block_paths(arm.body))
        case WeightedLoop():
            for iterations, chance in node.chances:
                before = CorePath((), Decision(node.name, str(iterations)), chance)
                unrolled = CommandBlock(node.body.nodes * iterations)
                yield from (before.followed_by(path) for path in _block_paths(unrolled))


def _draw_path(block: CommandBlock, random: Random) -> CorePath:
    """A path at random; its ``probability`` is not set."""
    commands: list[Plain] = []
    decisions: Decisions = None
    left = [*reversed(block.nodes)]
    while left:
        node = left.pop()
        if isinstance(node, CommandSegment):
            commands += node.commands
            continue
        _, decision, body, times = draw(node, random)
        decisions = concatenate(decisions, decision)
        left += [*reversed(body.nodes)] * times
    return CorePath(tuple(commands), decisions)
