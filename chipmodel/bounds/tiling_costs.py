"""What cutting an op into stripes of rows and slices of channels takes and costs at least."""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from itertools import pairwise, product
from typing import NamedTuple

from chipmodel.bounds.op_costs import least_cycles, read_share
from chipmodel.bounds.program_windows import Costs
from chipmodel.chip.chip import Chip
from chipmodel.model.interval import Interval
from chipmodel.model.program import Op, Program
from chipmodel.model.work import Conv, Pool
from dma.residency.tiling import Tiling, samples, slice_bytes


class Cut(NamedTuple):
    """Numbers of stripes and of slices, from the least to the most."""

    stripes: int
    most_stripes: int
    slices: int
    most_slices: int


class Facts:
    """An op on a chip, whatever passes; ``npu`` remembers what it was asked."""

    def __init__(self, program: Program, chip: Chip, op: Op) -> None:
        self.program, self.chip, self.op = program, chip, op
        self.costs = Costs(chip)
        self.rows, self.channels = op.work.rows, op.work.channels
        self.least = least_cycles(chip.npu, op)
        self._npu: dict[tuple[int, int], int] = {}

    def npu(self, stripes: int, slices: int) -> int:
        """NPU cycles that so many stripes and slices, or more, add at least."""
        key = stripes, slices
        if key not in self._npu:
            self._npu[key] = least_cycles(self.chip.npu, self.op, *key) - self.least
        return self._npu[key]


