"""Which ops run in stripes of rows, their output in place of their input, and in how many rows.

Source: chipmodel; the idea is that of vMCU (Zheng et al., MLSys 2024). See docs/references.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial

from chipmodel.hardware.chip import Chip
from chipmodel.model.program import Op, Program, RowsInPlace, with_ops
from chipmodel.npu.cycles import op_cycles
from chipmodel.rewrites.rows_in_place import row_bytes, rows_to_take
from dma.residency.greedy import ResidencyTable
from dma.residency.rings import RingMember, distance, shared_ring
from dma.residency.storages import overwrites
from dma.residency.tiling import Tiling, least_weights

Rows = Mapping[str, int]
"""For each op that is to run in place row by row, the most rows of a step."""


def with_rows_in_place(program: Program, chip: Chip, rows: Rows) -> Program:
    """Return ``program`` with the outputs of the ops ``rows`` in place of the inputs that they may take, by
    as many rows a step."""
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


def rows_for_room(program: Program, chip: Chip, room: int, least: bool = False) -> dict[str, int]:
    """Return the ops at which more than ``room`` bytes of tensors are alive and that need no more in place,
    each with those rows with which it computes the fastest; with ``least`` one row at a time, and whether or
    not that is enough."""
    table = ResidencyTable(program)
    through = table.residency(table.initial_decisions()).through
    takes = rows_to_take(program)
    found: dict[str, int] = {}
    for op, alive in zip(table.ops, through, strict=True):
        if alive <= room or op.name not in takes:
            continue
        old, made = (program.tensors[name].bytes for name in (takes[op.name], op.outputs[0]))
        most = old + made - 1
        if not least:
            most = min(most, room - (alive - old - made))
        if max(old + distance(program, op, takes[op.name], 1), made) > most:
            continue
        rows = [1]
        while not least and rows[-1] < op.work.rows:
            if max(old + distance(program, op, takes[op.name], rows[-1] + 1), made) > most:
                break
            rows.append(rows[-1] + 1)
        found[op.name] = min(rows, key=partial(_cycles, chip, op))
    return found


def _cycles(chip: Chip, op: Op, rows: int) -> int:
    """Cycles of an op in stripes of so many rows."""
    sizes = Tiling(rows, op.work.channels).stripes(op).sizes()
    return sum(times * op_cycles(chip.npu, op, each, op.work.channels) for each, times in sizes.items())


def least_rows_in_place(program: Program, chip: Chip) -> Iterator[Program]:
    """Yield the program with those ops in place, a row at a time, with which the most bytes alive at once are
    the fewest; nothing where that is none."""
    best, fewest = program, _most_alive(program)
    tried: list[dict[str, int]] = []
    for room in _levels(program):
        rows = rows_for_room(program, chip, room, least=True)
        if not rows or rows in tried:
            continue
        tried.append(rows)
        marked = with_rows_in_place(program, chip, rows)
        if (needed := _most_alive(marked)) < fewest:
            best, fewest = marked, needed
    if best is not program:
        yield best


LEVELS = 24
"""How many amounts of memory are tried as room for tensors (assumed)."""


def _levels(program: Program) -> list[int]:
    """The bytes alive at some of the ops, the fewest first."""
    table = ResidencyTable(program)
    levels = sorted(set(table.residency(table.initial_decisions()).through))
    return levels[:: -(-len(levels) // LEVELS)] if levels else []


def _most_alive(program: Program) -> int:
    """The most bytes of tensors and of the least weights of an op alive at once."""
    table = ResidencyTable(program)
    through = table.residency(table.initial_decisions()).through
    return max(
        (live + least_weights(program, op, 0) for op, live in zip(table.ops, through, strict=True)), default=0
    )
