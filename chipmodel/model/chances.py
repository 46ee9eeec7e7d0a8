"""Probabilities of the arms of branches and of the numbers of iterations of loops."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from fractions import Fraction

from chipmodel.model.program import If, Loop, Program
from chipmodel.records import dataclass


@dataclass(frozen=True, slots=True)
class Chances:
    """Probabilities of arms by the name of the ``if``, and of numbers of iterations by that of the ``loop``.

    The arms of an ``if`` that is not named are equally likely; a ``loop`` makes its own iterations.
    """

    arms: Mapping[str, Mapping[str, Fraction]] = field(default_factory=dict[str, Mapping[str, Fraction]])
    iterations: Mapping[str, tuple[tuple[int, Fraction], ...]] = field(
        default_factory=dict[str, tuple[tuple[int, Fraction], ...]]
    )


def chances_of(program: Program) -> Chances:
    """The probabilities that a valid ``program`` states."""
    arms: dict[str, Mapping[str, Fraction]] = {}
    iterations: dict[str, tuple[tuple[int, Fraction], ...]] = {}
    for node in program.nodes():
        if isinstance(node, If):
            arms[node.name] = arm_chances(node)
        elif isinstance(node, Loop) and node.chances:
            iterations[node.name] = node.chances
    return Chances(arms, iterations)


def arm_chances(node: If) -> dict[str, Fraction]:
    """Each arm's probability; arms without one share equally what the others leave."""
    given = sum((arm.probability for arm in node.arms if arm.probability is not None), Fraction(0))
    open_arms = sum(arm.probability is None for arm in node.arms)
    share = (1 - given) / open_arms if open_arms else Fraction(0)
    return {arm.name: share if arm.probability is None else arm.probability for arm in node.arms}
