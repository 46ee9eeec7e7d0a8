"""Equal pieces of consecutive numbers that begin again with each block."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

from chipmodel.geometry.interval import Interval
from chipmodel.records import dataclass


@dataclass(frozen=True, slots=True)
class AlignedCuts:
    """``total`` numbers in blocks of ``block``, each in pieces of ``size``, of which the last may be
    smaller."""

    total: int
    block: int
    size: int

    @property
    def in_block(self) -> int:
        """Pieces of a whole block."""
        return -(-self.block // self.size)

    def __len__(self) -> int:
        whole, rest = divmod(self.total, self.block)
        return whole * self.in_block + -(-rest // self.size)

    def piece(self, number: int) -> Interval:
        """Piece ``number``, counted from 0."""
        block, inside = divmod(number, self.in_block)
        start = block * self.block + inside * self.size
        return Interval(start, min(self.total, (block + 1) * self.block, start + self.size))

    def number_at(self, place: int) -> int:
        """The number of the piece that has ``place``."""
        block, inside = divmod(place, self.block)
        return block * self.in_block + inside // self.size

    def sizes(self) -> Counter[int]:
        """How many pieces there are of each size."""
        whole, rest = divmod(self.total, self.block)
        found = Counter[int]()
        for times, numbers in ((whole, self.block), (1, rest)):
            pieces, last = divmod(numbers, self.size)
            found[self.size] += times * pieces
            found[last] += times * bool(last)
        return +found

    def __iter__(self) -> Iterator[Interval]:
        return (self.piece(number) for number in range(len(self)))


def aligned_cuts(total: int, size: int, blocks: Sequence[int] = ()) -> AlignedCuts:
    """Pieces of at most ``size``. ``blocks`` are sizes of blocks within blocks, the largest, ``total``,
    first: a piece is in one of them, or is several whole ones within the next larger one."""
    for outer, inner in pairwise(blocks):
        if inner <= size:
            return AlignedCuts(max(1, total), max(1, outer), max(1, min(outer, size // inner * inner)))
    return AlignedCuts(max(1, total), max(1, total), max(1, size))
