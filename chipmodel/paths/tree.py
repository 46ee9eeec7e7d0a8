"""Commands with the probability of every decision: what ``paths_exact`` and ``paths_sample`` walk.

Alternatives of probability zero are left out here; those that remain have probabilities that add up to 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby
from math import log2

from chipmodel.model.chances import Chances
from chipmodel.model.commands import Branch, Command, Plain, Repeat
from chipmodel.model.path_costs import MAX_COUNT


@dataclass(frozen=True, slots=True, eq=False)
class Stretch:
    """Commands without a decision."""

    commands: tuple[Plain, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """One after another; blocks and stretches are told apart by identity."""

    nodes: tuple[Stretch | Choice | Iterations, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Option:
    """An arm of an ``if``."""

    name: str
    probability: Fraction
    body: Block


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """An ``if``: one of the options, again each time."""

    name: str
    options: tuple[Option, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Iterations:
    """A ``loop``: numbers of iterations, ascending, with their probabilities, drawn again each time."""

    name: str
    chances: tuple[tuple[int, Fraction], ...]
    body: Block


def weighed(commands: tuple[Command, ...], chances: Chances, fixed: Mapping[str, str]) -> Block:
    """``commands`` with their probabilities; what ``fixed`` names, as ``resolve_path`` has it, is certain."""
    return _Weighing(chances, fixed).block(commands)


class _Weighing:
    def __init__(self, chances: Chances, fixed: Mapping[str, str]) -> None:
        self.chances = chances
        self.fixed = fixed

    def block(self, commands: tuple[Command, ...]) -> Block:
        nodes: list[Stretch | Choice | Iterations] = []
        for plain, run in groupby(commands, key=lambda c: not isinstance(c, Branch | Repeat)):
            if plain:
                nodes.append(Stretch(tuple(c for c in run if not isinstance(c, Branch | Repeat))))
                continue
            for command in run:
                if isinstance(command, Branch):
                    nodes.append(self.choice(command))
                elif isinstance(command, Repeat):
                    nodes.append(self.iterations(command))
        return Block(tuple(nodes))

    def choice(self, branch: Branch) -> Choice:
        equal = Fraction(1, len(branch.arms))
        stated = self.chances.arms.get(branch.name, {arm.name: equal for arm in branch.arms})
        if branch.name in self.fixed:
            stated = {self.fixed[branch.name]: Fraction(1)}
        likely = [arm for arm in branch.arms if stated.get(arm.name)]
        return Choice(branch.name, tuple(Option(a.name, stated[a.name], self.block(a.body)) for a in likely))

    def iterations(self, loop: Repeat) -> Iterations:
        stated = self.chances.iterations.get(loop.name, ((loop.iterations, Fraction(1)),))
        if loop.name in self.fixed:
            stated = ((int(self.fixed[loop.name]), Fraction(1)),)
        likely = sorted((iterations, chance) for iterations, chance in stated if chance)
        return Iterations(loop.name, tuple(likely), self.block(loop.body))


def count_paths(block: Block) -> int:
    """Ways through ``block``, up to ``MAX_COUNT``."""
    count = 1
    for node in block.nodes:
        match node:
            case Choice():
                count *= sum(count_paths(option.body) for option in node.options)
            case Iterations():
                each = count_paths(node.body)
                count *= sum(_power(each, iterations) for iterations, _ in node.chances)
            case Stretch():
                pass
        count = min(count, MAX_COUNT)
    return count


def _power(base: int, exponent: int) -> int:
    if base > 1 and exponent * log2(base) > log2(MAX_COUNT):
        return MAX_COUNT
    return base**exponent if base > 1 else base
