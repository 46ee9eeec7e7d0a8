"""Probabilities of arms and of numbers of iterations in a YAML workload."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from chipmodel.files.suggestions import shown
from chipmodel.model.program import MAX_ITERATIONS
from workloads.build.loop_tensors import MAX_ITERATION_COUNTS, equally_likely
from workloads.from_yaml.field_types import KeyPath
from workloads.from_yaml.names import NameTable
from workloads.from_yaml.schema import ITERATIONS, IfArm, IfOp, IterationRange, LoopOp

Chances = tuple[tuple[int, Fraction], ...]


def probabilities_of(op: IfOp, path: KeyPath, names: NameTable) -> dict[str, Fraction]:
    """The probabilities that the arms of an ``if`` state. Raises BadInput where they cannot add up to 1."""
    chances = {
        name: _exactly(arm.probability)
        for name, arm in op.arms.items()
        if isinstance(arm, IfArm) and arm.probability is not None
    }
    total = sum(chances.values(), Fraction(0))
    if total > 1 or (len(chances) == len(op.arms) and total != 1):
        what = f"the probabilities of the arms of '{names.ops[path]}' add up to {float(total):g}"
        hint = "let them add up to 1; an arm without a probability has what the others leave"
        names.refuse((*path, "arms"), what, hint)
    return chances


def iterations_of(op: LoopOp, path: KeyPath, names: NameTable) -> tuple[int, Chances]:
    """The largest number of iterations, and where there are several, each with its probability. Raises
    BadInput for more than ``MAX_ITERATIONS``."""
    most, chances = _iterations(op, path, names)
    if most > MAX_ITERATIONS:
        what = f"'{names.ops[path]}' makes {most:,} iterations"
        names.refuse((*path, "iterations"), what, f"at most {MAX_ITERATIONS:,}")
    return most, chances


def _iterations(op: LoopOp, path: KeyPath, names: NameTable) -> tuple[int, Chances]:
    name, where = names.ops[path], (*path, "iterations")
    match op.iterations:
        case int():
            return op.iterations, ()
        case IterationRange():
            least, most = op.iterations.min, op.iterations.max
            if least > most:
                what = f"'{name}' makes at least {least} and at most {most} iterations"
                names.refuse((*where, "min"), what, "write the smaller number as 'min'")
            if most - least >= MAX_ITERATION_COUNTS:
                what = f"'{name}' has {most - least + 1} different numbers of iterations"
                hint = f"at most {MAX_ITERATION_COUNTS}: write a table of fewer, {{1: 0.5, 4: 0.5}}"
                names.refuse(where, what, hint)
            return most, equally_likely(least, most)
        case _:
            return _table(op.iterations, name, where, names)


def _table(table: Mapping[str, float], name: str, where: KeyPath, names: NameTable) -> tuple[int, Chances]:
    for number in table:
        if not ITERATIONS.fullmatch(number):
            what = f"{shown(number)} is not a number of iterations of '{name}'"
            names.refuse((*where, number), what, "write whole numbers: {1: 0.5, 4: 0.5}")
    chances = tuple(sorted((int(number), _exactly(chance)) for number, chance in table.items()))
    total = sum((chance for _, chance in chances), Fraction(0))
    if total != 1:
        what = f"the probabilities of the iterations of '{name}' add up to {float(total):g}"
        names.refuse(where, what, "let them add up to 1")
    if len(chances) > MAX_ITERATION_COUNTS:
        what = f"'{name}' has {len(chances)} different numbers of iterations"
        names.refuse(where, what, f"at most {MAX_ITERATION_COUNTS}")
    return chances[-1][0], chances if len(chances) > 1 else ()


def _exactly(number: float) -> Fraction:
    """The decimal as it is written, not the nearest binary fraction."""
    return Fraction(repr(number))
