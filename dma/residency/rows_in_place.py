"""Which ops run in stripes of rows, their output in place of their input, and in how many rows.

Source: chipmodel; the idea is that of vMCU (Zheng et al., MLSys 2024). See docs/references.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache, partial

from chipmodel.hardware.chip import Chip
from chipmodel.model.program import Op, Program, RowsInPlace, with_ops
from chipmodel.npu.cycles import op_cycles
from chipmodel.records import dataclass
from chipmodel.rewrites.rows_in_place import row_bytes, rows_to_take
from dma.residency.greedy import ResidencyTable
from dma.residency.rings import RingMember, RowEdges, distance, shared_ring
from dma.residency.storages import overwrites
from dma.residency.tiling import Tiling

Rows = Mapping[str, int]
"""For each op that is to run in place row by row, the most rows of a step."""


def with_rows_in_place(program: Program, chip: Chip, rows: Rows) -> Program:
    """Return ``program`` with outputs of the ops ``rows`` in place of inputs, by as many rows a step."""
    takes = rows_to_take(program)
    marks: dict[str, tuple[str, RowsInPlace]] = {}
    for root, group in _groups(program, {name: takes[name] for name in rows}):
        number = {root: 0}
        members = [_member(program, chip, root, 0, None)]
        for op, old in group:
            below = distance(program, op, old, rows[op.name]) if op.name in rows else None
            members.append(_member(program, chip, op.outputs[0], number[old], below))
            number[op.outputs[0]] = len(number)
        size, places = shared_ring(members, chip.shared_memory.alignment)
        for op, old in group:
            at = places[number[old]], places[number[op.outputs[0]]]
            marks[op.name] = old, RowsInPlace(rows.get(op.name, 0), size, *at)

    def mark(op: Op) -> Op:
        if op.name not in marks:
            return op
        old, place = marks[op.name]
        return replace(op, overwrites=old, by_rows=place)

    return replace(program, body=with_ops(program.body, mark))


def _member(program: Program, chip: Chip, name: str, parent: int, below: int | None) -> RingMember:
    row = row_bytes(program, name) if chip.npu.rolling_buffers else 0
    return RingMember(program.tensors[name].bytes, row, parent, below)


def _groups(program: Program, takes: Mapping[str, str]) -> Iterator[tuple[str, list[tuple[Op, str]]]]:
    """Yield the groups of ops of which the outputs take the memory of an input, row by row or byte for byte,
    each op with that input and after the one that makes it; first the tensor that has the memory at first.
    Only those groups that have an op of ``takes``."""
    others = overwrites(program)
    root: dict[str, str] = {}
    groups: dict[str, list[tuple[Op, str]]] = {}
    for op in program.ops():
        old = takes.get(op.name) or (others.get(op.outputs[0]) if op.outputs else None)
        if old is not None:
            root[op.outputs[0]] = root.get(old, old)
            groups.setdefault(root[op.outputs[0]], []).append((op, old))
    yield from ((name, group) for name, group in groups.items() if any(op.name in takes for op, _ in group))


ALL_UP_TO, EACH_OF = 256, 64
"""Numbers of rows that are all tried, and the share of a larger one by which the next is larger."""


def numbers_tried(rows: int) -> Iterator[int]:
    """Yield the numbers of rows that are tried of so many: all small ones, of larger ones one in sixty-four.

    >>> list(numbers_tried(3)), sum(1 for _ in numbers_tried(22_400))
    ([1, 2, 3], 552)
    """
    number = 1
    while number <= rows:
        yield number
        number += max(1, number // EACH_OF if number >= ALL_UP_TO else 1)


@dataclass(frozen=True, slots=True)
class RowsOption:
    """So many ``rows`` a step: the ``bytes`` that input and output then take together, and all cycles."""

    rows: int
    bytes: int
    cycles: int


class RowsTable:
    """The ops of ``program`` whose output may take its input's memory row by row, and what that takes.

    ``alive`` are the bytes of tensors alive at each op of ``ops`` where no op does so; ``takes`` has the
    input that each op may take.
    """

    def __init__(self, program: Program, chip: Chip) -> None:
        self.program, self.chip = program, chip
        table = ResidencyTable(program)
        self.ops = table.ops
        self.alive = table.residency(table.initial_decisions()).through
        self.takes = rows_to_take(program)
        self.known: dict[str, list[RowsOption]] = {}
        self.edges: dict[str, RowEdges] = {}

    def both(self, op: Op) -> int:
        """Bytes of the output and of the input that it may take."""
        return sum(self.program.tensors[name].bytes for name in (self.takes[op.name], op.outputs[0]))

    def options(self, op: Op) -> list[RowsOption]:
        """The numbers of rows tried that take less memory than both tensors, each faster than all fewer."""
        if op.name not in self.known:
            found = self.known[op.name] = []
            computed = cache(partial(op_cycles, self.chip.npu, op, channels=op.work.channels))
            for rows in numbers_tried(op.work.rows):
                if (size := self.bytes(op, rows)) >= self.both(op):
                    break
                sizes = Tiling(rows, op.work.channels).stripes(op).sizes()
                cycles = sum(count * computed(many) for many, count in sizes.items())
                if not found or cycles < found[-1].cycles:
                    found.append(RowsOption(rows, size, cycles))
        return self.known[op.name]

    def bytes(self, op: Op, rows: int) -> int:
        """Bytes of input and output together where each step computes ``rows``."""
        old, made = (self.program.tensors[name].bytes for name in (self.takes[op.name], op.outputs[0]))
        if op.name not in self.edges:
            self.edges[op.name] = RowEdges(self.program, op, self.takes[op.name])
        return max(old + self.edges[op.name].distance(rows), made)

    def chosen(self, room: int) -> dict[str, RowsOption]:
        """The ops at which more than ``room`` bytes of tensors are alive and that need no more in place, each
        with those rows with which it computes the fastest.

        >>> from chipmodel import load
        >>> from chipmodel.hardware.chip_file import load_chip
        >>> chosen = RowsTable(load("zoo:ds_cnn"), load_chip("alif-e7")).chosen(room=10_600)
        >>> chosen["conv2.depthwise"]
        RowsOption(rows=4, bytes=9600, cycles=6149)
        """
        found: dict[str, RowsOption] = {}
        for op, alive in zip(self.ops, self.alive, strict=True):
            if alive > room and op.name in self.takes:
                most = room - (alive - self.both(op))
                if fit := [option for option in self.options(op) if option.bytes <= most]:
                    found[op.name] = fit[-1]
        return found

    def least(self, room: int) -> dict[str, int]:
        """The ops at which more than ``room`` bytes are alive and that need less in place, by one row."""
        large = (op for op, alive in zip(self.ops, self.alive, strict=True) if alive > room)
        return {op.name: 1 for op in large if op.name in self.takes and self.bytes(op, 1) < self.both(op)}


def least_rows_in_place(program: Program, chip: Chip) -> Iterator[Program]:
    """Yield the program with those ops in place, a row at a time, with which the most bytes alive at once are
    the fewest; nothing where that is none."""
    best, fewest = program, ResidencyTable(program).most_needed()
    tried: list[dict[str, int]] = []
    table = RowsTable(program, chip)
    for room in _levels(table.alive):
        rows = table.least(room)
        if not rows or rows in tried:
            continue
        tried.append(rows)
        marked = with_rows_in_place(program, chip, rows)
        if (needed := ResidencyTable(marked).most_needed()) < fewest:
            best, fewest = marked, needed
    if best is not program:
        yield best


LEVELS = 24
"""How many amounts of memory are tried as room for tensors (assumed)."""


def _levels(alive: Iterable[int]) -> list[int]:
    """The bytes alive at some of the ops, the fewest first."""
    levels = sorted(set(alive))
    return levels[:: -(-len(levels) // LEVELS)] if levels else []
