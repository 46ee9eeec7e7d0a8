"""Which rows of a tensor inside a cascade are in SharedMemory when, and where in their buffer."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby, islice

from chipmodel.answers.result import Result
from chipmodel.cascades.accumulation import in_cascades
from chipmodel.geometry.interval import Interval
from chipmodel.geometry.share import Share
from chipmodel.model.schedule import CascadePlan, Operand, Step, steps
from chipmodel.records import dataclass
from reports.run.lifetimes import passes


@dataclass(frozen=True, slots=True)
class RowsBox:
    """Rows that one step made, while a later step still reads them, in one piece of their buffer."""

    tensor: str
    rows: Interval
    of_rows: int
    step: str
    """The label of the step that made them."""
    held: Interval
    """All rows in the buffer once that step had ended."""
    at: Interval
    """The bytes that they take, from the start of the buffer."""
    buffer: str
    span: Interval
    """Cycles."""
    columns: str = ""
    """Which columns of the rows, in words; empty for all."""


@dataclass(frozen=True, slots=True)
class CascadeRun:
    """One run of a cascade on a ``core``, from its first step to its last, in cycles."""

    plan: CascadePlan
    span: Interval
    core: int = 0

    @property
    def name(self) -> str:
        return self.plan.name


def cascade_runs(result: Result) -> tuple[CascadeRun, ...]:
    """Each run of each cascade in order of time."""
    views = [(plan.core, result.on_core(plan.core)) for plan in result.cores] or [(0, result)]
    runs = [
        CascadeRun(plan, walk.alive(plan.steps), core)
        for core, seen in views
        if seen.schedule.cascades
        for walk in passes(seen.trace)
        for plan in seen.schedule.cascades
    ]
    return tuple(sorted((each for each in runs if len(each.span)), key=lambda b: (b.span.start, b.core)))


def cascade_op_names(result: Result) -> frozenset[str]:
    """The ops of all cascades."""
    return frozenset(name for plan in result.schedule.cascades for name in plan.ops)


def rows_boxes(result: Result, most: int) -> tuple[RowsBox, ...]:
    """The rows in the buffers of all cascades, at most ``most`` boxes, of one core's ``result``."""
    if not result.schedule.cascades:
        return ()
    listed = tuple(steps(result.schedule.body))
    members = [plan.members for plan in result.schedule.cascades]
    result = replace(result, program=in_cascades(result.program, members))
    made = [box for plan in result.schedule.cascades for box in _made(result, plan, listed)]
    every = (
        replace(box, span=span)
        for walk in passes(result.trace)
        for box in made
        if len(span := walk.alive(box.span))
    )
    return tuple(islice(every, most))


def _made(result: Result, plan: CascadePlan, listed: tuple[Step, ...]) -> Iterator[RowsBox]:
    """The boxes of a cascade over positions: from the step that makes rows to the last that reads them."""
    inside = [step for step in listed if step.position in plan.steps]
    each = len(inside) // plan.bands  # every band has as many steps
    bands = [inside[number * each : (number + 1) * each] for number in range(plan.bands)]
    for tensor in plan.inside:
        for band in bands:
            yield from _of_tensor(result, tensor, band)


def _of_tensor(result: Result, tensor: str, inside: list[Step]) -> Iterator[RowsBox]:
    uses = _tensor_uses(result, tensor, inside)
    if not uses.writes:
        return
    later = uses.last_reads()
    for number, (step, rows) in enumerate(uses.writes):
        held = Interval(uses.oldest_after(step.position, rows), rows.stop)
        for piece, last in _runs(rows, later[number]):
            first = piece.start if uses.rolls else piece.start - rows.start
            taken = Interval(first * uses.row_bytes, (first + len(piece)) * uses.row_bytes)
            of_tensor = (tensor, piece, uses.of_rows, step.label, held)
            lives = Interval(step.position, last + 1)
            for at in places(taken, uses.turn):
                yield RowsBox(*of_tensor, at, uses.buffer, lives, uses.columns)


