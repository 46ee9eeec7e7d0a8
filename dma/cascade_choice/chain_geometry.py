"""A straight chain of ops, and all that the bytes and cycles of its cascades are estimated from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np

from chipmodel.cascades.accumulation import accumulating
from chipmodel.cascades.arrivals import late_arrival
from chipmodel.cascades.shape import may_cascade, tensors_in_rows
from chipmodel.geometry.interval import Interval
from chipmodel.geometry.window import Window
from chipmodel.hardware.chip import Chip
from chipmodel.model.cascade_work import Band, CascadeWork
from chipmodel.model.program import Op, Program
from chipmodel.model.work import Conv, Pool
from chipmodel.npu.cycles import op_cycles
from chipmodel.timing.transfer import transfer_cycles
from dma.cascade_choice.band_widths import BandedOps
from dma.cascade_choice.row_reach import RowReach, row_reach
from dma.cascade_choice.straight_chains import LiveAround
from dma.cascade_choice.stripe_heights import Counts, StripeHeights, distinct, proportional_heights

MAX_OPS = 32
"""Ops of one cascade: longer ones hold more weights and rows than they save."""
NEVER_CHAINED = ("dense", "matmul", "transposed_conv")
"""Kinds of ops that Arm's compiler leaves out of cascades, beside those of several inputs."""
STEP_CYCLES = 1
"""Cycles added for each step, so that of equally fast cascades the one with fewer steps is taken."""


class StreamedInput(NamedTuple):
    """An input of the program that an op reads, how it does, and the op of the chain that reads it next."""

    name: str
    reach: RowReach
    until: int


class CascadeStart(NamedTuple):
    """A cascade's first op, the bytes of whole tensors while it runs, and whether anything but its ops needs
    what the first one makes."""

    start: int
    outside: int
    leaves: bool


