"""Paths on a chip with several cores: each is run as a whole, for all cores go on side by side.

An ``if`` or ``loop`` runs on one core, so a path is one of each core's. Where there are few, each is
simulated once; of many, as many as are drawn.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from random import Random

from chipmodel.chip.chip import Chip
from chipmodel.machine.simulate import simulate_cores
from chipmodel.model.commands import Plain
from chipmodel.paths.exact import TooManyStates
from chipmodel.paths.sample import Seen, drawn
from chipmodel.paths.taken import Decided, Taken, then
from chipmodel.paths.tree import Block, Choice, Iterations, Stretch, count_paths

FEW = 64
"""Paths that are each simulated."""


@dataclass(frozen=True, slots=True)
class Whole:
    """A path of one core: its commands in a row, what it decides, and how likely it is."""

    commands: tuple[Plain, ...] = ()
    taken: Taken = None
    probability: Fraction = Fraction(1)

    def after(self, later: Whole) -> Whole:
        """First this, then ``later``."""
        return Whole(
            self.commands + later.commands,
            then(self.taken, later.taken),
            self.probability * later.probability,
        )


@dataclass(frozen=True, slots=True)
class Both:
    """Quickest and slowest of all paths with their cycles, and the mean."""

    least: tuple[int, Taken]
    most: tuple[int, Taken]
    mean: Fraction


def each_path(trees: Sequence[Block], chip: Chip) -> Both:
    """Every path, simulated. Raises TooManyStates where there are more than ``FEW``."""
    count = 1
    for tree in trees:
        count *= count_paths(tree)
    if count > FEW:
        raise TooManyStates
    runs = [_run(paths, chip) for paths in product(*([*_all(tree)] for tree in trees))]
    mean = sum((chance * cycles for cycles, _, chance in runs), Fraction(0))
    least, most = min(runs, key=lambda run: run[0]), max(runs, key=lambda run: run[0])
    return Both(least[:2], most[:2], mean)


class CoreSampler:
    """Paths drawn at random, the same for the same ``seed``."""

    def __init__(self, trees: Sequence[Block], chip: Chip, seed: int) -> None:
        self.trees = trees
        self.chip = chip
        self.random = Random(seed)
        self.seen = Seen()
        self.work = 0
        """Commands."""

    def sample(self) -> None:
        """One path more."""
        paths = tuple(_drawn(tree, self.random) for tree in self.trees)
        self.work += sum(len(path.commands) for path in paths)
        cycles, taken, _ = _run(paths, self.chip)
        self.seen.add(cycles, taken)


def _run(paths: tuple[Whole, ...], chip: Chip) -> tuple[int, Taken, Fraction]:
    taken: Taken = None
    chance = Fraction(1)
    for path in paths:
        taken, chance = then(taken, path.taken), chance * path.probability
    return simulate_cores([path.commands for path in paths], chip).cycles, taken, chance


def _all(block: Block) -> Iterator[Whole]:
    paths = [Whole()]
    for node in block.nodes:
        paths = [path.after(way) for path in paths for way in _ways(node)]
    yield from paths


def _ways(node: Stretch | Choice | Iterations) -> Iterator[Whole]:
    match node:
        case Stretch():
            yield Whole(node.commands)
        case Choice():
            for option in node.options:
                before = Whole((), Decided(node.name, option.name), option.probability)
                yield from (before.after(path) for path in _all(option.body))
        case Iterations():
            for iterations, chance in node.chances:
                before = Whole((), Decided(node.name, str(iterations)), chance)
                yield from (before.after(path) for path in _all(Block(node.body.nodes * iterations)))


def _drawn(block: Block, random: Random) -> Whole:
    commands: list[Plain] = []
    taken: Taken = None
    left = [*reversed(block.nodes)]
    while left:
        node = left.pop()
        match node:
            case Stretch():
                commands += node.commands
            case Choice():
                option = node.options[drawn(tuple(o.probability for o in node.options), random)]
                taken = then(taken, Decided(node.name, option.name))
                left += reversed(option.body.nodes)
            case Iterations():
                iterations = node.chances[drawn(tuple(chance for _, chance in node.chances), random)][0]
                taken = then(taken, Decided(node.name, str(iterations)))
                left += [*reversed(node.body.nodes)] * iterations
    return Whole(tuple(commands), taken)
