"""Commands as a tree with the probability of every decision, for the exact and the sampled analysis.

Alternatives of probability zero are left out; the probabilities of the other ones add up to 1. Nodes of the
tree are compared by identity.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from itertools import groupby
from math import log2
from typing import NamedTuple

from chipmodel.model.chances import Chances
from chipmodel.model.commands import Branch, Command, Plain, Repeat
from chipmodel.model.path_costs import MAX_COUNT
from chipmodel.records import dataclass

PartKey = tuple[str, str | None]
"""An ``if`` and its arm, or a ``loop`` and None."""


@dataclass(frozen=True, slots=True, eq=False)
class CommandSegment:
    """Commands without a decision."""

    commands: tuple[Plain, ...]


@dataclass(frozen=True, slots=True, eq=False)
class CommandBlock:
    """Nodes that run one after another."""

    nodes: tuple[PathNode, ...]


class Option(NamedTuple):
    """What a decision may come to: ``body`` runs ``times`` times."""

    choice: str
    """An arm, or a number of iterations."""
    probability: Fraction
    body: CommandBlock
    times: int = 1


@dataclass(frozen=True, slots=True, eq=False)
class WeightedDecision:
    """An ``if``, or a loop (``repeats``), whose options have one body and ascending numbers of iterations:
    each execution takes one of the ``options``."""

    name: str
    repeats: bool
    options: tuple[Option, ...]

    def part(self, option: Option) -> PartKey:
        """What runs if the decision is ``option``."""
        return self.name, None if self.repeats else option.choice


PathNode = CommandSegment | WeightedDecision


def weighted_tree(commands: tuple[Command, ...], chances: Chances, fixed: Mapping[str, str]) -> CommandBlock:
    """Build the tree of ``commands``. Decisions in ``fixed`` (see ``resolve_path``) are certain."""
    nodes: list[PathNode] = []
    for plain, run in groupby(commands, key=lambda c: not isinstance(c, Branch | Repeat)):
        if plain:
            nodes.append(CommandSegment(tuple(c for c in run if not isinstance(c, Branch | Repeat))))
            continue
        for command in run:
            if isinstance(command, Branch):
                nodes.append(WeightedDecision(command.name, False, _arms(command, chances, fixed)))
            elif isinstance(command, Repeat):
                nodes.append(WeightedDecision(command.name, True, _iterations(command, chances, fixed)))
    return CommandBlock(tuple(nodes))


def _arms(branch: Branch, chances: Chances, fixed: Mapping[str, str]) -> tuple[Option, ...]:
    equal = Fraction(1, len(branch.arms))
    stated = chances.arms.get(branch.name, {arm.name: equal for arm in branch.arms})
    if branch.name in fixed:
        stated = {fixed[branch.name]: Fraction(1)}
    possible = [arm for arm in branch.arms if stated.get(arm.name)]
    return tuple(Option(a.name, stated[a.name], weighted_tree(a.body, chances, fixed)) for a in possible)


def _iterations(loop: Repeat, chances: Chances, fixed: Mapping[str, str]) -> tuple[Option, ...]:
    stated = chances.iterations.get(loop.name, ((loop.iterations, Fraction(1)),))
    if loop.name in fixed:
        stated = ((int(fixed[loop.name]), Fraction(1)),)
    body = weighted_tree(loop.body, chances, fixed)
    return tuple(Option(str(times), chance, body, times) for times, chance in sorted(stated) if chance)


def count_paths(block: CommandBlock) -> int:
    """The number of paths through ``block``, at most ``MAX_COUNT``."""
    count = 1
    for node in block.nodes:
        if isinstance(node, WeightedDecision):
            count *= sum(_power(count_paths(option.body), option.times) for option in node.options)
        count = min(count, MAX_COUNT)
    return count


def _power(base: int, exponent: int) -> int:
    if base > 1 and exponent * log2(base) > log2(MAX_COUNT):
        return MAX_COUNT
    return base**exponent if base > 1 else base
