"""Whether what a cascade reads is there with what it makes, and the rows that are held inside if it is not.

Let an op make the last row that a later one needs, whose output leaves the cascade, by way of the ops on a
path between. Either the later one has begun, and its output is there as a whole: then each op of the path has
begun, and none has ended, as it needs that row for its own last one. Or it has not: then each op of the path
has made some number of rows, no more than it can from those of the op before, and the rows that its reader
still needs are there: those numbers count with which these take the fewest bytes.

That is so in rolling buffers, where each row is made once. If rows of a tensor are made again for each step
that reads it, none is there between those: its op goes back to the first row that the next step needs, which
counts as the number of rows that it has made, and the tensor before holds what is needed from there on. Where
stripes compute rows again, the last one has the row in question, and before it what leaves has begun; a
single stripe computes nothing twice. In several bands of columns all that is read and made is there in any
case. Ops that add up rows or have a state hold rows in another way, so that no path leads through them.

Source: chipmodel.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from chipmodel.cascades.row_reads import RowReads
from dma.cascade_choice.least_rows import LeastRows, computable

MOST_ROWS = 512
"""Rows of a tensor up to which paths are looked at: numbers of rows of two tensors are, in pairs."""


class BeforeWhole(NamedTuple):
    """The last row of an op that another one needs, the ops from the one to the other, and the fewest bytes
    of what they have made while the other one has not begun."""

    row: int
    path: tuple[int, ...]
    held: int


class _PathLink(NamedTuple):
    """The op that reads a tensor first, and how; the bytes of the tensor's rows that it still needs, for each
    number of rows that exist and, as columns, of those that it has made: infinitely many if it cannot."""

    reader: int
    reads: RowReads
    held: npt.NDArray[np.float64]


class BothEnds:
    """The paths through a straight chain of ops, of which ``rows`` tells the rows."""

    def __init__(self, rows: LeastRows) -> None:
        self.rows = rows
        self.links = [self._link(index) for index in range(len(rows.ops))]

    def before(self, stop: int, first: int, inside: Callable[[int], bool]) -> Iterator[BeforeWhole]:
        """Yield each op from ``first`` on whose output is ``inside`` a cascade that ends before ``stop``, and
        from which a path leads to one whose output is not."""
        held = dict[int, npt.NDArray[np.float64]]()
        found = dict[int, BeforeWhole]()
        for index in range(stop - 1, first - 1, -1):
            link, made, op = self.links[index], self.rows.made[index], self.rows.ops[index]
            if not inside(index):
                if 0 < made <= MOST_ROWS and len(op.outputs) == 1 and not op.carried:
                    held[index] = np.append(0.0, np.full(made, np.inf))
                    found[index] = BeforeWhole(made - 1, (index,), 0)
            elif link and link.reader in found:
                after = found[link.reader]
                held[index] = least = (link.held + held[link.reader]).min(axis=1)
                needed = link.reads(0, after.row + 1)[1]
                found[index] = BeforeWhole(needed - 1, (index, *after.path), int(least[needed]))
                yield found[index]

    def after(self, index: int) -> Iterator[BeforeWhole]:
        """Yield each later op on the path from op ``index``, which makes the last row that the next one needs
        before the later one has begun."""
        link = self.links[index]
        path: tuple[int, ...] = (index,)
        needed = link.reads(0, self.rows.made[link.reader])[1] if link else 0
        made = np.where(np.arange(self.rows.made[index] + 1) == needed, 0.0, np.inf)
        while link and not self.rows.ops[link.reader].carried:
            made, path = (made[:, None] + link.held).min(axis=0), (*path, link.reader)
            yield BeforeWhole(needed - 1, path, int(made[0]))
            link = self.links[link.reader]

    def _link(self, index: int) -> _PathLink | None:
        rows, op = self.rows, self.rows.ops[index]
        (name, *more), made = op.outputs or ("",), rows.made[index]
        reader = rows.readers[name][0][0] if name in rows.readers else index
        reads = next((reads for each, reads in rows.reads[reader] if each == name), None)
        count = rows.made[reader]
        if more or op.carried or not reads or not 0 < made <= MOST_ROWS >= count:
            return None
        if not reads_each(reads, range(count)):
            return None
        exist = np.arange(made + 1)[:, None]
        oldest = np.array([*(reads(row, row + 1)[0] for row in range(count)), made])
        most = np.array([computable(reads, count, limit) for limit in range(made + 1)])
        held = np.maximum(0, exist - oldest) * (rows.program.tensors[name].bytes // made)
        return _PathLink(reader, reads, np.where(np.arange(count + 1) <= most[:, None], held, np.inf))


def reads_each(reads: RowReads, rows: Iterable[int]) -> bool:
    """Whether an op reads any row of an operand for each of these ``rows`` of its output."""
    return all(start < stop for start, stop in (reads(row, row + 1) for row in rows))
