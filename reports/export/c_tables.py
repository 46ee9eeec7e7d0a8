"""A plan as tables of numbers: its entries in order, its transfers, its steps with their operands.

An operand or transfer is a list of *pieces*: runs of consecutive bytes, at a stride on each of its two sides.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from chipmodel.cascades.accumulation import in_cascades
from chipmodel.execute.memory import ring_addresses
from chipmodel.execute.places import Numbers, lies_in_tensor, part_addresses
from chipmodel.execute.step_places import (
    OperandBytes,
    inputs_read,
    outputs_written,
    scratch_filled,
    sums_read,
    weights_read,
)
from chipmodel.geometry.interval import Interval
from chipmodel.model.commands import Branch, Command, Compute, DmaMove, DmaStart, DmaWait, Repeat
from chipmodel.model.program import Op, Program
from chipmodel.model.tree import walk
from reports.export.layout import Layout

NONE = 0xFFFFFFFF
"""No row of a table."""
WEIGHTS, CARRIED, SCRATCH = 0xFFFF, 0xFFFE, 0xFFFD
"""The roles of operands that are no input or output: weights, what parts of an op hand on, its scratch."""


class Piece(NamedTuple):
    """``runs`` of ``bytes``: from byte ``first`` of a tensor (or Psram) on, ``first_stride`` bytes from one
    to the next, and from ``address`` on at ``stride``."""

    first: int
    address: int
    bytes: int
    runs: int = 1
    first_stride: int = 0
    stride: int = 0


class Slide(NamedTuple):
    """Addresses of a loop's body, which move on by ``advance`` in each iteration and begin again at ``start``
    after ``bytes``."""

    start: int = 0
    bytes: int = 1
    advance: int = 0


class TableRows(NamedTuple):
    """Some rows of a table."""

    first: int
    number: int


class CTransfer(NamedTuple):
    """A transfer, whose pieces begin with the side in Psram. ``kind``: 0 load, 1 store, 2 copy in Psram."""

    number: int
    kind: int
    pieces: TableRows
    far: int
    near: int
    name: str


class COperand(NamedTuple):
    """An operand of a step. ``role``: the number of the input or output, or one of those above."""

    role: int
    in_psram: int
    slide: int
    pieces: TableRows
    name: str


class CStep(NamedTuple):
    """A part of an op. All columns are [0, 0)."""

    op: int
    rows: Interval
    channels: Interval
    columns: Interval
    reads: TableRows
    writes: TableRows
    name: str


class CEntry(NamedTuple):
    """What the sequencer does: ``number`` of a row of another table; ``next`` is the entry after an arm, a
    branch or a loop."""

    kind: str
    number: int
    next: int
    name: str = ""


class CNode(NamedTuple):
    """A branch, with its arms, or a loop, with its iterations; the operand that decides, or none."""

    name: str
    arms: tuple[str, ...]
    iterations: int
    condition: int


Row = TypeVar("Row", bound=Hashable)


class Table(Generic[Row]):
    """TableRows, equal sequences of which are stored once."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.known: dict[tuple[Row, ...], TableRows] = {}

    def put(self, rows: Iterable[Row]) -> TableRows:
        """Where ``rows`` are in the table."""
        wanted = tuple(rows)
        if wanted not in self.known:
            self.known[wanted] = TableRows(len(self.rows), len(wanted))
            self.rows += wanted
        return self.known[wanted]


def pieces(first: Numbers, address: Numbers) -> Iterator[Piece]:
    """The pieces of bytes that are numbered ``first`` on one side and ``address`` on the other."""
    if not len(first):
        return
    breaks = np.flatnonzero((np.diff(first) != 1) | (np.diff(address) != 1)) + 1
    starts = np.concatenate([np.zeros(1, np.int64), breaks])
    lengths = np.diff(np.concatenate([starts, np.array([len(first)])]))
    runs = np.stack([first[starts], address[starts], lengths], axis=1)
    begin = 0
    while begin < len(runs):
        # Runs of one length at one stride on each side are one piece.
        steps = np.diff(runs[begin:], axis=0)
        same = np.flatnonzero((steps != [*steps[0][:2], 0]).any(axis=1)) if len(steps) else steps
        count = (int(same[0]) if len(same) else len(steps)) + 1
        strides = steps[0][:2].tolist() if count > 1 else (0, 0)
        number, place, size = runs[begin].tolist()
        yield Piece(number, place, size, count, *strides)
        begin += count


