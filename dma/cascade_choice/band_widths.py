"""How many columns each op of a cascade has in a band in the middle, where the halo is widest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
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
        found: dict[int, BandWidth] = {}
        for index, columns, read in self._needed(start, last, middle):
            every = self.columns[index] or 1
            band = None if len(columns) == every else Band(columns, every)
            found[index] = BandWidth(bands, band, Fraction(len(columns), every), read)
        return found

    def times(self, start: int, stop: int, bands: int) -> Mapping[int, Fraction]:
        """Return how many times each op that ``widths`` has computes its columns in all bands, at least."""
        last = stop - 1
        of = self.columns[last]
        if bands == 1 or of is None:
            return dict.fromkeys(range(start, stop), Fraction(1))
        width, done = -(-of // bands), dict[int, int]()
        for first in range(0, of, width):
            for index, columns, _ in self._needed(start, last, Interval(first, min(of, first + width))):
                done[index] = done.get(index, 0) + len(columns)
        return {
            index: max(Fraction(1), Fraction(each, self.columns[index] or 1)) for index, each in done.items()
        }

    def _needed(self, start: int, last: int, band: Interval) -> Iterator[tuple[int, Interval, Fraction]]:
        """Yield the columns of each op that a ``band`` of the last one needs, back to op ``start`` or the
        first that cannot run in bands, and the share of its first operand that is read."""
        needed = {self.ops[last].outputs[0]: band}
        for index in range(last, start - 1, -1):
            op = self.ops[index]
            columns = needed.get(op.outputs[0])
            if self.columns[index] is None or columns is None:
                break
            yield index, columns, self._read(op, columns, needed)

    def _read(self, op: Op, columns: Interval, needed: dict[str, Interval]) -> Fraction:
        """The share of the first operand's columns that is read. Adds those of each operand to ``needed``."""
        shares: list[tuple[int, int]] = []
        for operand, name in enumerate(op.inputs):
            of = tensor_columns(self.program, name)
            read = columns_read(self.program, op, operand, columns) or Interval(0, of)
            needed[name] = hull((needed[name], read)) if name in needed else read
            shares.append((len(read), of))
        return Fraction(*shares[0]) if shares else Fraction(1)