class Case:
    """An op cut with ``room`` bytes beside operands that are ``kept`` whole."""

    def __init__(self, facts: Facts, kept: frozenset[str], weights: bool, room: int) -> None:
        self.facts, self.kept, self.room = facts, kept, room
        self.program, self.op = facts.program, facts.op
        self.rows, self.channels = facts.rows, facts.channels
        sized = [n for n in dict.fromkeys(self.op.inputs) if self.program.tensors[n].bytes]
        self.loads = [n for n in sized if n not in kept]
        self.stores = [n for n in self.op.outputs if n not in kept and self.program.tensors[n].bytes]
        self.weights = self.program.block_bytes(self.op) if weights else 0
        self.one_channel = -(-self.weights // max(1, self.channels))

    def stripes_alike(self, name: str) -> bool:
        """Whether all stripes read the same of an input."""
        return len(self._shares(name, True)) == 1

    def slices_alike(self, name: str) -> bool:
        """Whether all slices read the same of an input."""
        return len(self._shares(name, False)) == 1

    def _shares(self, name: str, rows: bool) -> set[object]:
        index = self.op.inputs.index(name)
        every, total = (Interval(0, 1), self.rows if rows else self.channels)
        ends = (every, Interval(total - 1, total))
        whole = Interval(0, self.channels if rows else self.rows)
        return {self.op.reads(index, e, whole) if rows else self.op.reads(index, whole, e) for e in ends}

    def halo(self) -> int:
        """Bytes of the first input that each border between two stripes has read twice, at least."""
        work = self.op.work
        if not isinstance(work, Conv | Pool) or work.window.transposed or work.batch > 1:
            return 0
        name = self.op.inputs[0]
        if name in self.kept or not self.program.tensors[name].bytes:
            return 0
        each = [work.window.input_rows(Interval(row, row + 1)) for row in range(self.rows)]
        least = min((max(0, a.stop - b.start) for a, b in pairwise(each)), default=0)
        return self.program.tensors[name].bytes * least // work.window.in_h

    def beside(self, slices: int) -> int:
        """Bytes of a slice of weights of so many, but for one channel's."""
        channels = -(-self.channels // slices)
        return 0 if not self.weights else slice_bytes(self.program, self.op, channels) - self.one_channel

    def meanwhile(self, cut: Cut, again: int = 0, halo: int = 0, weights_whole: bool = False) -> int:
        """Bytes of those that move once that can move while tiles compute, where ``again`` bytes and ``halo``
        for each border between two stripes move beside them: what all tiles leave of ``room``. A tile in a
        stripe and a slice alone has its part of all that passes; ``weights_whole``: all weights."""
        if cut.most_stripes * cut.most_slices == 1:
            return 0
        corners = product((cut.stripes, cut.most_stripes), (cut.slices, cut.most_slices))
        left = max(
            stripes * slices * self.room - self._in_tiles(stripes, slices, weights_whole)
            for stripes, slices in corners
        )
        return min(self._once, left - again - 2 * halo * (cut.stripes - 1))

    @cached_property
    def _once(self) -> int:
        """Bytes that move at least, each once."""
        return self.weights + sum(self._read(name) for name in self.loads) + self._written

    @cached_property
    def _written(self) -> int:
        return sum(self.program.tensors[name].bytes for name in self.stores)

    def _read(self, name: str) -> int:
        return int(self.program.tensors[name].bytes * read_share(self.op, name, 1))

    @cached_property
    def _reads(self) -> list[tuple[int, bool, bool]]:
        """Bytes of each input that passes, and whether all stripes or all slices read the same of it."""
        return [(self._read(n), self.stripes_alike(n), self.slices_alike(n)) for n in self.loads]

    def _in_tiles(self, stripes: int, slices: int, weights_whole: bool) -> int:
        """Bytes that tiles take, added up over all of them: what several need counts in each."""
        loads = sum(
            size * (stripes if stripes_alike else 1) * (slices if slices_alike else 1)
            for size, stripes_alike, slices_alike in self._reads
        )
        return loads + self._written + self.weights * stripes * (slices if weights_whole else 1)

    def set_ups(self, stripes: int, slices: int) -> Fraction:
        """Cycles of all transfers but one for each tensor; each part has its own of what differs from part to
        part."""
        loads = sum(
            (1 if stripes_alike else stripes) * (1 if slices_alike else slices) - 1
            for _, stripes_alike, slices_alike in self._reads
        )
        loads += (slices - 1) * bool(self.weights)
        stores = len(self.stores) * (stripes * slices - 1)
        costs = self.facts.costs
        return loads * Fraction(costs.load_once) + stores * Fraction(costs.store_once)

    def again(self, slices: int) -> int:
        """Bytes of inputs that come again for all slices but one."""
        return sum(size for size, _, alike in self._reads if alike) * (slices - 1)

    def bytes(self, stripes: int, slices: int) -> int:
        """Of the smallest stripes with so many parts at most, where they are largest."""
        names = frozenset((*self.loads, *self.stores))
        return largest(self.program, self.op, names, -(-self.rows // stripes), -(-self.channels // slices))


def largest(program: Program, op: Op, names: frozenset[str], rows: int, channels: int) -> int:
    """Bytes that ``names`` take while the largest tile runs, of so many rows and channels at least. Larger
    stripes may see less of an image's padding, but not once the first one reads all rows of the kernel."""
    window = op.work.window if isinstance(op.work, Conv | Pool) else None
    beyond = 0 if window is None else -(-window.pad_top // window.stride_h)
    return min(
        max(tile_bytes(program, op, names, *tile) for tile in samples(op, Tiling(most, channels)))
        for most in range(rows, min(op.work.rows, rows + beyond) + 1)
    )


def last(program: Program, op: Op, names: frozenset[str]) -> int:
    """Bytes that ``names`` take at the end, the last tile being as small as can be."""
    rows, channels = op.work.rows, op.work.channels
    return tile_bytes(program, op, names, Interval(rows - 1, rows), Interval(channels - 1, channels))


def tile_bytes(program: Program, op: Op, names: frozenset[str], rows: Interval, channels: Interval) -> int:
    """Bytes of one tile's stripes of ``names``; of a tensor that is two operands each part once."""
    shares = {(n, op.reads(i, rows, channels)) for i, n in enumerate(op.inputs) if n in names}
    shares |= {(n, op.writes(n, rows, channels)) for n in op.outputs if n in names}
    return sum(share.bytes(program.tensors[name].bytes) for name, share in shares)
