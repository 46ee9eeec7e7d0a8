"""How many columns each op of a cascade has in a band in the middle, where the halo is widest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from chipmodel.model.cascade_work import Band
from chipmodel.model.interval import Interval, hull
from chipmodel.model.program import Op, Program
from chipmodel.passes.columns import columns_read, op_columns, tensor_columns


@dataclass(frozen=True, slots=True)
class BandWidth:
    """The columns of an op's output in one of ``bands`` bands; None for all. ``share`` is theirs of all, and
    ``share_read`` that of the columns of its first operand that it reads."""

    bands: int = 1
    band: Band | None = None
    share: Fraction = Fraction(1)
    share_read: Fraction = Fraction(1)


def band_widths(program: Program, ops: Sequence[Op], start: int, bands: int) -> Mapping[int, BandWidth]:
    """By number of an op, from the last of ``ops`` back to ``start`` or the first that cannot run in bands;
    empty where the last one cannot run in so many."""
    last = len(ops) - 1
    if bands == 1:
        return dict.fromkeys(range(start, last + 1), BandWidth())
    of = op_columns(program, ops[last])
    width = -(-of // bands) if of else 0
    if of is None or -(-of // width) != bands:
        return {}
    needed = {ops[last].outputs[0]: Interval(bands // 2 * width, min(of, (bands // 2 + 1) * width))}
    found: dict[int, BandWidth] = {}
    for index in range(last, start - 1, -1):
        op = ops[index]
        columns, of = needed.get(op.outputs[0]), op_columns(program, op)
        if of is None or columns is None:
            break
        band = None if len(columns) == of else Band(columns, of)
        found[index] = BandWidth(bands, band, Fraction(len(columns), of), _read(program, op, columns, needed))
    return found


def _read(program: Program, op: Op, columns: Interval, needed: dict[str, Interval]) -> Fraction:
    """The share of the first operand's columns that is read. Adds those of each operand to ``needed``."""
    shares: list[Fraction] = []
    for operand, name in enumerate(op.inputs):
        every = Interval(0, tensor_columns(program, name))
        read = columns_read(program, op, operand, columns) or every
        needed[name] = hull((needed.get(name, Interval(0, 0)), read))
        shares.append(Fraction(len(read), len(every)))
    return shares[0] if shares else Fraction(1)
