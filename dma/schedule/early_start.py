"""An early start: the first op cut so that it begins when the first part of what it reads is there.

Nothing hides the loads before the first op. In stripes of rows, the first of which may be smaller, it waits
for the first rows of its inputs, in slices of output channels for the first of its weights; the rest arrives
while it computes. Its other operands stay whole in SharedMemory, and the stripe buffers of an input take no
more bytes than all of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from chipmodel.geometry.interval import Interval
from chipmodel.model.program import Op, Program, reads
from chipmodel.npu.cycles import op_cycles
from chipmodel.records import dataclass
from dma.residency.tiling import Tiling, row_blocks, slice_bytes
from dma.schedule.forecast import TransferTimes

PART_COUNTS = (2, 4, 8, 16, 32)
"""Numbers of stripes or slices that are tried."""
FIRST_SHARES = (2, 4, 8, 16)
"""How many times fewer rows than the others the first stripe may have: what it computes hides the load of
the second one, where the op takes that many times longer to compute than to load."""


def early_start(program: Program, times: TransferTimes, op: Op, least: float) -> EarlyStart | None:
    """Return the tiling with which ``op``, the first, ends first; None for a gain of ``least`` at most."""
    first = _first_op(program, times, op)
    cuts: list[_FirstCut] = []
    if first.weights(op.work.channels) > least:
        cuts += first.slices()
    if first.inputs > least:
        cuts += first.stripes()
    best = min(cuts, key=lambda cut: cut.cost, default=None)
    if best and best.tiling.striped:
        best = min(first.smaller_first(best), key=lambda cut: cut.cost)
    return EarlyStart(best.tiling, first.passing) if best and best.cost + least < first.whole().cost else None


class EarlyStart(NamedTuple):
    """The tiling of the first op; with stripes, the inputs ``passing`` are not whole in SharedMemory."""

    tiling: Tiling
    passing: tuple[str, ...]


class _FirstCut(NamedTuple):
    """A tiling, its cost, and when the op ends. The cost has the cycles until then and of all its loads.

    What the DMA engine needs in addition counts as much as what the op ends earlier: weights of later ops may
    wait for it.
    """

    tiling: Tiling
    cost: int
    end: int


@dataclass(frozen=True, slots=True)
class _FirstOpCuts:
    """The cuts of the first op, ``passing`` the inputs that it alone reads, and ``others`` the cycles to load
    all other inputs of the program that it reads."""

    program: Program
    op: Op
    cycles_of: TransferTimes
    passing: tuple[str, ...]
    others: int

    @property
    def inputs(self) -> int:
        """Cycles to load the inputs ``passing`` whole."""
        return sum(self.cycles_of("load", self.program.tensors[name].bytes) for name in self.passing)

    def weights(self, channels: int) -> int:
        """Cycles to load a slice of the weights."""
        size = slice_bytes(self.program, self.op, channels)
        return self.cycles_of("weights", size) if size else 0

    def whole(self) -> _FirstCut:
        tiling = Tiling(self.op.work.rows, self.op.work.channels)
        return self.cut(tiling, self.others + self.inputs, [self.weights(tiling.channels)])

    def slices(self) -> Iterator[_FirstCut]:
        """In slices of the weights."""
        for count in _counts(self.op.work.channels):
            tiling = Tiling(self.op.work.rows, -(-self.op.work.channels // count))
            *most, last = (len(channels) for channels in tiling.slices(self.op))
            loads = [self.weights(tiling.channels)] * len(most) + [self.weights(last)]
            yield self.cut(tiling, self.others + self.inputs, loads)

    def stripes(self) -> Iterator[_FirstCut]:
        """In equal stripes of rows, with as many buffers as the whole inputs have bytes for. Those in the
        middle are taken to be as the second one."""
        for count in _counts(self.op.work.rows):
            rows = -(-self.op.work.rows // count)
            yield from self.striped(Tiling(rows, self.op.work.channels, striped=True))

    def smaller_first(self, best: _FirstCut) -> Iterator[_FirstCut]:
        """``best``, and stripes of which the first is smaller than the others if they end no later."""
        yield best
        for count in () if row_blocks(self.op.work) else _counts(self.op.work.rows):
            rows = -(-self.op.work.rows // count)
            for first in dict.fromkeys(rows // share for share in FIRST_SHARES if share <= rows):
                tiling = Tiling(rows, self.op.work.channels, striped=True, first=first)
                yield from (cut for cut in self.striped(tiling) if cut.end <= best.end)

    def striped(self, tiling: Tiling) -> Iterator[_FirstCut]:
        """The stripes of ``tiling``, where there is more than one buffer for them."""
        every = tiling.stripes(self.op)
        depth = many = len(every)
        ends = [0, 0, 0]
        for name in self.passing:
            size, operand = self.program.tensors[name].bytes, self.op.inputs.index(name)
            for place, number in enumerate((0, min(1, many - 1), many - 1)):
                share = self.op.reads(operand, every.piece(number), Interval(0, tiling.channels))
                part = share.bytes(size)
                depth = min(depth, size // max(1, part))
                ends[place] += self.cycles_of("load", part, share.runs) if part else 0
        loads = [ends[0], *[ends[1]] * (many - 2), ends[2]]
        if depth > 1:
            before = self.others + self.weights(tiling.channels)
            yield self.cut(replace(tiling, depth=depth), before, loads)

    def cut(self, tiling: Tiling, before: int, loads: Sequence[int]) -> _FirstCut:
        """Parts that compute one after the other, each after its own of the ``loads``, which follow those
        ``before``. A stripe takes the buffer of the one ``depth`` stripes earlier."""
        depth = tiling.depth if tiling.striped else len(loads)
        known: dict[tuple[int, int], int] = {}
        ends: list[int] = []
        engine, clock = before, 0
        for index, (rows, channels) in enumerate(tiling.tiles(self.op)):
            size = len(rows), len(channels)
            if size not in known:
                known[size] = op_cycles(self.cycles_of.chip.npu, self.op, *size)
            free = ends[index - depth] if index >= depth else 0
            engine = max(engine, free) + loads[index]
            clock = max(clock, engine) + known[size]
            ends.append(clock)
        return _FirstCut(tiling, clock + before + sum(loads), clock)


def _counts(parts: int) -> list[int]:
    return [count for count in PART_COUNTS if count <= parts]


def _first_op(program: Program, cycles_of: TransferTimes, op: Op) -> _FirstOpCuts:
    read = [name for node in program.nodes() for name in reads(node)]
    own = [name for name in op.inputs if name in program.inputs and program.tensors[name].bytes]
    passing = [name for name in own if read.count(name) == 1 and name not in program.arrivals]
    others = sum(cycles_of("load", program.tensors[name].bytes) for name in set(own) - set(passing))
    return _FirstOpCuts(program, op, cycles_of, tuple(passing), others)