@dataclass(frozen=True, slots=True)
class _TensorUses:
    """The rows of a tensor inside a cascade that each step writes and reads, in order of position."""

    writes: list[tuple[Step, Interval]]
    reads: list[tuple[Step, Interval]]
    of_rows: int
    row_bytes: int
    rolls: bool
    again: bool
    """Whether rows are computed again for each step that reads some."""
    buffer: str
    turn: int
    """Bytes of the rolling buffer."""
    columns: str

    def last_reads(self) -> list[list[int]]:
        """For each write and row of it the position of the last step that reads it, else its own."""
        last = [[step.position] * len(rows) for step, rows in self.writes]
        latest: dict[int, int] = {}
        """For each row the number of the write that it is from."""
        number = 0
        for step, read in self.reads:
            while number < len(self.writes) and self.writes[number][0].position < step.position:
                made = self.writes[number][1]
                latest |= dict.fromkeys(range(made.start, made.stop), number)
                number += 1
            for row in (row for row in range(read.start, read.stop) if row in latest):
                last[latest[row]][row - self.writes[latest[row]][1].start] = step.position
        return last

    def oldest_after(self, position: int, rows: Interval) -> int:
        """The first row in the buffer after a step that made ``rows``: the first that any later one reads."""
        if not self.rolls:
            return rows.start
        later = islice(self.reads, bisect_right(self.reads, position, key=lambda r: r[0].position), None)
        ahead = islice(later, 1 if self.again else LOOK_AHEAD)
        return min((read.start for _, read in ahead), default=rows.start)


LOOK_AHEAD = 64
"""Reads after a step that are looked at for its oldest row: those of one group of steps and more."""


def _tensor_uses(result: Result, tensor: str, inside: list[Step]) -> _TensorUses:
    writes = [(s, o) for s in inside for o in s.writes if o.part.name == tensor]
    reads = [(s, o) for s in inside for o in s.reads if o.part.name == tensor and not o.part.weights]
    of_rows = max((o.part.share.of_rows for _, o in (*writes, *reads)), default=1)
    first = writes[0][1] if writes else None
    size = result.program.tensors[tensor].bytes
    turn = 0 if first is None else first.bytes or result.schedule.buffers[first.buffer].bytes
    return _TensorUses(
        writes=[(step, _rows(operand, of_rows)) for step, operand in writes],
        reads=[(step, _rows(operand, of_rows)) for step, operand in reads],
        of_rows=of_rows,
        row_bytes=(size if first is None else first.part.share.band_bytes(size)) // of_rows,
        rolls=any(operand.rolls for _, operand in writes),
        again=any(tensor in plan.again for plan in result.schedule.cascades),
        buffer=first.buffer if first else "",
        turn=turn,
        columns=column_words(first.part.share) if first else "",
    )


def column_words(share: Share) -> str:
    """`` columns 4 to 7 of 12`` after a comma; nothing for all columns."""
    return f", columns {row_words(share.columns)} of {share.of_columns:,}" if share.banded else ""


def _rows(operand: Operand, of_rows: int) -> Interval:
    """The rows of an operand, of ``of_rows``."""
    share = operand.part.share
    return Interval(
        share.rows.start * of_rows // share.of_rows, -(-share.rows.stop * of_rows // share.of_rows)
    )


def _runs(rows: Interval, last: list[int]) -> Iterator[tuple[Interval, int]]:
    """``rows`` cut where their last reads differ, and the last read of each piece."""
    start = rows.start
    for position, group in groupby(last):
        length = len(list(group))
        yield Interval(start, start + length), position
        start += length


def places(moved: Interval, turn: int) -> tuple[Interval, ...]:
    """Where bytes of a tensor lie in a rolling buffer of ``turn`` bytes: two pieces if they pass its end."""
    start = moved.start % turn
    if start + len(moved) <= turn:
        return (Interval(start, start + len(moved)),)
    return (Interval(start, turn), Interval(0, start + len(moved) - turn))


def row_words(rows: Interval) -> str:
    """``4`` or ``4 to 7``: the first and the last row."""
    return f"{rows.start:,}" if len(rows) == 1 else f"{rows.start:,} to {rows.stop - 1:,}"
