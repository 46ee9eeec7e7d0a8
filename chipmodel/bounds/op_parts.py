"""In how many stripes and slices an op may run on its own, and what each of them has."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from itertools import pairwise

from chipmodel.cascades.accumulation import accumulating
from chipmodel.geometry.interval import Interval
from chipmodel.geometry.rounding import round_up
from chipmodel.geometry.share import Share
from chipmodel.hardware.chip import Chip
from chipmodel.model.program import Op, Program
from chipmodel.model.work import Conv, Matmul, Pool, Vector
from chipmodel.npu.models import launch_cycles
from solvers.fluid.problem import PART_COUNTS, STRIPE_RANGES, UNLIMITED

STEPS = 16
"""Steps from the number of parts in which an op just fits to twice as many, where all that moves has room
meanwhile (assumed)."""
MANY_LOADS = 2
"""Loads of an op's weights from which on each byte counts with its share of their set-ups (assumed)."""
CUT_FROM = 4
"""An op may be cut along other axes if one row by one channel takes more than this part of SharedMemory."""
FEW_PARTS = (4, 8, 12)
"""Numbers of parts that begin a range of their own where not all of an op in rows with weights has room: what
moves beside the most parts of a range counts with the cycles of the least (assumed)."""
SLICES = (2, 4, 8, 16)
"""Slices of which the least stripes begin ranges of their own, ``RANGES`` of one number each (assumed)."""
RANGES = 7
MOST_ROWS = 1024
"""Rows of an op that are looked at one by one."""


