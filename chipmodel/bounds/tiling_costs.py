"""The least bytes and cycles of dividing an op into stripes of rows and slices of channels."""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from itertools import pairwise, product
from typing import NamedTuple

from chipmodel.bounds.program_windows import LeastTransferCosts
from chipmodel.geometry.interval import Interval
from chipmodel.hardware.chip import Chip
from chipmodel.model.program import Op, Program
from chipmodel.model.work import Conv, Pool, Vector
from chipmodel.npu.least_costs import least_cycles, read_share
from dma.residency.tiling import Tiling, samples, slice_bytes


class PartRange(NamedTuple):
    """A range of numbers of stripes and of slices, each from the least to the most."""

    stripes: int
    most_stripes: int
    slices: int
    most_slices: int


class OpOnChip:
    """An op on a chip, with its least costs; NPU cycles are remembered."""

    def __init__(self, program: Program, chip: Chip, op: Op) -> None:
        self.program, self.chip, self.op = program, chip, op
        self.costs = LeastTransferCosts(chip)
        self.rows, self.channels = op.work.rows, op.work.channels
        self.least = least_cycles(chip.npu, op)
        self._npu: dict[tuple[int, int], int] = {}
        self._repeated: dict[str, int] = {}

    def npu(self, stripes: int, slices: int) -> int:
        """The least NPU cycles that at least so many stripes and slices add."""
        key = stripes, slices
        if key not in self._npu:
            self._npu[key] = least_cycles(self.chip.npu, self.op, *key) - self.least
        return self._npu[key]

    def repeated_rows(self, name: str) -> int:
        """How many rows of the op read the same part of an input as the row before. A stripe that begins with
        such a row may read the same as the stripe before it, which is then not loaded again."""
        if isinstance(self.op.work, Vector) and self.op.work.cut:
            return self.rows - 1  # at least one part is another one
        if name not in self._repeated:
            index, channels = self.op.inputs.index(name), Interval(0, self.channels)
            parts = (self.op.reads(index, Interval(r, r + 1), channels) for r in range(self.rows))
            self._repeated[name] = sum(a == b for a, b in pairwise(parts))
        return self._repeated[name]


