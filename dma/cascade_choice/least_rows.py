"""The fewest bytes of a tensor that are in SharedMemory at once inside a cascade, in stripes of any heights.

When a row of a tensor is made, each op that reads the tensor has come at most as far as it can without that
row. The rows from the oldest one that such an op still needs to the new one are there.

Into how many rows a tensor is cut may depend on where the cascade begins. Of those tensors a single row is
counted, and ops that make them are taken to need nothing.

Source: chipmodel.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence

from chipmodel.cascades.accumulation import accumulating
from chipmodel.cascades.row_reads import RowReads, all_of, row_reads
from chipmodel.cascades.shape import op_rows, readers_of, tensor_rows
from chipmodel.model.program import Op, Program

PROBES = 16
"""Rows in the middle of a tensor that are looked at, where windows are whole. Each gives a bound; more of
them could only raise it, and strides, after which windows repeat, are shorter."""


class LeastRows:
    """The rows of the tensors of a straight chain of ``ops``."""

    def __init__(self, program: Program, ops: Sequence[Op]) -> None:
        self.program, self.ops = program, ops = program, [accumulating(program, op) for op in ops]
        self.added = {name for op in ops if op.accumulator for name in op.outputs}
        """Tensors that are added up: they are there as a whole, or not at all."""
        self.readers = readers_of(ops)
        self.options: dict[str, set[int]] = {}
        """Into how many rows each tensor is cut, in one cascade or another."""
        for op in ops:
            made = self._rows_made(op)
            self.options |= {name: {rows for rows in made if rows} for name in op.outputs}
        self.made = [self._only(op.outputs) if op.along_rows else 0 for op in ops]
        """Rows that each op makes; 0 where that depends on the cascade."""
        self.reads = [list(self._reads(index)) for index in range(len(ops))]

    def held(self, index: int, name: str) -> int:
        """Bytes of output ``name`` of op number ``index``, of which all readers are in the cascade."""
        size, rows = self.program.tensors[name].bytes, self._only((name,))
        if not rows:
            return size // max(self.options[name])
        first = max(0, (rows - PROBES) // 2)
        probed = (*range(first, min(rows, first + PROBES)), rows - 1)
        most: int = max(row + 1 - self._oldest(index, name, row) for row in probed)
        return most * size // rows

    def waits(self, index: int) -> frozenset[str]:
        """The operands of which an op reads all rows for its first one."""
        return frozenset(name for name, reads in self.reads[index] if reads(0, 1)[1] == self._only((name,)))

    def sums(self, index: int) -> int:
        """Bytes that an op adds up in, or that its operand has beyond a row, which is there otherwise."""
        op = self.ops[index]
        if op.accumulator is None:
            return 0
        size, rows = self.program.tensors[op.inputs[0]].bytes, op.work.rows
        return min(op.accumulator.bytes, size - -(-size // rows))

    def read(self, index: int) -> int:
        """Bytes of its first operand that an op reads for the row in the middle of its output, at least."""
        if not self.reads[index] or self.reads[index][0][0] != self.ops[index].inputs[0]:
            return 0
        name, reads = self.reads[index][0]
        start, stop = reads(self.made[index] // 2, self.made[index] // 2 + 1)
        return (stop - start) * self.program.tensors[name].bytes // self._only((name,))

    def of_one_reader(self) -> dict[str, int]:
        """Return the op of each tensor whose rows may be computed again, as one op alone reads them."""
        return {
            op.outputs[0]: index
            for index, op in enumerate(self.ops)
            if len(op.outputs) == 1 and len(self.readers.get(op.outputs[0], ())) == 1 and not op.carried
        }

    def buffers(self, index: int, again: Mapping[str, int]) -> dict[str, int]:
        """Return the fewest bytes of the buffers that are there while an op runs, of tensors made ``again``
        that it reads and makes: none changes its size (``HeldRows.bytes``), so that each has the most rows
        that its reader needs for one of its own."""
        op = self.ops[index]
        return {name: self._window(name) for name in (*op.inputs, *op.outputs) if name in again}

    def reads_next(self, index: int) -> tuple[int, int, RowReads] | None:
        """Return the rows of an output that the next op alone reads, those of that op's output, and which it
        reads; None where they are not the same in every cascade."""
        (name,), reader = self.ops[index].outputs, index + 1
        if self.readers[name][0][0] != reader or not self._only((name,)):
            return None
        reads = next((reads for each, reads in self.reads[reader] if each == name), None)
        return (self._only((name,)), self.made[reader], reads) if reads else None

    def _window(self, name: str) -> int:
        reader, size = self.readers[name][0][0], self.program.tensors[name].bytes
        for each, reads in self.reads[reader]:
            if each == name:
                windows = (reads(row, row + 1) for row in range(self.made[reader]))
                return max(stop - start for start, stop in windows) * size // self._only((name,))
        return size // max(self.options[name])

    def _rows_made(self, op: Op) -> set[int]:
        names = {name: self._outside(name) | self._inside(name) for name in op.inputs}
        first = max(op.inputs, key=lambda name: self.program.tensors[name].bytes, default=None)
        cuts = [dict.fromkeys(op.inputs, rows) for rows in (names[first] if first else (1,))]
        return {op_rows(self.program, op, rows) for rows in cuts}

    def _inside(self, name: str) -> set[int]:
        """Into how many rows readers cut a tensor that is made in the cascade."""
        return {1} if name in self.added else self.options.get(name, set())

    def _outside(self, name: str) -> set[int]:
        """Into how many rows a tensor from outside is cut, by which of its readers are in the cascade."""
        each = [tensor_rows(self.program, name, [reader], self.ops) for reader in self.readers[name]]
        return {*each, tensor_rows(self.program, name, (), self.ops)}

    def _only(self, names: Sequence[str]) -> int:
        """The rows of all of these tensors; 0 where they are not the same in every cascade."""
        found = {rows for name in names for rows in self.options.get(name) or self._outside(name)}
        return found.pop() if len(found) == 1 else 0

    def _reads(self, index: int) -> Iterator[tuple[str, RowReads]]:
        op, made = self.ops[index], self.made[index]
        for operand, name in enumerate(op.inputs if made and op.work.rows % made == 0 else ()):
            rows = self._only((name,))
            if rows:
                yield name, all_of(rows) if name in self.added else row_reads(op, operand, made, rows)

    def _oldest(self, maker: int, name: str, row: int) -> int:
        """The first row of ``name`` that is still needed when ``row`` is made, at most that."""
        limits, oldest = {name: row}, row
        last = max((index for index, _ in self.readers.get(name, ())), default=maker)
        for index in range(maker + 1, last + 1):
            limited = [(each, reads) for each, reads in self.reads[index] if each in limits]
            done = min(
                (computable(reads, self.made[index], limits[each]) for each, reads in limited), default=0
            )
            if limited and done < self.made[index]:
                limits |= dict.fromkeys(self.ops[index].outputs, done)
                needed = (reads(done, done + 1)[0] for each, reads in limited if each == name)
                oldest = min((oldest, *needed))
        return oldest


def computable(reads: RowReads, made: int, limit: int) -> int:
    """Rows of an output, of ``made``, that need only the first ``limit`` rows of an operand."""
    return bisect_right(range(1, made + 1), limit, key=lambda done: reads(0, done)[1])
