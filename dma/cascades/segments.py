"""What some ops in a row would need and cost as a cascade: bytes and NPU cycles, estimated quickly.

Rows held of a tensor inside are estimated for the middle of the image, where windows are widest; the exact
numbers are those of ``chipmodel.passes.cascades``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from chipmodel.hardware.chip import Chip
from chipmodel.model.cascade_work import Band, CascadeWork
from chipmodel.model.interval import Interval
from chipmodel.model.program import Op, Program
from chipmodel.npu.cycles import op_cycles
from chipmodel.passes.cascade_arrivals import late_arrival
from dma.cascades.band_widths import BandedOps, BandWidth
from dma.cascades.row_reach import RowReach, row_reach
from dma.cascades.straight_runs import LiveAround, run_rows
from dma.timing.transfer import transfer_cycles

MAX_OPS = 32
"""Ops of one cascade. Chosen: longer ones hold more weights and rows than they save."""
STEP_CYCLES = 1
"""Cycles added for each step, so that of equally fast cascades the one with fewer steps is taken. Chosen."""


@dataclass(frozen=True, slots=True)
class CascadeSegment:
    """Ops ``[start, stop)`` of a straight run, as one cascade or a single op, with the bytes of SharedMemory
    and the NPU cycles that they need; ``heights`` is empty for a single op."""

    ops: Interval
    heights: tuple[int, ...]
    bytes: int
    cycles: int
    weights: int
    """Bytes of weights, included in ``bytes`` as far as they must be there at once."""
    outside: int = 0
    """Bytes of whole tensors, without inputs of the program that come in stripes; included in ``bytes``."""
    reloaded: tuple[int, ...] = ()
    """The ops, counted from the first one, whose weights take turns in one buffer (``dma.cascades.reloads``).
    They are not in ``weights``, and the loads that nothing hides are in ``cycles``."""
    bands: int = 1
    """Bands of columns of the last op's output, one after another."""

    @property
    def least(self) -> int:
        """Bytes with all whole tensors in Psram, without the stripes of those that cross the border."""
        return self.bytes - self.outside


class _Around(NamedTuple):
    """A cascade's first op, the bytes of whole tensors while it runs, and whether anything but its ops needs
    what the first one makes."""

    start: int
    outside: int
    leaves: bool


