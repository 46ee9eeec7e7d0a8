"""The tensors of a set of ops that shall be one cascade, and the rows that each of them is cut into."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from math import prod

from chipmodel.cascades.arrivals import refuse_late_arrivals
from chipmodel.cascades.row_reads import RowReads, all_of, row_reads
from chipmodel.geometry.interval import Interval
from chipmodel.model.program import Op, Program, reads
from chipmodel.model.work import Conv, Matmul, Pool
from chipmodel.records import dataclass


@dataclass(frozen=True, slots=True)
class CascadeShape:
    """The tensors of a set of ops: read from outside, leaving, and inside, with their numbers of rows."""

    ops: tuple[Op, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    inside: tuple[str, ...]
    maker: Mapping[str, int]
    """For each tensor that is made here, the index of its op."""
    rows: Mapping[str, int]
    """For each tensor, the number of rows that it is cut into; of one that is added up, those that are."""
    readers: Mapping[str, Sequence[tuple[int, int]]]
    """For each tensor, the index of each op that reads it, and which operand it is there."""
    known: dict[tuple[int, int], RowReads] = field(
        default_factory=dict[tuple[int, int], RowReads], compare=False, repr=False
    )
    """Answers of ``reads``."""

    def op_rows(self, index: int) -> int:
        """Rows of the first output of an op: the units of its steps."""
        return self.rows[self.ops[index].outputs[0]]

    def in_work(self, index: int, rows: Interval) -> Interval:
        """``rows`` of an op's outputs in the rows of its work."""
        each = self.ops[index].work.rows // self.op_rows(index)
        return Interval(rows.start * each, rows.stop * each)

    def reads(self, index: int, operand: int) -> RowReads:
        """The rows of an operand that an op reads for some rows of its outputs: all if they are added up."""
        key = index, operand
        if key not in self.known:
            op = self.ops[index]
            name = op.inputs[operand]
            adds_up = name in self.maker and self.ops[self.maker[name]].accumulator is not None
            rows = self.rows[name]
            reads = all_of(rows) if adds_up else row_reads(op, operand, self.op_rows(index), rows)
            self.known[key] = reads
        return self.known[key]

    def read(self, index: int, operand: int, rows: Interval) -> Interval:
        """The rows of an operand that an op reads for ``rows`` of its outputs."""
        return Interval(*self.reads(index, operand)(rows.start, rows.stop))


def may_cascade(op: Op) -> bool:
    """Return whether an op may be in a cascade."""
    return bool(op.outputs) and op.along_rows and not (op.sliced or op.gathers or op.allocates or op.scratch)


def cascade_shape(program: Program, ops: Sequence[Op]) -> CascadeShape:
    """The tensors of ``ops`` as a cascade. Raises ValueError where they cannot be one."""
    maker: dict[str, int] = {}
    readers = readers_of(ops)
    for index, op in enumerate(ops):
        if not may_cascade(op):
            raise ValueError(f"{op.name!r} cannot run in a cascade")
        for name in op.outputs:
            if name in maker or any(reader <= index for reader, _ in readers.get(name, ())):
                raise ValueError(f"{name!r} is made again")
            maker[name] = index
    refuse_late_arrivals(program, ops)
    names = {op.name for op in ops}
    elsewhere = _read_elsewhere(program, names)
    outputs = tuple(n for n in maker if n in elsewhere or maker[n] == len(ops) - 1)
    inside = tuple(n for n in maker if n not in outputs)
    inputs = tuple(n for n in readers if n not in maker)
    _check_connected(ops, maker)
    rows = tensors_in_rows(program, ops)
    return CascadeShape(tuple(ops), inputs, outputs, inside, maker, rows, readers)


def readers_of(ops: Sequence[Op]) -> dict[str, list[tuple[int, int]]]:
    """Return, for each tensor, the index of each op that reads it, and which operand it is there."""
    readers: dict[str, list[tuple[int, int]]] = {}
    for index, op in enumerate(ops):
        for operand, name in enumerate(op.inputs):
            readers.setdefault(name, []).append((index, operand))
    return readers


def tensors_in_rows(program: Program, ops: Sequence[Op]) -> dict[str, int]:
    """Return the rows that each tensor of ``ops`` is cut into: one without whole bytes in a row is a single
    row, and one that is added up has as many as are."""
    readers = readers_of(ops)
    cut: dict[str, int] = {}
    rows: dict[str, int] = {}
    for op in ops:
        for name in op.inputs:
            if name not in cut:
                cut[name] = rows[name] = tensor_rows(program, name, readers[name], ops)
        count, added = op_rows(program, op, cut), op.accumulator is not None
        if not added and any(program.tensors[name].bytes % count for name in op.outputs):
            count = 1
        for name in op.outputs:
            cut[name], rows[name] = (1 if added else count), count
    return rows


def _read_elsewhere(program: Program, names: set[str]) -> set[str]:
    """Tensors that anything but the ops ``names`` needs."""
    others = (node for node in program.nodes() if not (isinstance(node, Op) and node.name in names))
    return set(program.outputs).union(*map(reads, others))


def _check_connected(ops: Sequence[Op], maker: Mapping[str, int]) -> None:
    """Raise ValueError unless every op but the last makes what a later one reads."""
    needed = {len(ops) - 1}
    for index in range(len(ops) - 1, -1, -1):
        if index not in needed:
            raise ValueError(f"{ops[index].name!r} makes nothing that the cascade needs")
        needed |= {maker[name] for name in ops[index].inputs if name in maker}


def tensor_rows(program: Program, name: str, readers: Sequence[tuple[int, int]], ops: Sequence[Op]) -> int:
    """The rows of a tensor from outside: those of the first window over it, otherwise those of its shape."""
    for index, operand in readers:
        work = ops[index].work
        if isinstance(work, Conv | Pool) and operand == 0:
            return work.batch * work.window.in_h
    shape = program.tensors[name].shape
    rows = shape[0] * shape[2] if len(shape) == 4 else prod(shape[:-1])
    size = program.tensors[name].bytes
    return rows if rows and size % rows == 0 else 1


def op_rows(program: Program, op: Op, rows: Mapping[str, int]) -> int:
    """The rows of an op's outputs: those of its largest operand where its work can be cut into them, as that
    of an element-wise op, otherwise those of its work, as for a product of what is made as a whole."""
    if isinstance(op.work, Conv | Pool):
        return op.work.rows
    first = max(op.inputs, key=lambda name: program.tensors[name].bytes, default=None)
    whole = isinstance(op.work, Matmul) and first is not None and rows[first] == 1
    if first is not None and op.work.rows % rows[first] == 0 and not whole:
        return rows[first]
    return op.work.rows
