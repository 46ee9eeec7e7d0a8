"""The options ``--iterations`` and ``--probability``, which state facts about a workload's control flow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from chipmodel.errors import BadInput
from chipmodel.files.suggestions import shown, suggest
from chipmodel.model.program import MAX_ITERATIONS, If, Node, Program, rewritten
from chipmodel.model.tree import walk


def parse_iterations_option(text: str) -> tuple[str, int]:
    """The loop's name and its iterations from ``NODE=N``. Raises ``BadInput``."""
    name, equals, number = text.strip().rpartition("=")
    digits = number.isascii() and number.isdigit() and len(number) < 9
    if not (equals and name and digits and int(number) <= MAX_ITERATIONS):
        what = f"--iterations {shown(text)} is not NAME=ITERATIONS"
        raise BadInput(what, hint=f"write a loop's name and a number from 0 to {MAX_ITERATIONS:,}: decode=12")
    return name, int(number)


def parse_probability_option(text: str) -> tuple[str, tuple[Fraction, ...]]:
    """An ``if``'s name and the probabilities of its first arms from ``NAME=P,...``. Raises ``BadInput``."""
    name, equals, numbers = text.strip().rpartition("=")
    try:
        chances = tuple(Fraction(number) for number in numbers.split(",") if len(number) < 30)
    except (ValueError, ZeroDivisionError):
        chances = ()
    if not (equals and name and len(chances) == numbers.count(",") + 1) or any(
        not 0 <= p <= 1 for p in chances
    ):
        what = f"--probability {shown(text)} is not NAME=PROBABILITY,..."
        hint = "write the name of an if and probabilities from 0 to 1 for its first arms: gate=0.3"
        raise BadInput(what, hint=hint)
    return name, chances


def with_probabilities(program: Program, given: Mapping[str, Sequence[Fraction]]) -> Program:
    """``program`` with these probabilities of the first arms of each ``if``; its other arms share the rest.

    Raises ``BadInput`` for a name that is no ``if``, for more probabilities than arms, and for a sum above 1.
    """

    def change(node: Node) -> Node:
        chances = given.get(node.name)
        return _likely(node, chances) if isinstance(node, If) and chances is not None else node

    body = rewritten(program.body, change)
    names = [node.name for node in walk(program.body) if isinstance(node, If)]
    for name in given:
        if name not in names:
            hint = suggest(name, names, "there are") or "the workload has no if"
            raise BadInput(f"--probability names {shown(name)}, which is not an if", hint=hint)
    return replace(program, body=body)


def _likely(node: If, chances: Sequence[Fraction]) -> If:
    """``node`` with these probabilities of its first arms. Raises BadInput."""
    arms = node.arms
    listed = ", ".join(arm.name for arm in arms)
    if len(chances) > len(arms):
        what = f"--probability gives {len(chances)} numbers for {node.name!r}, "
        what += f"which has {len(arms)} arms"
        raise BadInput(what, hint=f"its arms are {listed}")
    total = sum(chances, Fraction(0))
    if total > 1 or (len(chances) == len(arms) and total != 1):
        what = f"--probability: those of {node.name!r} add up to {float(total):g}"
        raise BadInput(what, hint=f"let those of {listed} add up to 1; the last may be left out")
    padded = (*chances, *(None for _ in arms[len(chances) :]))
    likely = (replace(arm, probability=chance) for arm, chance in zip(arms, padded, strict=True))
    return replace(node, arms=tuple(likely))