@dataclass
class RunGeometry:
    """A straight run of ops with what its cascades' rows depend on."""

    program: Program
    chip: Chip
    ops: Sequence[Op]
    first: int
    """The number of its first op."""
    around: LiveAround
    rows: dict[str, int] = field(init=False)
    _cycles: dict[tuple[int, int, Band | None], int] = field(
        init=False, default_factory=dict[tuple[int, int, Band | None], int]
    )
    _estimates: dict[tuple[int, bool, tuple[int, ...]], _Rolling | _Recomputed] = field(
        init=False, default_factory=dict[tuple[int, bool, tuple[int, ...]], "_Rolling | _Recomputed"]
    )
    _arounds: dict[int, Sequence[_Around]] = field(init=False, default_factory=dict[int, "Sequence[_Around]"])
    _step_cycles: dict[tuple[int, int], int] = field(init=False, default_factory=dict[tuple[int, int], int])

    def __post_init__(self) -> None:
        self.rows = run_rows(self.program, list(self.ops))
        made = {name: index for index, op in enumerate(self.ops) for name in op.outputs}
        self.readers: list[list[tuple[int, RowReach]]] = [[] for _ in self.ops]
        """By op, who reads its outputs in this run, and how."""
        self.fits = [self._may_cascade(op) for op in self.ops]
        for index, op in enumerate(self.ops):
            for operand, name in enumerate(op.inputs):
                if self.fits[index] and made.get(name, index) < index:
                    self.readers[made[name]].append((index, row_reach(op, operand, self.rows)))
        self.streamed = [list(self._streamed(index)) for index in range(len(self.ops))]
        """By op, the inputs of the program that only it reads, so that they may come in stripes."""
        self.op_rows = [self.rows[op.outputs[0]] if op.outputs else 1 for op in self.ops]
        self.row_bytes = [
            sum(self.program.tensors[name].bytes // self.rows[name] for name in op.outputs) for op in self.ops
        ]
        self.banded = BandedOps(self.program, self.ops)
        self.alike = list(_alike(self.ops))
        self.weights = [self.program.block_bytes(op) for op in self.ops]
        self.load_cycles = [
            transfer_cycles(self.chip, "weights", size) if size else 0 for size in self.weights
        ]

    def _streamed(self, index: int) -> Iterator[tuple[str, RowReach]]:
        op, touches = self.ops[index], self.around.table.touches
        for operand, name in enumerate(op.inputs if self.fits[index] else ()):
            alone = {touch.position for touch in touches[name]} == {self.first + index}
            if name in self.program.inputs and alone and op.inputs.count(name) == 1:
                yield name, row_reach(op, operand, self.rows)

    def _may_cascade(self, op: Op) -> bool:
        if op.sliced is not None or op.gathers or op.allocates or not op.outputs or op.cascade:
            return False
        made = self.rows[op.outputs[0]]
        return (
            op.along_rows and op.work.rows % made == 0 and all(self.rows[name] == made for name in op.outputs)
        )

    def cycles(self, index: int, rows: int, band: Band | None = None) -> int:
        """NPU cycles of ``rows`` rows of the output of an op, in all columns or those of a ``band``."""
        key = self.alike[index], rows, band
        if key not in self._cycles:
            op = self.ops[index]
            assert not isinstance(op.work, CascadeWork)
            each = op.work.rows // self.op_rows[index]
            self._cycles[key] = op_cycles(self.chip.npu, op, rows * each, op.work.channels, band)
        return self._cycles[key]

    def step_cycles(self, index: int, height: int) -> int:
        """NPU cycles of a whole op in steps of ``height`` rows, and ``STEP_CYCLES`` for each."""
        rows = self.op_rows[index]
        height = min(rows, height)
        if (index, height) not in self._step_cycles:
            whole, rest = divmod(rows, height)
            cycles = whole * self.cycles(index, height) + (self.cycles(index, rest) if rest else 0)
            self._step_cycles[index, height] = cycles + STEP_CYCLES * (whole + bool(rest))
        return self._step_cycles[index, height]

    def cascades(
        self,
        stop: int,
        rolls: bool,
        heights: Iterable[list[int]] | None = None,
        most_ops: int = MAX_OPS,
        most_bytes: int | None = None,
        bands: int = 1,
    ) -> Iterator[CascadeSegment]:
        """Every cascade that ends before op ``stop`` of the run, in stripes of a few heights, or of each of
        ``heights`` by op of the run up to ``stop``, as long as rows and weights take ``most_bytes`` or
        less; in so many ``bands`` of columns."""
        last = stop - 1
        if not self.fits[last]:
            return
        around = self._around(stop)[: most_ops + 1]
        if len(around) < 2:
            return
        start = stop - len(around)
        widths = self.banded.widths(start, stop, bands)
        if last not in widths:
            return
        for each in self._heights(start, stop, rolls) if heights is None else heights:
            yield from self._ending(stop, each, around, rolls, most_bytes, widths)

    def _around(self, stop: int) -> Sequence[_Around]:
        """The starts of cascades that end before ``stop``, from that of the single op before it on: each op
        but the last makes what a later one reads, and what other cores make arrives in time."""
        if stop not in self._arounds:
            outside = zip(self._starts(stop), self.around.outside(self.first + stop), strict=False)
            self._arounds[stop] = [
                _Around(start, size, start < stop - 1 and self._leaves(start, stop))
                for start, size in outside
            ]
        return self._arounds[stop]

    def _starts(self, stop: int) -> Iterator[int]:
        yield stop - 1
        for start in range(stop - 2, max(-1, stop - 1 - MAX_OPS), -1):
            reads = any(reader < stop for reader, _ in self.readers[start])
            if not self.fits[start] or not reads or late_arrival(self.program, self.ops[start:stop]):
                break
            yield start

    def _heights(self, start: int, stop: int, rolls: bool) -> Iterator[list[int]]:
        """By op of the run up to ``stop``: one row at a time, then stripes of 1, 2, 4, ... rows of the last
        op with as many rows of the others as belong to them."""
        total = self.op_rows[stop - 1]
        if rolls:
            yield [1] * stop
        height = 1
        while height < total:
            yield self.proportional(start, stop, height)
            height *= 2

    def proportional(self, start: int, stop: int, height: int) -> list[int]:
        """By op of the run up to ``stop``, the rows of ops from ``start`` on that belong to ``height`` rows
        of the last one; one row of those before."""
        total = self.op_rows[stop - 1]
        return [max(1, self.op_rows[k] * height // total) if k >= start else 1 for k in range(stop)]

    def _ending(
        self,
        stop: int,
        heights: list[int],
        around: Sequence[_Around],
        rolls: bool,
        most_bytes: int | None,
        widths: Mapping[int, BandWidth],
    ) -> Iterator[CascadeSegment]:
        last = stop - 1
        bands = widths[last].bands
        estimate = self._estimate(stop, heights, rolls)
        held, weights = 0, self.weights[last]
        cycles = self._in_bands(last, heights[last], estimate.cycles(last), widths[last])
        for start, outside, leaves in around[1:]:
            if start not in widths:
                return
            width = widths[start]
            weights += self.weights[start]
            rows = estimate.held(start)
            if not leaves:
                held += width.of(rows * self.row_bytes[start])
            elif not rolls or bands > 1:
                return
            if most_bytes is not None and held + weights > most_bytes:
                return
            cycles += self._in_bands(start, heights[start], estimate.cycles(start), width)
            own = stripes = 0
            for name, reach in self.streamed[start]:
                whole = self.program.tensors[name].bytes
                own += whole
                read = whole * min(reach.rows, estimate.read(start, reach)) // reach.rows
                stripes += width.of_read(read)
            needed = outside - own + stripes + held + weights
            where = Interval(start, stop)
            yield CascadeSegment(
                where, tuple(heights[start:]), needed, cycles, weights, outside - own, bands=bands
            )

    def _estimate(self, stop: int, heights: list[int], rolls: bool) -> _Rolling | _Recomputed:
        """The rows in such stripes: the same in any number of bands."""
        key = stop, rolls, tuple(heights)
        if key not in self._estimates:
            made = _Rolling(self, stop, heights) if rolls else _Recomputed(self, stop, heights)
            self._estimates[key] = made
        return self._estimates[key]

    def _in_bands(self, index: int, height: int, cycles: int, width: BandWidth) -> int:
        """The NPU cycles of an op in all bands, which takes ``cycles`` in all columns at once."""
        if width.band is None:
            return cycles * width.bands
        rows = min(height, self.op_rows[index])
        banded = self.cycles(index, rows, width.band)
        return width.bands * cycles * banded // max(1, self.cycles(index, rows))

    def _leaves(self, index: int, stop: int) -> bool:
        """Whether anything but the ops up to ``stop`` needs what an op makes."""
        ops = Interval(self.first + index, self.first + stop)
        return not all(self.around.is_inside(name, ops) for name in self.ops[index].outputs)


def _alike(ops: Sequence[Op]) -> Iterator[int]:
    """By op, the first one on which parts of rows take the same cycles."""
    first: dict[object, int] = {}
    for index, op in enumerate(ops):
        operands = len(op.inputs), len(op.outputs), bool(op.weights)
        yield first.setdefault((op.kind, op.work, op.dtype, op.cycles, op.views, operands), index)


class _Rolling:
    """Rows done and held after a few steps of the last op."""

    PHASES = 3
    """Steps of the last op that are looked at: the first one, and consecutive ones in the middle. Chosen."""

    def __init__(self, run: RunGeometry, stop: int, heights: list[int]) -> None:
        self.run, self.stop, self.heights = run, stop, heights
        self.most: dict[int, int] = {}
        self.done = [[0] * stop for _ in range(self.PHASES)]
        height, rows = min(heights[stop - 1], run.op_rows[stop - 1]), run.op_rows[stop - 1]
        middle = rows // 2 // height * height
        self.done[0][stop - 1] = height
        for phase, done in enumerate(self.done[1:]):
            done[stop - 1] = min(rows, middle + (phase + 1) * height)

    def cycles(self, index: int) -> int:
        """NPU cycles of all steps of an op."""
        return self.run.step_cycles(index, self.heights[index])

    def held(self, index: int) -> int:
        """The most rows of an op's output that are there at once. Ops are asked for from the last on."""
        if index not in self.most:
            self.most[index] = self._held(index)
        return self.most[index]

    def _held(self, index: int) -> int:
        rows, height = self.run.op_rows[index], self.heights[index]
        most = 0
        for done in self.done:
            needed, oldest = 1, rows
            for reader, reach in self.run.readers[index]:
                if reader < self.stop:
                    needed = max(needed, reach.stop(done[reader]))
                    oldest = min(oldest, reach.start(max(0, done[reader] - self.heights[reader])))
            done[index] = min(rows, -(-needed // height) * height)
            most = max(most, done[index] - oldest)
        return most

    def read(self, index: int, reach: RowReach) -> int:
        """Rows of an operand from outside that an op reads for one step of the last op."""
        first, before, after = (done[index] for done in self.done)
        return max(reach.stop(first), reach.stop(after) - reach.start(before))


class _Recomputed:
    """Rows that each op computes for a stripe of the last one in the middle of its output."""

    def __init__(self, run: RunGeometry, stop: int, heights: list[int]) -> None:
        self.run, self.stop = run, stop
        height, rows = min(heights[stop - 1], run.op_rows[stop - 1]), run.op_rows[stop - 1]
        self.stripes = -(-rows // height)
        middle = min(rows // 2 // height * height, rows - height)
        self.needed = [Interval(0, 0)] * stop
        self.needed[stop - 1] = Interval(middle, middle + height)

    def cycles(self, index: int) -> int:
        """NPU cycles of all steps of an op."""
        rows = max(1, self.held(index))
        return self.stripes * (self.run.cycles(index, rows) + STEP_CYCLES)

    def held(self, index: int) -> int:
        """Rows of an op's output for one stripe. Ops are asked for from the last on."""
        if index < self.stop - 1 and not len(self.needed[index]):
            reaches = [(self.needed[r], reach) for r, reach in self.run.readers[index] if r < self.stop]
            start = min(reach.start(rows.start) for rows, reach in reaches)
            self.needed[index] = Interval(start, max(reach.stop(rows.stop) for rows, reach in reaches))
        return len(self.needed[index])

    def read(self, index: int, reach: RowReach) -> int:
        """Rows of an operand from outside that an op reads for one stripe."""
        rows = self.needed[index]
        return max(1, reach.stop(rows.stop) - reach.start(rows.start))