class Tables:
    """All tables of a plan for ``program``, whose ops are rewritten as the plan runs them."""

    def __init__(self, layout: Layout, program: Program) -> None:
        self.program = in_cascades(program, layout.cascades)
        self.ops: dict[str, Op] = {op.name: op for op in self.program.ops()}
        self.op_numbers = {name: number for number, name in enumerate(self.ops)}
        self.weight_bytes = {name: program.table_bytes(op) for name, op in self.ops.items()}
        names = dict.fromkeys(c.name for c in walk(layout.commands) if isinstance(c, DmaStart | DmaMove))
        self.numbers = {name: number for number, name in enumerate(names)}
        self.pieces, self.slides, self.operands = Table[Piece](), Table[Slide](), Table[COperand]()
        self.no_slide = self._slide(Slide())
        self.transfers: list[CTransfer] = []
        self.steps: list[CStep] = []
        self.nodes: list[CNode] = []
        self.entries: list[CEntry] = []
        self._body(layout.commands)

    @property
    def depth(self) -> int:
        """Branches and loops inside of one another, at most."""
        ends: list[int] = []
        most = 0
        for number, entry in enumerate(self.entries):
            ends = [end for end in ends if end > number]
            if entry.kind in ("BRANCH", "LOOP"):
                ends.append(entry.next)
                most = max(most, len(ends))
        return most

    def _body(self, commands: Sequence[Command]) -> None:
        for command in commands:
            match command:
                case DmaStart() | DmaMove():
                    self.entries.append(CEntry("START", len(self.transfers), 0, command.name))
                    self.transfers.append(self._transfer(command))
                case DmaWait():
                    if command.name in self.numbers:
                        self.entries.append(CEntry("WAIT", self.numbers[command.name], 0, command.name))
                case Compute():
                    self.entries.append(CEntry("RUN", len(self.steps), 0, command.label))
                    self.steps.append(self._step(command))
                case Branch():
                    self._branch(command)
                case Repeat():
                    at = self._open("LOOP", command.name, CNode(command.name, (), command.iterations, NONE))
                    self._body(command.body)
                    self._close(at)
                case _:
                    pass

    def _branch(self, branch: Branch) -> None:
        condition, place = NONE, branch.condition
        if place is not None:
            name = place.part.name
            total = self.program.tensors[name].bytes
            placed = OperandBytes(np.arange(total, dtype=np.int64), part_addresses(place, total, 0), place)
            condition = self.operands.put((self._operand(0, placed, total, name),)).first
        arms = tuple(arm.name for arm in branch.arms)
        at = self._open("BRANCH", branch.name, CNode(branch.name, arms, 0, condition))
        for number, arm in enumerate(branch.arms):
            here = len(self.entries)
            self.entries.append(CEntry("ARM", number, 0, arm.name))
            self._body(arm.body)
            self._close(here)
        self._close(at)

    def _open(self, kind: str, name: str, node: CNode) -> int:
        self.entries.append(CEntry(kind, len(self.nodes), 0, name))
        self.nodes.append(node)
        return len(self.entries) - 1

    def _close(self, at: int) -> None:
        self.entries[at] = self.entries[at]._replace(next=len(self.entries))

    def _slide(self, slide: Slide) -> int:
        return self.slides.put((slide if slide.advance else Slide(),)).first

    def _transfer(self, command: DmaStart | DmaMove) -> CTransfer:
        number = self.numbers[command.name]
        if isinstance(command, DmaMove):
            rows = self.pieces.put((Piece(command.home.start, command.target.start, command.bytes),))
            return CTransfer(number, 2, rows, self.no_slide, self.no_slide, command.name)
        at, home = command.at, command.home
        far = ring_addresses(home, command.psram, command)
        near = command.near.start + np.arange(command.bytes, dtype=np.int64)
        slide = Slide()
        if at.in_tensor and at.part.name in self.program.tensors:
            total = self.program.tensors[at.part.name].bytes
            near = part_addresses(at, total, 0)
            far, slide = far[: len(near)], Slide(at.offset, total, at.advance)
        along = Slide(home.start, max(1, len(home)), command.advance)
        kind = int(command.direction == "store")
        rows = self.pieces.put(pieces(far, near))
        return CTransfer(number, kind, rows, self._slide(along), self._slide(slide), command.name)

    def _operand(self, role: int, placed: OperandBytes, total: int, name: str) -> COperand:
        place = placed.place
        advance = place.advance if place is not None and lies_in_tensor(place) and not place.rolls else 0
        slide = Slide(place.offset, max(1, total), advance) if place is not None else Slide()
        rows = self.pieces.put(pieces(placed.numbers, placed.addresses))
        return COperand(role, int(place is None), self._slide(slide), rows, name)

    def _step(self, step: Compute) -> CStep:
        op, program = self.ops[step.op], self.program
        size = self.weight_bytes[op.name]
        reads: list[COperand] = []
        for index, placed in inputs_read(program, op, step, 0):
            name = op.inputs[index]
            reads.append(self._operand(index, placed, program.tensors[name].bytes, name))
        for role, several in (
            (WEIGHTS, weights_read(program, op, step, size)),
            (CARRIED, sums_read(op, step)),
        ):
            reads += [self._operand(role, placed, size, op.name) for placed in several]
        writes: list[COperand] = []
        for name, placed in outputs_written(program, op, step, 0):
            role = op.outputs.index(name) if name in op.outputs else CARRIED
            writes.append(self._operand(role, placed, program.tensors[name].bytes, name))
        for filled in scratch_filled(op, step, 0):
            rows = self.pieces.put(pieces(np.arange(len(filled), dtype=np.int64), filled))
            writes.append(COperand(SCRATCH, 0, self.no_slide, rows, "scratch"))
        columns = step.columns or Interval(0, 0)
        part = step.rows, step.channels, columns
        number = self.op_numbers[op.name]
        return CStep(number, *part, self.operands.put(reads), self.operands.put(writes), step.label)
