"""Commands as a tree with the probability of every decision, for the exact and the sampled analysis.

Alternatives of probability zero are left out; the probabilities of the other ones add up to 1. Nodes of the
tree are compared by identity.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from itertools import groupby
from math import log2

from chipmodel.model.chances import Chances
from chipmodel.model.commands import Branch, Command, Plain, Repeat
from chipmodel.model.path_costs import MAX_COUNT
from chipmodel.records import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class CommandSegment:
    """Commands without a decision."""

    commands: tuple[Plain, ...]


@dataclass(frozen=True, slots=True, eq=False)
class CommandBlock:
    """Nodes that run one after another."""

    nodes: tuple[PathNode, ...]


@dataclass(frozen=True, slots=True, eq=False)
class WeightedArm:
    """An arm of an ``if``."""

    name: str
    probability: Fraction
    body: CommandBlock


@dataclass(frozen=True, slots=True, eq=False)
class WeightedBranch:
    """An ``if``: each execution runs one of the arms."""

    name: str
    arms: tuple[WeightedArm, ...]


@dataclass(frozen=True, slots=True, eq=False)
class WeightedLoop:
    """A ``loop``: possible numbers of iterations of each execution, ascending, and their probabilities."""

    name: str
    chances: tuple[tuple[int, Fraction], ...]
    body: CommandBlock


PathNode = CommandSegment | WeightedBranch | WeightedLoop


def weighted_tree(commands: tuple[Command, ...], chances: Chances, fixed: Mapping[str, str]) -> CommandBlock:
    """Build the tree of ``commands``. Decisions in ``fixed`` (see ``resolve_path``) are certain."""
    return _WeightedTreeBuilder(chances, fixed).block(commands)


class _WeightedTreeBuilder:
    def __init__(self, chances: Chances, fixed: Mapping[str, str]) -> None:
        self.chances = chances
        self.fixed = fixed

    def block(self, commands: tuple[Command, ...]) -> CommandBlock:
        nodes: list[PathNode] = []
        for plain, run in groupby(commands, key=lambda c: not isinstance(c, Branch | Repeat)):
            if plain:
                nodes.append(CommandSegment(tuple(c for c in run if not isinstance(c, Branch | Repeat))))
                continue
            for command in run:
                if isinstance(command, Branch):
                    nodes.append(self.branch(command))
                elif isinstance(command, Repeat):
                    nodes.append(self.loop(command))
        return CommandBlock(tuple(nodes))

    def branch(self, branch: Branch) -> WeightedBranch:
        equal = Fraction(1, len(branch.arms))
        stated = self.chances.arms.get(branch.name, {arm.name: equal for arm in branch.arms})
        if branch.name in self.fixed:
            stated = {self.fixed[branch.name]: Fraction(1)}
        possible = [arm for arm in branch.arms if stated.get(arm.name)]
        arms = (WeightedArm(arm.name, stated[arm.name], self.block(arm.body)) for arm in possible)
        return WeightedBranch(branch.name, tuple(arms))

    def loop(self, loop: Repeat) -> WeightedLoop:
        stated = self.chances.iterations.get(loop.name, ((loop.iterations, Fraction(1)),))
        if loop.name in self.fixed:
            stated = ((int(self.fixed[loop.name]), Fraction(1)),)
        possible = sorted((iterations, chance) for iterations, chance in stated if chance)
        return WeightedLoop(loop.name, tuple(possible), self.block(loop.body))


def count_paths(block: CommandBlock) -> int:
    """The number of paths through ``block``, at most ``MAX_COUNT``."""
    count = 1
    for node in block.nodes:
        match node:
            case WeightedBranch():
                count *= sum(count_paths(arm.body) for arm in node.arms)
            case WeightedLoop():
                each = count_paths(node.body)
                count *= sum(_power(each, iterations) for iterations, _ in node.chances)
            case CommandSegment():
                pass
        count = min(count, MAX_COUNT)
    return count


def _power(base: int, exponent: int) -> int:
    if base > 1 and exponent * log2(base) > log2(MAX_COUNT):
        return MAX_COUNT
    return base**exponent if base > 1 else base
