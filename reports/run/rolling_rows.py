"""Which rows of a tensor inside a cascade are in SharedMemory when, and where in their buffer."""

from __future__ import annotations

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
    writes = [(s, o) for s in inside for o in s.writes if o.part.name == tensor]
    reads = [(s, o) for s in inside for o in s.reads if o.part.name == tensor and not o.part.weights]
    if not writes:
        return
    of_rows = max(o.part.share.of_rows for _, o in (*writes, *reads))
    first = writes[0][1]
    row_bytes = first.part.share.band_bytes(result.program.tensors[tensor].bytes) // of_rows
    turn = first.bytes or result.schedule.buffers[first.buffer].bytes
    made = [(step.position, _rows(operand, of_rows)) for step, operand in writes]
    read = [(step.position, _rows(operand, of_rows)) for step, operand in reads]
    for (step, operand), (_, rows), last_reads in zip(writes, made, _last_reads(made, read), strict=True):
        for piece, last in _runs(rows, last_reads):
            begin = piece.start if operand.rolls else piece.start - rows.start
            taken = Interval(begin * row_bytes, (begin + len(piece)) * row_bytes)
            lives = Interval(step.position, last + 1)
            for at in places(taken, turn):
                columns = column_words(first.part.share)
                yield RowsBox(tensor, piece, of_rows, step.label, at, first.buffer, lives, columns)


def _last_reads(made: list[tuple[int, Interval]], read: list[tuple[int, Interval]]) -> list[list[int]]:
    """For each write, by position, and each row of it the position of the last step that reads it, else its
    own."""
    last = [[position] * len(rows) for position, rows in made]
    latest: dict[int, int] = {}
    """For each row the number of the write that it is from."""
    number = 0
    for position, rows in read:
        while number < len(made) and made[number][0] < position:
            latest |= dict.fromkeys(range(made[number][1].start, made[number][1].stop), number)
            number += 1
        for row in (row for row in range(rows.start, rows.stop) if row in latest):
            last[latest[row]][row - made[latest[row]][1].start] = position
    return last


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