class StreamedTiling:
    """An op whose operands are streamed in ``capacity`` bytes, except those that are ``kept`` whole."""

    def __init__(self, on_chip: OpOnChip, kept: frozenset[str], weights: bool, capacity: int) -> None:
        self.on_chip, self.kept, self.capacity = on_chip, kept, capacity
        self.program, self.op = on_chip.program, on_chip.op
        self.rows, self.channels = on_chip.rows, on_chip.channels
        sized = [n for n in dict.fromkeys(self.op.inputs) if self.program.tensors[n].bytes]
        self.loads = [n for n in sized if n not in kept]
        self.stores = [n for n in self.op.outputs if n not in kept and self.program.tensors[n].bytes]
        self.weights = self.program.block_bytes(self.op) if weights else 0
        self.one_channel = -(-self.weights // max(1, self.channels))

    def stripes_alike(self, name: str) -> bool:
        """Whether all stripes read the same part of an input."""
        if isinstance(self.op.work, Vector) and self.op.work.cut:
            return not self.op.work.cut.depends(self.op.inputs.index(name), True)
        return len(self._shares(name, True)) == 1

    def slices_alike(self, name: str) -> bool:
        """Whether all slices read the same part of an input."""
        if isinstance(self.op.work, Vector) and self.op.work.cut:
            return not self.op.work.cut.depends(self.op.inputs.index(name), False)
        return len(self._shares(name, False)) == 1

    def _shares(self, name: str, rows: bool) -> set[object]:
        """The parts of an input that the first and the last row or channel read."""
        index = self.op.inputs.index(name)
        total = self.rows if rows else self.channels
        ends = (Interval(0, 1), Interval(total - 1, total))
        whole = Interval(0, self.channels if rows else self.rows)
        return {self.op.reads(index, e, whole) if rows else self.op.reads(index, whole, e) for e in ends}

    def halo(self) -> int:
        """The least bytes of the first input that two neighbouring stripes both load."""
        work = self.op.work
        if not isinstance(work, Conv | Pool) or work.window.transposed or work.batch > 1:
            return 0
        name = self.op.inputs[0]
        if isinstance(work, Conv) and work.summed:
            return 0
        if name in self.kept or not self.program.tensors[name].bytes:
            return 0
        if self.on_chip.repeated_rows(name):
            return 0
        each = [work.window.input_rows(Interval(row, row + 1)) for row in range(self.rows)]
        least = min((max(0, a.stop - b.start) for a, b in pairwise(each)), default=0)
        return self.program.tensors[name].bytes * least // work.window.in_h

    def slice_bytes(self, slices: int) -> int:
        """Bytes of the largest of ``slices`` slices of the weights, beyond those of one channel."""
        channels = -(-self.channels // slices)
        return 0 if not self.weights else slice_bytes(self.program, self.op, channels) - self.one_channel

    def meanwhile(self, parts: PartRange, again: int = 0, halo: int = 0, weights_whole: bool = False) -> int:
        """How many of the bytes that move once can move while tiles compute.

        That is what all tiles leave of ``capacity``, less the bytes that move again: ``again``, and ``halo``
        for each border between two stripes. With ``weights_whole`` all weights lie there throughout.
        """
        if parts.most_stripes * parts.most_slices == 1:
            return 0
        corners = product((parts.stripes, parts.most_stripes), (parts.slices, parts.most_slices))
        left = max(
            stripes * slices * self.capacity - self._bytes_of_all_tiles(stripes, slices, weights_whole)
            for stripes, slices in corners
        )
        return min(self._moved_once, left - again - 2 * halo * (parts.stripes - 1))

    @cached_property
    def _moved_once(self) -> int:
        """The least bytes that move."""
        return self.weights + sum(self._read(name) for name in self.loads) + self._written

    @cached_property
    def _written(self) -> int:
        return sum(self.program.tensors[name].bytes for name in self.stores)

    def _read(self, name: str) -> int:
        return int(self.program.tensors[name].bytes * read_share(self.op, name, 1))

    @cached_property
    def _reads(self) -> list[tuple[int, bool, bool]]:
        """Bytes of each streamed input, and whether all stripes or all slices read the same part of it."""
        return [(self._read(n), self.stripes_alike(n), self.slices_alike(n)) for n in self.loads]

    def _bytes_of_all_tiles(self, stripes: int, slices: int, weights_whole: bool) -> int:
        """The sum of the bytes of all tiles; data that several tiles use count in each of them."""
        loads = sum(
            size * (stripes if stripes_alike else 1) * (slices if slices_alike else 1)
            for size, stripes_alike, slices_alike in self._reads
        )
        return loads + self._written + self.weights * stripes * (slices if weights_whole else 1)

    def set_ups(self, stripes: int, slices: int) -> Fraction:
        """DMA cycles of all set-ups but one for each tensor: each different part has one of its own."""
        loads = (slices - 1) * bool(self.weights)
        for name, (_, stripes_alike, slices_alike) in zip(self.loads, self._reads, strict=True):
            if isinstance(self.op.work, Vector) and self.op.work.cut:
                continue  # parts of different tiles may be the same, or none
            parts = 1 if stripes_alike else max(1, stripes - self.on_chip.repeated_rows(name))
            loads += parts * (1 if slices_alike else slices) - 1
        stores = len(self.stores) * (stripes * slices - 1)
        costs = self.on_chip.costs
        return loads * Fraction(costs.any_load_once) + stores * Fraction(costs.store_once)

    def inputs_again(self, slices: int) -> int:
        """Bytes of inputs that several stripes load again for each slice but the first."""
        again = sum(size for size, stripes_alike, alike in self._reads if alike and not stripes_alike)
        return again * (slices - 1)

    def tile_bytes(self, stripes: int, slices: int) -> int:
        """Bytes of the largest tile with at most so many stripes and slices, at least."""
        names = frozenset((*self.loads, *self.stores))
        rows, channels = -(-self.rows // stripes), -(-self.channels // slices)
        return most_tile_bytes(self.program, self.op, names, rows, channels)


def most_tile_bytes(program: Program, op: Op, names: frozenset[str], rows: int, channels: int) -> int:
    """The least bytes of ``names`` while the largest tile runs, which has at least so many rows and channels.

    Larger stripes may read more of an image's padding instead of rows, but not any more once the first stripe
    reads all rows of the kernel.
    """
    window = op.work.window if isinstance(op.work, Conv | Pool) else None
    beyond = 0 if window is None else -(-window.pad_top // window.stride_h)
    return min(
        max(tile_bytes(program, op, names, *tile) for tile in samples(op, Tiling(most, channels)))
        for most in range(rows, min(op.work.rows, rows + beyond) + 1)
    )


def last_tile_bytes(program: Program, op: Op, names: frozenset[str]) -> int:
    """Bytes of ``names`` at the end of the op, after the smallest possible last tile."""
    rows, channels = op.work.rows, op.work.channels
    return tile_bytes(program, op, names, Interval(rows - 1, rows), Interval(channels - 1, channels))


def tile_bytes(program: Program, op: Op, names: frozenset[str], rows: Interval, channels: Interval) -> int:
    """Bytes of ``names`` in one tile; the same part of a tensor that is two operands counts once."""
    shares = {(n, op.reads(i, rows, channels)) for i, n in enumerate(op.inputs) if n in names}
    shares |= {(n, op.writes(n, rows, channels)) for n in op.outputs if n in names}
    return sum(share.bytes(program.tensors[name].bytes) for name, share in shares)