class OpParts:
    """Parts of the ops of a program, in a SharedMemory."""

    def __init__(self, program: Program, chip: Chip, cascades: bool) -> None:
        self.program, self.cascades, self.memory = program, cascades, chip.shared_memory
        self.capacity, self.launch = chip.shared_memory.bytes, launch_cycles(chip.npu)
        self._least_part = cache(self._least_part_of)

    def counts(self, op: Op) -> tuple[int, ...]:
        """Return numbers of parts: some of all sizes, and more from where all of an op just fits, and from
        where its weights do beside its whole tensors, or beside its inputs."""
        weights, channel = self.program.block_bytes(op), self._channel_bytes(op)
        least = {max(1, -(-self._tile_bytes(op) // self.capacity))}
        for whole in (*op.inputs, *op.outputs), op.inputs:
            room = self.capacity - self._tensor_bytes(whole)
            if weights > room > 0 and op.work.rows == 1:
                least.add(-(-weights // max(1, room // channel * channel)))
        near = {-(-each * (STEPS + step) // STEPS) for each in least - {1} for step in range(STEPS + 1)}
        cut = weights and op.work.rows > 1 and self._tile_bytes(op) > self.capacity
        few = FEW_PARTS if cut else ()
        return tuple(sorted({*PART_COUNTS, *near, *few}))

    def stripe_ranges(self, op: Op) -> tuple[tuple[int, int], ...]:
        """Return numbers of stripes of parts that are slices, too: more where not all of the op has room."""
        weights = self.program.block_bytes(op)
        if not weights or self._tile_bytes(op) <= self.capacity or op.work.rows == 1:
            return () if self.launch else STRIPE_RANGES
        reads, makes = self._tensor_bytes(op.inputs), self._tensor_bytes(op.outputs)
        starts = {least for least, _ in STRIPE_RANGES}
        for slices in SLICES:
            room = max(1, self.capacity - weights // slices)
            fewest = -(-(reads + makes // slices) // room)
            starts |= {*range(fewest, fewest + RANGES)}
        least = sorted(each for each in starts if 2 <= each <= op.work.rows)
        return tuple((each, after - 1) for each, after in pairwise((*least, UNLIMITED + 1)))

    def _channel_bytes(self, op: Op) -> int:
        """Bytes of the weights of one channel; 1 where slices of an op may have other bytes, or where it may
        be cut into sums."""
        weights, channels = self.program.block_bytes(op), op.work.channels
        if weights % channels or not isinstance(op.work, Conv | Matmul) or op.gathers:
            return 1
        return 1 if self._may_be_sums(op) else max(1, weights // channels)

    def _may_be_sums(self, op: Op) -> bool:
        """Whether one row by one channel of an op may not fit, so that it is cut into sums."""
        return self._least_part(op) > self.capacity

    def _least_part_of(self, op: Op) -> int:
        """Bytes that one row by one channel of an op takes, at most."""
        channel, one = -(-self.program.block_bytes(op) // op.work.channels), Interval(0, 1)
        sizes = {name: self.program.tensors[name].bytes for name in (*op.inputs, *op.outputs)}
        whole = self._padded((channel, *sizes.values()))
        if whole <= self.capacity // CUT_FROM:
            return whole
        most = [channel, *(op.writes(name, one, one).bytes(sizes[name]) for name in op.outputs)]
        for index, name in enumerate(op.inputs):
            most.append(max(share.bytes(sizes[name]) for share in _row_shares(op, index)))
        return min(whole, self._padded(most))

    def _padded(self, sizes: Iterable[int]) -> int:
        return sum(round_up(each, self.memory.alignment) for each in sizes)

    def weight_loads(self, op: Op, new: int) -> tuple[int, int]:
        """Return bytes of one channel of an op whose weights are all ``new``, and the most that one load
        brings, if they take many: beside what every slice reads."""
        if not new or new != self.program.block_bytes(op):
            return 1, 0
        channel = self._channel_bytes(op)
        read = {name for name in op.inputs if op.work.rows == 1 and self.slices_read_all(op, name)}
        room = self.capacity - self._tensor_bytes(read)
        most = room // channel * channel
        return channel, most if 0 < most * MANY_LOADS <= new else 0

    def _tile_bytes(self, op: Op) -> int:
        """Bytes of all that an op reads and makes."""
        return self._tensor_bytes((*op.inputs, *op.outputs)) + self.program.block_bytes(op)

    def _tensor_bytes(self, names: Iterable[str]) -> int:
        return sum(self.program.tensors[name].bytes for name in {*names})

    def is_even(self, op: Op) -> bool:
        """Return whether stripes have equal shares of all that an op reads and makes (``FluidOp.even``)."""
        if op.gathers or op.sliced or op.accumulator or op.absorbs or len(op.outputs) != 1:
            return False
        if not op.weights and op.work.channels > 1:  # its parts may be slices
            return False
        if self._least_part(op) > self.capacity // CUT_FROM:
            return False
        size, one = self.program.tensors[op.outputs[0]].bytes, Interval(0, 1)
        made = op.writes(op.outputs[0], one, Interval(0, op.work.channels)).bytes(size)
        known = (self.overlap(op, name) is not None for name in op.inputs)
        return made * op.work.rows == size and all(known)

    def overlap(self, op: Op, name: str) -> int | None:
        """Return bytes of an input that a stripe reads beyond its share of the rows, if it is neither the
        first nor the last; None where a stripe may read less than that share."""
        operand, work = op.inputs.index(name), op.work
        if op.inputs.count(name) > 1:
            return None
        if operand in op.whole:
            return 0
        if isinstance(work, Vector):
            return None if work.cut or work.reach else 0
        if not isinstance(work, Conv | Pool) or operand or work.solid or work.batch > 1:
            return None
        rows = None if isinstance(work, Conv) and work.summed is not None else work.window.overlapping_rows
        return None if rows is None else rows * self.program.tensors[name].bytes // work.window.in_h

    def stripes_read_apart(self, op: Op, name: str) -> bool:
        """Return whether two stripes in a row never read the same rows of an input."""
        if self.overlap(op, name) is None or op.inputs.index(name) in op.whole or op.gathers or op.sliced:
            return False
        if isinstance(op.work, Vector):
            return op.inputs.index(name) not in op.work.broadcast
        assert isinstance(op.work, Conv | Pool)
        return op.work.window.reach_h <= op.work.window.in_h

    def slices_read_all(self, op: Op, name: str) -> bool:
        """Return whether every slice of the output's channels reads the same part of an input. What hardly
        fits may be cut into sums, which do not."""
        added = self.cascades and accumulating(self.program, op).accumulator
        if added or isinstance(op.work, Vector) or op.inputs.count(name) != 1:
            return False
        channels = op.work.channels
        if self._may_be_sums(op):
            return False
        ends = (Interval(0, 1), Interval(channels - 1, channels), Interval(0, channels))
        rows = Interval(0, op.work.rows)
        return len({op.reads(op.inputs.index(name), rows, each) for each in ends}) == 1


def _row_shares(op: Op, operand: int) -> set[Share]:
    """Return what single rows of ``op``, each by the first channel, read of an operand; of more rows than
    ``MOST_ROWS`` those among which is the largest share, or one that is as large as any."""
    one, work = Interval(0, 1), op.work
    if work.rows <= MOST_ROWS:
        return {op.reads(operand, row, one) for row in units(work.rows)}
    if isinstance(work, Vector) and work.cut and operand not in op.whole and op.inputs[operand] != op.sliced:
        return {work.cut.most_needed(operand)}
    # No row reads more than one in the middle of an image; of a transposed window every so many are alike.
    image = work.window.out_h if isinstance(work, Conv | Pool) else work.rows
    middle = min(image, work.rows) // 2
    return {op.reads(operand, Interval(row, row + 1), one) for row in range(middle, middle + MOST_ROWS // 2)}


def units(count: int) -> Iterator[Interval]:
    """Yield each of so many rows, or columns."""
    return (Interval(at, at + 1) for at in range(count))
