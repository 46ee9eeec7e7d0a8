"""The cascades that a user names, with heights that fit."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import groupby

from chipmodel.chip.chip import Chip
from chipmodel.model.program import Op, Program
from chipmodel.model.work import CascadeWork
from chipmodel.passes.cascades import CascadeChoice, cascade_op
from dma.cascades.straight_runs import op_runs

HEIGHTS = (32, 16, 8, 4, 2, 1)
"""Rows of a step that are tried for all ops alike, fewest steps first."""


def cascades_of(program: Program, chip: Chip, names: Collection[str]) -> tuple[CascadeChoice, ...]:
    """Every run of neighbouring ops among ``names`` as a cascade, in the largest steps that fit SharedMemory
    next to what the cascade reads and makes. Raises ValueError where a run cannot be one."""
    return tuple(_choice(program, chip, run) for run in _runs(program, names))


def _runs(program: Program, names: Collection[str]) -> Iterator[tuple[Op, ...]]:
    for run in op_runs(program):
        for named, ops in groupby(run, key=lambda op: op.name in names):
            if named:
                yield tuple(ops)


def _choice(program: Program, chip: Chip, run: Sequence[Op]) -> CascadeChoice:
    names = tuple(op.name for op in run)
    choices = [CascadeChoice(names, (rows,) * len(run), chip.npu.rolling_buffers) for rows in HEIGHTS]
    for choice in choices:
        if _bytes(program, cascade_op(program, run, choice)) <= chip.shared_memory.bytes:
            return choice
    return choices[-1]


def _bytes(program: Program, op: Op) -> int:
    """SharedMemory that a cascade takes with whole inputs and outputs."""
    assert isinstance(op.work, CascadeWork)
    whole = sum(program.tensors[name].bytes for name in (*op.inputs, *op.outputs))
    return op.work.workspace + program.block_bytes(op) + whole
