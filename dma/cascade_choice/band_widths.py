"""How many columns each op of a cascade has in a band in the middle, where the halo is widest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from chipmodel.cascades.columns import columns_read, op_columns, tensor_columns
from chipmodel.geometry.interval import Interval, hull
from chipmodel.model.cascade_work import Band
from chipmodel.model.program import Op, Program


@dataclass(frozen=True, slots=True)
class BandWidth:
    """The columns of an op's output in one of ``bands`` bands; None for all. ``share`` is theirs of all, and
    ``share_read`` that of the columns of its first operand that it reads."""

    bands: int = 1
    band: Band | None = None
    share: Fraction = Fraction(1)
    share_read: Fraction = Fraction(1)


@dataclass
class BandedOps:
    """Ops in a row, and what is known of their columns."""

    program: Program
    ops: Sequence[Op]
    columns: list[int | None] = field(init=False)
    """The columns of each op's output; None where it cannot run in bands."""

    def __post_init__(self) -> None:
        self.columns = [op_columns(self.program, op) for op in self.ops]

    def widths(self, start: int, stop: int, bands: int) -> Mapping[int, BandWidth]:
        """Return the width of each op by its number, from the last one before ``stop`` back to ``start`` or
        the first that cannot run in bands; nothing where the last one cannot run in so many."""
        last = stop - 1
        if bands == 1:
            return dict.fromkeys(range(start, stop), BandWidth())
        of = self.columns[last]
        width = -(-of // bands) if of else 0
        if of is None or -(-of // width) != bands:
            return {}
        middle = Interval(bands // 2 * width, min(of, (bands // 2 + 1) * width))
        needed = {self.ops[last].outputs[0]: middle}
        found: dict[int, BandWidth] = {}
        for index in range(last, start - 1, -1):
            op = self.ops[index]
            columns, of = needed.get(op.outputs[0]), self.columns[index]
            if of is None or columns is None:
                break
            band = None if len(columns) == of else Band(columns, of)
            read = self._read(op, columns, needed)
            found[index] = BandWidth(bands, band, Fraction(len(columns), of), read)
        return found

    def _read(self, op: Op, columns: Interval, needed: dict[str, Interval]) -> Fraction:
        """The share of the first operand's columns that is read. Adds those of each operand to ``needed``."""
        shares: list[tuple[int, int]] = []
        for operand, name in enumerate(op.inputs):
            of = tensor_columns(self.program, name)
            read = columns_read(self.program, op, operand, columns) or Interval(0, of)
            needed[name] = hull((needed[name], read)) if name in needed else read
            shares.append((len(read), of))
        return Fraction(*shares[0]) if shares else Fraction(1)
