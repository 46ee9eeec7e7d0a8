"""The table of numbers that all stretches of a program share: cycles by rows, and rows read by row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence, Set
from dataclasses import replace
from threading import local

import numpy as np

from chipmodel.cascades.row_reads import row_reads
from chipmodel.geometry.interval import Interval
from chipmodel.hardware.chip import Npu
from chipmodel.model.cascade_work import Band
from chipmodel.model.program import Op
from chipmodel.npu.cycles import cycles_of_parts
from chipmodel.npu.models import cycles_by_rows
from dma.columns.ladder import Part
from solvers.columns.kernel import Integers, Stretch

FEW_ROWS = 2
"""Numbers of rows after which all are looked at (assumed): one takes as long as all at once."""
MOST_NUMBERS = 1 << 20
"""Numbers beyond which they are not kept for the next listing (assumed)."""


class KnownNumbers:
    """Numbers of all ops so far, which later listings have in common with this one."""

    def __init__(self, npu: Npu) -> None:
        self.npu = npu
        self.found: list[int] = []
        self.places: dict[tuple[object, ...], int] = {}
        self.parts: dict[tuple[object, ...], dict[Part, int]] = {}
        """NPU cycles of parts of an op by rows and channels."""
        self.shapes: dict[Op, int] = {}
        """Numbers of ops without their names: those that are alike take as long."""
        self.least: dict[tuple[object, ...], int] = {}
        """The least NPU cycles of ops, by shape and accumulator."""
        self.alike: dict[object, Stretch | None] = {}
        """Ops alone and cascades, by what they depend on (``ChainOps.key``)."""


class SharedNumbers:
    """Numbers that are added while the stretches of some ``ops`` are made; ``table`` has all of them."""

    def __init__(self, known: KnownNumbers, ops: Sequence[Op]) -> None:
        self.npu, self.found, self.places, self.parts = known.npu, known.found, known.places, known.parts
        self.least, self.alike, shapes = known.least, known.alike, known.shapes
        self.shape_of = {op.name: shapes.setdefault(unnamed(op), len(shapes)) for op in ops}

    def table(self) -> Integers:
        """All numbers."""
        return np.array(self.found, np.int64)

    def cycles(self, op: Op, parts: Set[Part], band: Band | None = None) -> dict[Part, int]:
        """NPU cycles of parts of ``op`` by their rows and channels."""
        known = self.parts.setdefault((self.shape_of[op.name], op.accumulator is None, _width(band)), {})
        missing = parts - known.keys()
        for channels, count in Counter(channels for _, channels in missing).items():
            if count > FEW_ROWS:
                by_rows = cycles_by_rows(self.npu, op, channels, band)
                known.update(((rows, channels), cycles) for rows, cycles in enumerate(by_rows, 1))
        further = sorted(missing - known.keys())
        known.update(zip(further, cycles_of_parts(self.npu, op, further, band), strict=True))
        return known

    def cycles_by_rows(self, op: Op, rows: int, tried: Sequence[int], band: Band | None = None) -> int:
        """Where the cycles of steps begin by number of rows, of so many; between two of the numbers
        ``tried`` those of the lower one."""
        key = self.shape_of[op.name], op.accumulator is None, rows, tuple(tried), _width(band)
        if key not in self.places:
            parts = {count: (count * (op.work.rows // rows), op.work.channels) for count in {1, rows, *tried}}
            known, found = self.cycles(op, {*parts.values()}, band), np.zeros(rows + 1, np.int64)
            for count, part in parts.items():
                found[count] = known[part]
            self.places[key] = self._put(np.maximum.accumulate(found).tolist())
        return self.places[key]

    def rows_read(self, op: Op, operand: int, made: int, of_rows: int, whole: bool) -> tuple[int, int]:
        """Where the first rows begin, and the ends, that each of ``made`` rows of a cascade's op reads."""
        key = self.shape_of[op.name], operand, made, of_rows, whole
        if key not in self.places:
            read = row_reads(op, operand, made, of_rows)
            spans = [(0, of_rows) if whole else read(row, row + 1) for row in range(made)]
            self.places[key] = self._put([*(start for start, _ in spans), *(stop for _, stop in spans)])
        return self.places[key], self.places[key] + made

    def rows_read_alone(self, op: Op, operand: int, of_rows: int) -> tuple[int, int]:
        """The same of an op on its own."""
        key = self.shape_of[op.name], operand, of_rows
        rows, every = op.work.rows, Interval(0, op.work.channels)
        if key not in self.places:
            shares = [op.reads(operand, Interval(row, row + 1), every) for row in range(rows)]
            spans = [share.rows if share.of_rows == of_rows else Interval(0, of_rows) for share in shares]
            self.places[key] = self._put([*(each.start for each in spans), *(each.stop for each in spans)])
        return self.places[key], self.places[key] + rows

    def _put(self, numbers: Sequence[int]) -> int:
        self.found += numbers
        return len(self.found) - len(numbers)


class _Recent(local):
    """The numbers of a thread's last listings of programs that have ops in common: with concats made in
    place and without, for a plan and then for its bound."""

    known: KnownNumbers | None = None


_RECENT = _Recent()


def shared_numbers(npu: Npu, ops: Sequence[Op]) -> SharedNumbers:
    """Return the numbers of these ops, those of the listings before among them."""
    known = _RECENT.known
    if known is None or known.npu != npu or len(known.found) > MOST_NUMBERS or not _has_any(known, ops):
        known = _RECENT.known = KnownNumbers(npu)
    return SharedNumbers(known, ops)


def _has_any(known: KnownNumbers, ops: Sequence[Op]) -> bool:
    return any(unnamed(op) in known.shapes for op in ops)


def _width(band: Band | None) -> tuple[int, int] | None:
    return None if band is None else (len(band.columns), band.of)


def unnamed(op: Op) -> Op:
    """The op without what its cycles do not depend on."""
    blank = tuple("" for _ in op.inputs), tuple("" for _ in op.outputs), tuple("" for _ in op.weights)
    inputs, outputs, weights = blank
    found = replace(op, name="", inputs=inputs, outputs=outputs, weights=weights, place=None)
    return replace(found, core=None, overwrites=None, by_rows=None)