@dataclass
class ChainGeometry:
    """A straight chain of ops with what its cascades' rows depend on."""

    program: Program
    chip: Chip
    ops: Sequence[Op]
    first: int
    """The number of its first op."""
    around: LiveAround
    chained: bool = False
    """Whether cascades are those of Arm's compiler (Vela 5.2.0, ``CascadeBuilder``): each op reads one tensor
    of several rows and hands it on to the next op alone. No op of two tensors is in one."""

    def __post_init__(self) -> None:
        self._cycles: dict[tuple[int, int, Window | int | None], int] = {}
        self._widths: dict[tuple[int, Band], Window | int] = {}
        self.starts, self.step_cycles = cache(self._starts), cache(self._step_cycles)
        self.inner = [accumulating(self.program, op) for op in self.ops]
        """The ops as they run in a cascade."""
        self.rows = tensors_in_rows(self.program, self.inner)
        made = {name: index for index, op in enumerate(self.ops) for name in op.outputs}
        self.readers: list[list[tuple[int, RowReach]]] = [[] for _ in self.ops]
        """Who reads the outputs of each op in this chain, and how."""
        self.fits = [self._may_cascade(op) for op in self.inner]
        for index, op in enumerate(self.inner):
            for operand, name in enumerate(op.inputs):
                if self.fits[index] and made.get(name, index) < index:
                    added = self.inner[made[name]].accumulator is not None
                    reach = RowReach(self.rows[name]) if added else row_reach(op, operand, self.rows)
                    self.readers[made[name]].append((index, reach))
        self.streamed = [list(self._streamed(index)) for index in range(len(self.ops))]
        """The inputs of the program that each op reads, in stripes if it is the only one of its cascade."""
        self.op_rows = [self.rows[op.outputs[0]] if op.outputs else 1 for op in self.ops]
        self.row_bytes = [
            sum(self.program.tensors[name].bytes // self.rows[name] for name in op.outputs) for op in self.ops
        ]
        self.made_bytes = [sum(self.program.tensors[name].bytes for name in op.outputs) for op in self.ops]
        self.banded = BandedOps(self.program, self.ops)
        self.sums = [op.carried.bytes if op.carried else 0 for op in self.inner]
        """Bytes of the accumulators, or of the state, of each op."""
        self.alike = list(_alike(self.inner))
        self.weights = [self.program.block_bytes(op) for op in self.ops]
        self.load_cycles = [
            transfer_cycles(self.chip, "weights", size) if size else 0 for size in self.weights
        ]

    def _streamed(self, index: int) -> Iterator[StreamedInput]:
        op, table = self.inner[index], self.around.table
        for operand, name in enumerate(op.inputs if self.fits[index] else ()):
            if table.may_stream(name) and op.inputs.count(name) == 1:
                others = {t.position - self.first for t in table.touches[name]} - {index}
                until = min((each for each in others if each > index), default=len(self.ops))
                if not others or self.around.inputs_apart:
                    yield StreamedInput(name, row_reach(op, operand, self.rows), until)

    def _may_cascade(self, op: Op) -> bool:
        if not may_cascade(op) or op.cascade:
            return False
        made = self.rows[op.outputs[0]]
        if self.chained and (made == 1 or len({*op.inputs}) != 1 or op.kind in NEVER_CHAINED):
            return False
        return op.work.rows % made == 0 and all(self.rows[name] == made for name in op.outputs)

    def cycles(self, index: int, rows: int, band: Band | None = None) -> int:
        """NPU cycles of ``rows`` rows of the output of an op, in all columns or those of a ``band``."""
        key = self.alike[index], rows, None if band is None else self._width(index, band)
        if key not in self._cycles:
            op = self.inner[index]
            assert not isinstance(op.work, CascadeWork)
            each = op.work.rows // self.op_rows[index]
            self._cycles[key] = op_cycles(self.chip.npu, op, rows * each, op.work.channels, band)
        return self._cycles[key]

    def _width(self, index: int, band: Band) -> Window | int:
        """What the cycles of an op in a band depend on: its columns of a window, or their number."""
        key = self.alike[index], band
        if key not in self._widths:
            work = self.ops[index].work
            columns = band.columns
            self._widths[key] = (
                work.window.in_band(columns) if isinstance(work, Conv | Pool) else len(columns)
            )
        return self._widths[key]

    def _step_cycles(self, index: int, height: int) -> int:
        """NPU cycles of a whole op in steps of ``height`` rows, and ``STEP_CYCLES`` for each."""
        rows = self.op_rows[index]
        height = min(rows, height)
        whole, rest = divmod(rows, height)
        cycles = whole * self.cycles(index, height) + (self.cycles(index, rest) if rest else 0)
        return cycles + STEP_CYCLES * (whole + bool(rest))

    def sums_of(self, index: int, heights: Counts) -> Counts:
        """Bytes of the accumulators, or of the state, of an op in steps of each of ``heights``."""
        found: Counts = np.where(heights < self.op_rows[index], self.sums[index], 0)
        return found

    def cycles_of(self, index: int, rows: Counts) -> Counts:
        """``cycles`` of each of ``rows``, in all columns."""
        each, place = distinct(rows)
        found: Counts = np.array([self.cycles(index, n) for n in each.tolist()], np.int64)[place]
        return found

    def step_cycles_of(self, index: int, heights: Counts) -> Counts:
        """``step_cycles`` of each of ``heights``."""
        each, place = distinct(heights)
        found: Counts = np.array([self.step_cycles(index, n) for n in each.tolist()], np.int64)[place]
        return found

    def stripes(self, rolls: bool, bands: int = 1) -> StripeHeights:
        """For cascades that end before each op: one row at a time, if a tensor inside ``rolls``, then stripes
        of 1, 2, 4, ... rows of the last op with as many rows of the others as belong to them."""
        ends = [stop for stop in range(1, len(self.ops) + 1) if self.fits[stop - 1]]
        options = [(stop, height) for stop in ends for height in self._heights(stop, rolls)]
        return proportional_heights(self.op_rows, options, bands)

    def proportional(self, start: int, stop: int, height: int) -> list[int]:
        """Return the rows of ops ``[start, stop)`` for ``height`` rows of the last one, at least one each."""
        total = self.op_rows[stop - 1]
        return [max(1, rows * height // total) for rows in self.op_rows[start:stop]]

    def _heights(self, stop: int, rolls: bool) -> Iterator[int]:
        if rolls:
            yield 0
        height = 1
        while height < self.op_rows[stop - 1]:
            yield height
            height *= 2

    def _starts(self, stop: int) -> Sequence[CascadeStart]:
        """The starts of cascades that end before ``stop``, from that of the single op before it on: each op
        but the last makes what a later one reads, and what other cores make arrives in time."""
        outside = zip(self._begins(stop), self.around.outside(self.first + stop), strict=False)
        return [
            CascadeStart(start, size, start < stop - 1 and self._leaves(start, stop))
            for start, size in outside
        ]

    def _begins(self, stop: int) -> Iterator[int]:
        yield stop - 1
        for start in range(stop - 2, max(-1, stop - 1 - MAX_OPS), -1):
            reads = any(reader < stop for reader, _ in self.readers[start])
            forks = self.chained and self._leaves(start, start + 2)
            if not self.fits[start] or not reads or forks or late_arrival(self.program, self.ops[start:stop]):
                break
            yield start

    def _leaves(self, index: int, stop: int) -> bool:
        """Whether anything but the ops up to ``stop`` needs what an op makes."""
        ops = Interval(self.first + index, self.first + stop)
        return not all(self.around.is_inside(name, ops) for name in self.ops[index].outputs)


def _alike(ops: Sequence[Op]) -> Iterator[int]:
    """Yield the first op on which parts of rows take the same cycles, by op."""
    first: dict[object, int] = {}
    for index, op in enumerate(ops):
        operands = len(op.inputs), len(op.outputs), bool(op.weights), op.accumulator and op.accumulator.bytes
        yield first.setdefault((op.kind, op.work, op.dtype, op.cycles, op.views, operands), index)
