"""Multiply-accumulates with those of rows and columns that a cascade computes again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from fractions import Fraction

from chipmodel.cascades.columns import op_columns
from chipmodel.model.cascade_work import CascadeWork
from chipmodel.model.program import Op, Program
from chipmodel.model.schedule import Step


def cascade_macs(cascade: Op) -> int:
    """Return the multiply-accumulates of all steps of a cascade, of each op its share of rows and columns."""
    assert isinstance(cascade.work, CascadeWork)
    done = Counter[tuple[int, int]]()
    """Rows times columns, by op and by how many columns it has."""
    for step in cascade.work.steps:
        band = step.band
        done[step.op, band.of if band else 1] += len(step.rows) * (len(band.columns) if band else 1)
    works = [op.work for op in cascade.cascade]
    parts = (Fraction(works[op].macs * each, works[op].rows * of) for (op, of), each in done.items())
    return round(sum(parts))


def computed(program: Program) -> int:
    """Return the multiply-accumulates of a program with cascades, each op and each arm counted once."""
    return sum(cascade_macs(op) if op.cascade else op.work.macs for op in program.ops())


def steps_macs(program: Program, steps: Iterable[Step]) -> int:
    """Return the multiply-accumulates of the steps of a plan of ``program``, as ``computed`` counts them."""
    ops = {op.name: op for op in program.ops()}
    total = Fraction(0)
    for step in steps:
        op = ops[step.op]
        share = Fraction(len(step.rows) * len(step.channels), op.work.rows * op.work.channels)
        if step.columns is not None:
            share *= Fraction(len(step.columns), op_columns(program, op) or 1)
        total += op.work.macs * share
    return round(total)
