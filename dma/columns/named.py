"""The cascades that a user names, with heights that fit."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby
from math import inf

from chipmodel.cascades.recomputed import cascade_macs
from chipmodel.cascades.rewrite import CascadeChoice, cascade_op
from chipmodel.hardware.chip import Chip
from chipmodel.model.program import Body, Op, Program
from chipmodel.model.tree import bodies
from dma.columns.made_again import with_less_held
from dma.residency.tiling import cascade_bytes

HEIGHTS = (32, 16, 8, 4, 2, 1)
"""Rows of a step that are tried for all ops alike, fewest steps first."""
BANDS = (2, 3, 4, 6, 8, 12, 16, 24, 32)
"""Bands of columns that are tried where not even single rows fit, fewest first."""


def cascades_of(
    program: Program,
    chip: Chip,
    groups: Iterable[Collection[str]],
    recompute: float | None = None,
    in_stripes: bool = False,
) -> tuple[CascadeChoice, ...]:
    """Return every chain of neighbouring ops in one of ``groups`` of names as a cascade, in the largest steps
    that fit SharedMemory next to what the cascade reads and makes. If none do, that comes in stripes, and the
    steps have single rows, or with ``in_stripes`` as many as fit. If not even single rows fit, it computes
    rows again, up to ``recompute`` times its multiply-accumulates, or runs in the fewest bands of columns
    that fit, or with all weights loaded again in each turn of their op. Raises ValueError where a chain
    cannot be one."""
    runs = (ops for names in groups for ops in _runs(program, names))
    return tuple(_choice(program, chip, ops, recompute, in_stripes) for ops in runs)


def _runs(program: Program, names: Collection[str]) -> Iterator[tuple[Op, ...]]:
    """The neighbours in one body that are named."""
    for chain in chains(program.body):
        for named, ops in groupby(chain, key=lambda op: op.name in names):
            if named:
                yield tuple(ops)


def chains(body: Body) -> Iterator[tuple[Op, ...]]:
    """Yield the ops that follow one another in one body."""
    for alone, nodes in groupby(body, key=lambda node: isinstance(node, Op)):
        if alone:
            yield tuple(node for node in nodes if isinstance(node, Op))
            continue
        for node in nodes:
            for inner in bodies(node):
                yield from chains(inner)


def _choice(
    program: Program, chip: Chip, chain: Sequence[Op], recompute: float | None, in_stripes: bool
) -> CascadeChoice:
    names = tuple(op.name for op in chain)
    choices = [CascadeChoice(names, (rows,) * len(chain), chip.npu.rolling_buffers) for rows in HEIGHTS]
    most = inf if recompute is None else recompute * sum(op.work.macs for op in chain)
    for choice in choices:
        op = cascade_op(program, chain, choice)
        if _bytes(program, op) <= chip.shared_memory.bytes and cascade_macs(op) <= most:
            return choice
    rows = choices[-1]
    tried = choices if in_stripes else (rows,)
    striped = (each for each in tried if _fits_in_stripes(program, chip, chain, each, most))
    if (highest := next(striped, None)) is not None:
        return highest
    again = () if recompute is None else (_made_again(program, chip, chain, rows, most),)
    others = (*again, *(replace(rows, bands=bands) for bands in BANDS), replace(rows, reloaded=names))
    return next((each for each in others if _fits_in_stripes(program, chip, chain, each, most)), rows)


def _made_again(
    program: Program, chip: Chip, chain: Sequence[Op], rows: CascadeChoice, most: float
) -> CascadeChoice:
    size = partial(cascade_bytes, program)
    return with_less_held(program, chain, rows, size, most, chip.shared_memory.bytes)[0]


def _fits_in_stripes(
    program: Program, chip: Chip, chain: Sequence[Op], choice: CascadeChoice, most: float
) -> bool:
    """Whether a cascade fits with what it reads and makes in stripes, and takes at ``most`` so many
    multiply-accumulates; not where there is no such cascade, for ops whose columns are not apart, too few
    columns, or weights that would be loaded only once."""
    try:
        op = cascade_op(program, chain, choice)
    except ValueError:
        return False
    return cascade_bytes(program, op) <= chip.shared_memory.bytes and cascade_macs(op) <= most


def _bytes(program: Program, op: Op) -> int:
    """SharedMemory that a cascade takes with whole inputs and outputs."""
    operands = (*op.inputs, *op.outputs)
    whole = sum(program.tensors[name].bytes for name in operands)
    return cascade_bytes(program, op, frozenset(operands)) + whole
