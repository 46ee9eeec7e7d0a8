"""A recurrent layer of two directions as two layers of one, each with its own weights."""

from __future__ import annotations

from dataclasses import replace

from chipmodel.model.program import Op, Program, Weight
from chipmodel.model.work import Recurrent

NAMES = ("forward", "backward")
"""Names of the two directions, in ONNX's order."""


def one_direction(program: Program, op: Op, number: int) -> tuple[Op, tuple[Weight, ...]] | None:
    """Direction ``number`` of a recurrent ``op``, on the operands of both, with its weights: of each weight
    of ``op``, which lies direction by direction, its equal part. None where there is no equal part."""
    work = op.work
    assert isinstance(work, Recurrent)
    count, own = work.directions, list[Weight]()
    for weight in (program.weights[name] for name in op.weights):
        if weight.bytes % count or weight.elements % count:
            return None
        own.append(Weight(f"{weight.name}.{NAMES[number]}", weight.bytes // count, weight.elements // count))
    alone = replace(work, directions=1, backward=bool(number), solid=False)
    names = tuple(each.name for each in own)
    return replace(op, name=f"{op.name}.{NAMES[number]}", work=alone, weights=names), tuple(own)
