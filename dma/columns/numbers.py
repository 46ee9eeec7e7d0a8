"""The table of numbers that all stretches of a program share: cycles by rows, and rows read by row."""

from __future__ import annotations

from collections import Counter, deque
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
LISTINGS = 2
"""Programs of which numbers are kept for the next listing: for a plan, and then for its bound."""


class SharedNumbers:
    """Numbers that are added while stretches are made; ``table`` has all of them."""

    def __init__(self, npu: Npu, ops: Sequence[Op]) -> None:
        self.npu, self.ops = npu, ops
        self.found: list[int] = []
        self.places: dict[tuple[object, ...], int] = {}
        self.parts: dict[tuple[object, ...], dict[Part, int]] = {}
        """NPU cycles of parts of an op by rows and channels."""
        self.shapes: dict[Op, int] = {}
        self.shape_of = {op.name: self.shapes.setdefault(unnamed(op), len(self.shapes)) for op in ops}
        """Ops that are alike take as long."""
        self.least: dict[tuple[object, ...], int] = {}
        """The least NPU cycles of ops, by shape and accumulator."""
        self.alike: dict[object, Stretch | None] = {}
        """Cascades, by what they depend on (``ChainOps.key``)."""

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
    """The numbers of the last listings of a thread."""

    def __init__(self) -> None:
        self.known = deque[SharedNumbers](maxlen=LISTINGS)


_RECENT = _Recent()


def shared_numbers(npu: Npu, ops: Sequence[Op]) -> SharedNumbers:
    """Return the numbers of these ops, those of an earlier listing among them."""
    for known in _RECENT.known:
        if known.ops == ops and known.npu == npu:
            return known
    _RECENT.known.append(SharedNumbers(npu, ops))
    return _RECENT.known[-1]


def _width(band: Band | None) -> tuple[int, int] | None:
    return None if band is None else (len(band.columns), band.of)


def unnamed(op: Op) -> Op:
    """The op without what its cycles do not depend on."""
    blank = tuple("" for _ in op.inputs), tuple("" for _ in op.outputs), tuple("" for _ in op.weights)
    inputs, outputs, weights = blank
    found = replace(op, name="", inputs=inputs, outputs=outputs, weights=weights, place=None)
    return replace(found, core=None, overwrites=None, by_rows=None)
