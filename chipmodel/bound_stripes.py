"""Ways in which tensors may pass through SharedMemory during an op, each with the least that it costs.

A way stands for all cuts into so many stripes of rows and slices of channels: it takes the bytes of the
smallest of those, and the transfers and NPU cycles of the fewest. So whatever a plan does, one of them needs
no more, and costs no more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations, pairwise
from typing import NamedTuple

from chipmodel.bound_ops import least_cycles, read_share
from chipmodel.bound_windows import Costs
from chipmodel.chip import Chip
from chipmodel.interval import Interval
from chipmodel.program import Op, Program
from chipmodel.work import Conv, Pool
from dma.tiling import Tiling, samples, slice_bytes
from solvers.residency_problem import Option

COUNTS = (1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 129, 257, 513, 1025, 1 << 40)
"""Stripes and slices are counted from one of these up to the next."""
MOST = 6
"""Ways of one set of tensors."""
MOST_PASSING = 3
"""An op of more tensors has no ways: it is then bound by its smallest stripes alone."""


class Way(NamedTuple):
    """``bytes`` for all that passes, and for weights beyond one channel's; what the NPU and the DMA engine do
    more at least."""

    bytes: int
    npu: int
    moved: int


def options(
    program: Program,
    chip: Chip,
    step: int,
    op: Op,
    items: dict[str, int],
    sizes: Sequence[int],
    weights: bool = True,
) -> Iterator[Option]:
    """Of an op at ``step``: for each set of its tensors that may pass, ``items`` by name, ways within
    SharedMemory. ``sizes`` are bytes by item. None for an op whose tensors cannot all be told apart.
    Without ``weights`` the ways say nothing of them: they may be there since a visit before."""
    if len(items) > MOST_PASSING or op.absorbs or not op.work.rows:
        return
    for count in range(1, len(items) + 1):
        for names in combinations(items, count):
            kept = frozenset(items) - frozenset(names)
            ending = last(program, op, frozenset(names))
            room = chip.shared_memory.bytes
            if op.overwrites is None:
                room -= sum(sizes[items[name]] for name in kept)
            for way in ways(program, chip, op, kept, room, weights):
                yield Option(step, tuple(items[n] for n in names), way.bytes, way.npu, way.moved, ending)


def ways(
    program: Program, chip: Chip, op: Op, kept: frozenset[str], room: int, weights: bool = True
) -> list[Way]:
    """At most ``MOST`` ways within ``room`` bytes; of neighbours one stands for both, with the least of each.
    Where there is none, one that does not fit."""
    found = sorted(_ways(_Case(program, chip, op, kept, weights)))
    front: list[Way] = []
    for way in found:
        if way.bytes <= room and not any(w.npu <= way.npu and w.moved <= way.moved for w in front):
            front.append(way)
    while len(front) > MOST:
        losses = [_lost(a, b, room) for a, b in pairwise(front)]
        at = losses.index(min(losses))
        front[at : at + 2] = [_both(front[at], front[at + 1])]
    return front or found[:1]


def _both(a: Way, b: Way) -> Way:
    return Way(min(a.bytes, b.bytes), min(a.npu, b.npu), min(a.moved, b.moved))


def _lost(a: Way, b: Way, room: int) -> float:
    """How much less two ways say together: a part of the memory counts as that of their cycles."""
    cycles = max(a.npu + a.moved, b.npu + b.moved, 1)
    return abs(a.bytes - b.bytes) / room + abs(a.npu - b.npu) / cycles + abs(a.moved - b.moved) / cycles


class _Case:
    """An op, and what it costs to cut it."""

    def __init__(self, program: Program, chip: Chip, op: Op, kept: frozenset[str], weights: bool) -> None:
        self.program, self.chip, self.op, self.kept = program, chip, op, kept
        self.costs = Costs(chip)
        self.rows, self.channels = op.work.rows, op.work.channels
        self.loads = [n for n in dict.fromkeys(op.inputs) if n not in kept and program.tensors[n].bytes]
        self.stores = [n for n in op.outputs if n not in kept and program.tensors[n].bytes]
        self.weights = program.block_bytes(op) if weights else 0
        self.one_channel = -(-self.weights // max(1, self.channels))
        self.least = least_cycles(chip.npu, op)

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


def _ways(case: _Case) -> Iterator[Way]:
    again = sum(
        (case.costs.load_each * case.program.tensors[n].bytes * read_share(case.op, n, 1)
         for n in case.loads if case.slices_alike(n)),
        Fraction(0),
    )  # fmt: skip
    halo = case.halo() * case.costs.load_each
    weights = case.weights * case.costs.load_each
    for stripes, most_stripes in _counts(case.rows):
        for slices, most_slices in _counts(case.channels):
            held = case.bytes(most_stripes, most_slices)
            npu = least_cycles(case.chip.npu, case.op, stripes, slices) - case.least
            moved = _setups(case, stripes, slices) + halo * (stripes - 1)
            yield Way(held + case.beside(1), npu, int(moved))
            if case.weights and most_slices > 1:
                held += case.beside(most_slices)
                yield Way(held, npu, int(moved + weights * (stripes - 1)))
                more = again * (slices - 1) if stripes > 1 else 0
                yield Way(held, npu, int(moved + more))


def _counts(total: int) -> Iterator[tuple[int, int]]:
    """From a number of parts to the last before the next such number."""
    for low, high in pairwise(COUNTS):
        if low <= total:
            yield low, min(total, high - 1)


def _setups(case: _Case, stripes: int, slices: int) -> Fraction:
    """Cycles of all transfers but one for each tensor; each part has its own of what differs from part to
    part."""
    loads = stores = 0
    for name in case.loads:
        loads += (1 if case.stripes_alike(name) else stripes) * (1 if case.slices_alike(name) else slices) - 1
    stores += len(case.stores) * (stripes * slices - 1)
    loads += (slices - 1) * bool(case.weights)
    return loads * Fraction(case.costs.load_once) + stores * Fraction(case.costs.store_once)
