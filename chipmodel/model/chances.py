"""How likely the arms of a branch and the numbers of iterations of a loop are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from chipmodel.model.program import If, Loop, Program


@dataclass(frozen=True, slots=True)
class Chances:
    """By the name of an ``if``, the probabilities of its arms; by the name of a ``loop``, of its iterations.
    An ``if`` that is not named takes each arm as likely as another, a ``loop`` makes its own iterations."""

    arms: Mapping[str, Mapping[str, Fraction]] = field(default_factory=dict[str, Mapping[str, Fraction]])
    iterations: Mapping[str, tuple[tuple[int, Fraction], ...]] = field(
        default_factory=dict[str, tuple[tuple[int, Fraction], ...]]
    )


def chances_of(program: Program) -> Chances:
    """The probabilities that ``program``, which is valid, states."""
    arms: dict[str, Mapping[str, Fraction]] = {}
    iterations: dict[str, tuple[tuple[int, Fraction], ...]] = {}
    for node in program.nodes():
        if isinstance(node, If):
            arms[node.name] = arm_chances(node)
        elif isinstance(node, Loop) and node.chances:
            iterations[node.name] = node.chances
    return Chances(arms, iterations)


def arm_chances(node: If) -> dict[str, Fraction]:
    """Each arm's probability: arms without one share what the others leave, equally."""
    given = sum((arm.probability for arm in node.arms if arm.probability is not None), Fraction(0))
    open_arms = sum(arm.probability is None for arm in node.arms)
    share = (1 - given) / open_arms if open_arms else Fraction(0)
    return {arm.name: share if arm.probability is None else arm.probability for arm in node.arms}
