"""Which rows of an operand the rows of an op read, as counts that hold wherever the rows lie.

A count is a number of neighbouring rows and the number of equal rows that the tensor is cut into, since two
ops may cut one tensor into different numbers of rows. Layouts are in order of rows, as in
``chipmodel.geometry.share``: a share of the rows is that share of the bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise

from chipmodel.geometry.interval import Interval
from chipmodel.model.program import Op
from chipmodel.model.work import Conv, Pool

MAX_TABLE_ROWS = 4096
"""Rows of an op whose reads are not those of one formula, up to which they are listed (assumed: beyond, an
op is taken to read one row; the bound is lower then)."""


@dataclass(frozen=True, slots=True)
class RowCount:
    """``count`` neighbouring rows of the ``of`` equal rows of a tensor."""

    count: int
    of: int

    @property
    def all(self) -> bool:
        return self.count >= self.of

    def __lt__(self, other: RowCount) -> bool:
        return self.count * other.of < other.count * self.of

    def complete(self, of: int) -> int:
        """The rows, of ``of`` equal rows, that lie completely within these, at least."""
        if self.all:
            return of
        if of % self.of == 0:
            return self.count * (of // self.of)
        if self.of % of == 0:
            return max(0, (self.count + 1) // (self.of // of) - 1)
        return max(0, self.count * of // self.of - 1)

    def touched(self, of: int) -> int:
        """The rows, of ``of`` equal rows (at most ``self.of``), with any byte of these, if some byte of each
        of these counts; at least."""
        if self.of % of == 0 or self.all:
            return min(of, -(-self.count * of // self.of))
        return max(1, (self.count - 2) * of // self.of + 1)

    def enough(self, of: int) -> int:
        """The least number of neighbouring rows of ``of`` that have ``complete(self.of) >= self.count``."""
        if self.all or self.of == of:
            return min(of, self.count) if self.of == of else of
        if of % self.of == 0:
            return min(of, (self.count + 1) * (of // self.of) - 1)
        return of


NONE = RowCount(0, 1)
ALL = RowCount(1, 1)


@dataclass(frozen=True, slots=True)
class OperandRows:
    """The rows of one operand that each row of an op reads.

    ``whole``: every row reads all of them; otherwise, without ``first``, row ``y`` reads row ``y`` of equally
    many; otherwise row ``y`` reads rows ``first[y]`` up to ``stop[y]`` of ``of``.
    """

    rows: int
    """Rows of the op."""
    of: int
    channels_apart: bool
    """Whether a part of the op's channels reads only a part of the operand's."""
    whole: bool = False
    first: tuple[int, ...] = ()
    stop: tuple[int, ...] = ()
    _read: dict[int, int] = field(default_factory=dict[int, int], compare=False, repr=False)
    _readers: dict[int, int] = field(default_factory=dict[int, int], compare=False, repr=False)

    @property
    def listed(self) -> bool:
        return bool(self.first)

    @property
    def gaps(self) -> bool:
        """Whether neighbouring rows read rows that are not neighbours."""
        return any(start > stop for start, stop in zip(self.first[1:], self.stop, strict=False))

    def read_by(self, count: int) -> int:
        """The rows of the operand that ``count`` neighbouring rows of the op read together, at least."""
        if count not in self._read:
            self._read[count] = _least_union(self.first, self.stop, count)
        return self._read[count]

    def readers_of(self, count: int) -> int:
        """The rows of the op that read any of ``count`` neighbouring rows of the operand, at least."""
        if count not in self._readers:
            self._readers[count] = _least_readers(self.first, self.stop, self.of, count)
        return self._readers[count]

    def rows_that_read(self, count: int) -> int | None:
        """The least number of neighbouring rows of the op of which any read ``count`` rows of the operand;
        None where not even all of them are sure to."""
        low, high = 1, self.rows
        if self.read_by(high) < count:
            return None
        while low < high:
            middle = (low + high) // 2
            if self.read_by(middle) >= count:
                high = middle
            else:
                low = middle + 1
        return low


def _least_union(first: Sequence[int], stop: Sequence[int], count: int) -> int:
    """Rows in the union of the ranges of ``count`` neighbours, at least."""
    count = min(count, len(first))
    new = [0, *(s - max(f, before) for (f, s), before in zip(_ranges(first, stop), stop, strict=False))]
    sums = list(accumulate(new[1:], initial=0))
    last = len(first) - count
    return min(stop[at] - first[at] + sums[at + count - 1] - sums[at] for at in range(last + 1))


def _ranges(first: Sequence[int], stop: Sequence[int]) -> list[tuple[int, int]]:
    """All ranges but the first."""
    return list(zip(first[1:], stop[1:], strict=True))


def _least_readers(first: Sequence[int], stop: Sequence[int], of: int, count: int) -> int:
    """Ranges that have any of ``count`` neighbouring rows, at least."""
    count = min(count, of)
    ended, begun, least = 0, 0, len(first)
    for at in range(of - count + 1):
        while ended < len(stop) and stop[ended] <= at:
            ended += 1
        while begun < len(first) and first[begun] < at + count:
            begun += 1
        least = min(least, begun - ended)
    return max(0, least)


def operand_rows(op: Op, operand: int) -> OperandRows | None:
    """What each row of ``op`` reads of an operand; None where nothing is certain: a tensor that is read or
    written slice by slice, or rows that cannot be listed."""
    if op.inputs[operand] == op.sliced:
        return None
    rows, channels = op.work.rows, op.work.channels
    row = op.reads(operand, Interval(0, 1), Interval(0, channels))
    apart = channels > 1 and op.reads(operand, Interval(0, 1), Interval(0, 1)).of_channels > 1
    windowed = isinstance(op.work, Conv | Pool) and operand == 0
    if row.of_rows == 1 and not windowed:
        return OperandRows(rows, 1, apart, whole=True)
    if row.of_rows == rows and not windowed:
        return OperandRows(rows, rows, apart)
    if rows > MAX_TABLE_ROWS:
        return None
    shares = [op.reads(operand, Interval(y, y + 1), Interval(0, channels)) for y in range(rows)]
    of = max(share.of_rows for share in shares)
    reads = [Interval(0, of) if share.of_rows == 1 else share.rows for share in shares]
    if any(a.start > b.start or a.stop > b.stop for a, b in pairwise(reads)):
        return None
    if all(len(each) == of for each in reads):
        return OperandRows(rows, of, apart, whole=True)
    return OperandRows(rows, of, apart, False, tuple(r.start for r in reads), tuple(r.stop for r in reads))
