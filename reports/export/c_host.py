"""What an example port of a plan to a host needs: the bytes that every line of each op depends on, by
``chipmodel.execute.evaluate``, pseudo-random contents of Psram, and what a right run makes of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from chipmodel.cascades.columns import part_reads
from chipmodel.execute.byte_arrays import Bytes, digests, key_of
from chipmodel.execute.evaluate import joined_runs, line_reads
from chipmodel.execute.machine import RunOptions, execute, memory_before
from chipmodel.execute.op_part import banded_ops
from chipmodel.execute.reference import random_inputs, random_weights
from chipmodel.geometry.interval import Interval
from chipmodel.geometry.share import Share
from chipmodel.model.commands import resolve_path
from chipmodel.model.program import NO_CHOICES, Op
from chipmodel.model.schedule import Part
from chipmodel.model.work import Recurrent
from reports.export.c_tables import Table, Tables
from reports.export.layout import Layout


class HostInput(NamedTuple):
    """An input: its bytes (of one slice), and the first of its lines, of which each row has ``across``."""

    bytes: int
    lines: int
    across: int


class HostOutput(NamedTuple):
    """An output of the network in Psram, and the digest of what a right run leaves there."""

    name: str
    address: int
    bytes: int
    digest: int


def host_data(layout: Layout, tables: Tables) -> tuple[Mapping[str, object], Bytes]:
    """The tables of the port by their names, and the Psram before a run."""
    program, stream = tables.program, layout.commands
    inputs, weights = random_inputs(program), random_weights(program)
    psram, homes = memory_before(program, stream, inputs, weights)
    path = resolve_path(stream, NO_CHOICES)
    seeds = range(2 if any(op.allocates for op in program.ops()) else 1)
    given = program, (stream,), layout.capacity, inputs, weights, path
    runs = [execute(*given, RunOptions(seed)).outputs for seed in seeds]
    outputs = [
        HostOutput(name, homes.tensors[name].start, len(content), int(digests(content[None, :])[0]))
        for name, content in runs[0].items()
        if name in homes.tensors and all(np.array_equal(content, run[name]) for run in runs)
    ]
    nodes: list[tuple[str, int]] = []
    arms: list[str] = []
    for node in tables.nodes:
        nodes.append((node.name, len(arms)))
        arms += node.arms
    made = _Ops(tables, layout, homes.weights)
    ops = [made.op(op) for op in tables.ops.values()]
    data = {
        "shares": made.shares.rows,
        "lines": made.lines,
        "inputs": made.inputs,
        "ops": ops,
        "nodes": nodes,
        "arms": arms,
        "outputs": outputs,
        **made.sizes(),
    }
    image = np.zeros(max((span.stop for span in psram.spans), default=0), np.uint8)
    for span, first in zip(psram.spans, psram.before, strict=False):
        image[span.start : span.stop] = psram.bytes[first : first + len(span)]
    return data, image


def weights_image(layout: Layout, tables: Tables, values: Mapping[str, Bytes]) -> tuple[bytes, list[str]]:
    """Psram up to its last weight, with ``values`` where the plan looks for them; and weights without."""
    program = tables.program
    used = dict.fromkeys(name for op in program.ops() for name in op.constants)
    weights = {name: values.get(name, np.zeros(program.weights[name].bytes, np.uint8)) for name in used}
    psram, homes = memory_before(program, layout.commands, {}, weights)
    image = np.zeros(max((home.stop for home in homes.weights.values()), default=0), np.uint8)
    for home in homes.weights.values():
        image[home.start : home.stop] = psram.read(home.start + np.arange(len(home), dtype=np.int64))
    return image.tobytes(), [name for name in used if name not in values]


class _Ops:
    """Collects the lines of ops."""

    def __init__(self, tables: Tables, layout: Layout, weights: Mapping[Part, Interval]) -> None:
        self.program, self.tables, self.weights = tables.program, tables, weights
        self.banded = banded_ops(self.program, (layout.commands,))
        self.shares, self.lines, self.inputs = Table[Share](), list[int](), list[HostInput]()

    def sizes(self) -> dict[str, int]:
        """The bytes of the largest operand, the most inputs and outputs of an op, its most lines in a row."""
        ops, tensors = [*self.program.ops()], self.program.tensors.values()
        across = max((max(op.work.channels, len(self._columns(op))) for op in ops), default=0)
        sizes = [tensor.bytes for tensor in tensors]
        sizes += [each.bytes for op in ops for each in (op.scratch, op.carried) if each]
        largest = max([*sizes, *self.tables.weight_bytes.values(), 8 * across])
        inputs, outputs = max(len(op.inputs) for op in ops), max(len(op.outputs) for op in ops)
        names = ("largest", "most_inputs", "most_outputs", "most_across")
        return dict(zip(names, (largest, inputs, outputs, across), strict=True))

    def _columns(self, op: Op) -> Interval:
        return self.banded.get(op.name, Interval(0, 0))

    def op(self, op: Op) -> tuple[object, ...]:
        """The row of ``op``, in the order of ``struct op``."""
        program, work, columns = self.program, op.work, self._columns(op)
        joins = joined_runs(op, program)
        image_rows, channels, _ = program.tensors[op.outputs[0]].stored.grid if op.outputs else (1, 1, 1)
        units = min(work.rows, image_rows) if len(columns) else work.rows
        first = len(self.inputs)
        for index in range(len(op.inputs)):
            self.inputs.append(self._input(op, index, joins is None and not op.allocates))
        out = _written(op, work.rows, 1, work.channels)
        if len(columns):
            out = image_rows // units, image_rows // units, image_rows, channels
        sizes = [program.tensors[n].bytes // (op.slices if n == op.sliced else 1) for n in op.outputs]
        table = self.weights.get(Part(op.name, weights=True)) if op.gathers else None
        return (
            int(key_of(op.kind)),
            self.tables.weight_bytes[op.name],
            op.carried.bytes if op.carried else 0,
            table.start + 1 if table else 0,
            tuple(sizes),
            *(first, len(op.inputs), len(op.outputs), work.rows, work.channels, len(columns)),
            *(work.rows // units, joins or 0, *out),
            *(op.allocates, op.gathers, op.accumulator is not None),
            *(isinstance(work, Recurrent) and not work.solid, isinstance(work, Recurrent) and work.backward),
        )

    def _input(self, op: Op, index: int, read: bool) -> HostInput:
        name, columns = op.inputs[index], self._columns(op)
        size = self.program.tensors[name].bytes
        if name == op.sliced:
            size = 0 if op.collects else size // op.slices
        first = len(self.lines)
        across = 1
        for row in self._rows(op, index, columns) if read and size else ():
            across = len(row)
            self.lines += [self.shares.put((share,)).first for share in row]
        return HostInput(size, first, across)

    def _rows(self, op: Op, index: int, columns: Interval) -> Iterator[list[Share]]:
        """The shares that the lines of each row read; a single one where all read the same."""
        program, work = self.program, op.work
        every = Interval(0, work.channels)
        if len(columns):
            units = min(work.rows, program.tensors[op.outputs[0]].stored.grid[0])
            each = work.rows // units
            for unit in range(units):
                rows = Interval(unit * each, (unit + 1) * each)
                single = (Interval(column, column + 1) for column in range(len(columns)))
                yield [part_reads(program, op, index, rows, every, column) for column in single]
            return
        rows_read = [line_reads(op, index, Interval(row, row + 1), every) for row in range(work.rows)]
        across = max(map(len, rows_read), default=1)
        for row_read in rows_read:
            yield row_read if len(row_read) == across else row_read * across


def _written(op: Op, rows: int, each: int, channels: int) -> tuple[int, int, int, int]:
    """The rows of an output that a row of the work makes: how many, their stride, how many there are; and the
    output's channels."""
    work = op.work
    if isinstance(work, Recurrent) and work.directions > 1:
        return work.steps, 0, work.steps, channels
    if isinstance(work, Recurrent):
        each = work.batch
    return each, each, rows * each, channels
