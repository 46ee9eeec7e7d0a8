"""Several neighbours as a cascade, with rows a step of each, as the kernel takes it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate

import numpy as np

from chipmodel.cascades.bands import column_bands
from chipmodel.cascades.columns import op_columns
from chipmodel.cascades.shape import CascadeShape, readers_of, tensors_in_rows
from chipmodel.hardware.chip import Chip
from chipmodel.model.cascade_work import Band
from chipmodel.model.program import Op, Program
from dma.columns.ladder import FOR_TIME, Cascades, band_counts, heights, low_heights, rows_tried
from dma.columns.made_again import sole_tensors
from dma.columns.numbers import SharedNumbers
from dma.columns.plan_ways import Chain
from solvers.columns.kernel import INPUT, INSIDE, OUTPUT, SUMS, Stretch


@dataclass(frozen=True, slots=True)
class ChainOps:
    """Ops that may be a cascade, as they run in one, and whoever else reads what they make."""

    program: Program
    chip: Chip
    numbers: SharedNumbers
    ops: tuple[Op, ...]
    leaving: frozenset[str]
    """Tensors that anything but these ops needs."""
    loads: Sequence[int | None]
    """For each op the DMA cycles of its weights where they may be there before; else None."""
    tried: Cascades = FOR_TIME

    @property
    def names(self) -> list[str]:
        """Their tensors, in the order in which ops read and make them."""
        return list(dict.fromkeys(n for op in self.ops for n in (*op.inputs, *op.outputs)))

    def key(self) -> tuple[object, ...]:
        """What the ways depend on: equal for blocks that are alike."""
        names, tensors = self.names, self.program.tensors
        shapes = ((self.numbers.shape_of[op.name], op.accumulator) for op in self.ops)
        operands = ((*map(names.index, op.inputs), -1, *map(names.index, op.outputs)) for op in self.ops)
        sizes = ((tensors[name].bytes, tensors[name].stored, name in self.leaving) for name in names)
        weights = map(self.program.block_bytes, self.ops)
        return *shapes, *operands, *sizes, *weights, *self.loads, self.tried

    def numbers_of(self, stretch: Stretch, tensors: Mapping[str, int]) -> tuple[int, ...]:
        """The problem's ``tensors`` of a stretch of such ops, as ``Stretch.numbers``."""
        roles = stretch.tensors[:, 3].tolist()
        known = zip(self.names, roles, strict=True)
        return tuple(-1 if role == INSIDE else tensors.get(name, -1) for name, role in known)

    def stretch(self, own: Chain | None) -> Stretch | None:
        """Return them as a cascade, with the plan's ``own`` choice, whatever the numbers of their tensors;
        None where they cannot be one."""
        shape = self._shape()
        if shape is None:
            return None
        rows = [shape.op_rows(index) for index in range(len(self.ops))]
        sizes = [self.program.block_bytes(op) for op in self.ops]
        given, low = own.heights if own else None, self.tried.for_bytes
        tried, names = (low_heights if low else heights)(rows, given), self.names
        banded = [each for each in tried if low or each == given]
        bands, sets = self._bands(shape, names, rows, banded, own)
        remade = sorted(set(self._sets_remade(shape, own)))
        choices = [
            (*choice, number, again)
            for choice in tried
            for again in remade
            for number in range(sets + 1)
            if not number or choice in banded
        ]
        needs, ops, makes = self._ops(shape, names, rows, sizes, tried)
        return Stretch(
            np.array(ops, np.int64),
            np.array(needs, np.int64),
            np.array(makes, np.int64),
            np.array([self._tensor(shape, name) for name in names], np.int64),
            np.array(choices, np.int64),
            np.array(sorted(set(_sets_again(self.ops, sizes, own))), np.int64),
            np.zeros(len(needs), np.int64),
            np.array(bands, np.int64),
            0,
            (),
            sum(each or 0 for each in self.loads),
        )

    def _shape(self) -> CascadeShape | None:
        maker: dict[str, int] = {}
        readers, last = readers_of(self.ops), len(self.ops) - 1
        for index, op in enumerate(self.ops):
            for name in op.outputs:
                if name in maker or any(reader <= index for reader, _ in readers.get(name, ())):
                    return None
                maker[name] = index
        needed = {last}
        for index in range(last, -1, -1):
            if index not in needed:
                return None
            needed |= {maker[name] for name in self.ops[index].inputs if name in maker}
        outputs = tuple(n for n in maker if maker[n] == last or n in self.leaving)
        inside = tuple(n for n in maker if n not in outputs)
        rows = tensors_in_rows(self.program, self.ops)
        return CascadeShape(self.ops, (), outputs, inside, maker, rows, readers)

    def _tensor(self, shape: CascadeShape, name: str) -> tuple[int, ...]:
        tensor, rows, maker = self.program.tensors[name], shape.rows[name], shape.maker.get(name, -1)
        role = INPUT if maker < 0 else OUTPUT if name in shape.outputs else INSIDE
        whole = tensor.bytes % rows == tensor.stored.grid[0] % rows == 0
        rolls = int(self.chip.npu.rolling_buffers and whole and role == INPUT)
        if role == OUTPUT and self.ops[maker].accumulator is not None:
            rolls = SUMS
        return tensor.bytes, rows, maker, role, rolls, tensor.stored.grid[1]

    def _ops(
        self,
        shape: CascadeShape,
        names: Sequence[str],
        rows: Sequence[int],
        sizes: Sequence[int],
        tried: Sequence[tuple[int, ...]],
    ) -> tuple[list[tuple[int, ...]], list[tuple[int, ...]], list[int]]:
        needs: list[tuple[int, ...]] = []
        found: list[tuple[int, ...]] = []
        makes: list[int] = []
        for index, op in enumerate(self.ops):
            first = len(needs), len(makes)
            for operand, name in enumerate(op.inputs):
                added = name in shape.maker and self.ops[shape.maker[name]].accumulator is not None
                read = self.numbers.rows_read(op, operand, rows[index], shape.rows[name], added)
                needs.append((names.index(name), *read))
            makes += [names.index(name) for name in op.outputs]
            cycles = self.numbers.cycles_by_rows(op, rows[index], self._tried(index, rows, tried))
            carried = op.carried.bytes if op.carried else 0
            spans = first[0], len(needs), first[1], len(makes)
            loads = int(self.loads[index] is None)
            found.append((rows[index], cycles, sizes[index], loads, carried, op.work.macs, *spans))
        return needs, found, makes

    def _sets_remade(self, shape: CascadeShape, own: Chain | None) -> Iterator[int]:
        """Sets of ops that make rows again, as bits: none, and ever more of them, those first that then make
        the fewest multiply-accumulates more if the others make none."""
        yield 0
        if own:
            yield sum(1 << at for at, op in enumerate(self.ops) if {*op.outputs} & {*own.remade})
        if self.tried.further_macs is None or not self.chip.npu.rolling_buffers:
            return
        more: list[tuple[float, int]] = []
        for name in sole_tensors(self.ops):
            at = shape.maker[name]
            if name in shape.inside and self.ops[at].carried is None:
                ((reader, operand),) = shape.readers[name]
                reads = shape.reads(reader, operand)
                spans = (reads(row, row + 1) for row in range(shape.op_rows(reader)))
                times = sum(stop - start for start, stop in spans) / shape.rows[name]
                more.append((self.ops[at].work.macs * (times - 1), at))
        made = 0
        for total, (_, at) in zip(accumulate(macs for macs, _ in sorted(more)), sorted(more), strict=True):
            if total > self.tried.further_macs:
                break
            made |= 1 << at
            yield made

    def _tried(self, index: int, rows: Sequence[int], tried: Sequence[tuple[int, ...]]) -> list[int]:
        made = {each[index] for each in tried}
        if self.tried.further_macs is not None:
            # A step that begins again ends where its reader needs no more.
            made |= {*range(1, max(made))}
        return rows_tried(rows[index], made, self.chip.npu.rolling_buffers)

    def _bands(
        self,
        shape: CascadeShape,
        names: Sequence[str],
        rows: Sequence[int],
        tried: Sequence[tuple[int, ...]],
        own: Chain | None,
    ) -> tuple[list[int], int]:
        """The sets of bands as ``Stretch.bands``, and how many there are."""
        found: list[int] = []
        sets = 0
        if self.chip.npu.rolling_buffers and len(shape.outputs) == 1:
            columns = op_columns(self.program, self.ops[-1]) or 1
            for count in sorted({*band_counts(self.tried, columns), own.bands if own else 1} - {1}):
                try:
                    found += self._set_of_bands(shape, names, rows, tried, count)
                except ValueError:  # Some op cannot make some of its columns.
                    continue
                sets += 1
        return found, sets

    def _macs_again(self, made: Sequence[Sequence[Band | None]]) -> Fraction:
        """The multiply-accumulates that bands compute again."""
        shares = (
            sum(Fraction(len(band.columns), band.of) for band in bands if band)
            for bands in zip(*made, strict=True)
        )
        again = (op.work.macs * (share - 1) for op, share in zip(self.ops, shares, strict=True))
        return Fraction(sum(again))

    def _set_of_bands(
        self,
        shape: CascadeShape,
        names: Sequence[str],
        rows: Sequence[int],
        tried: Sequence[tuple[int, ...]],
        count: int,
    ) -> list[int]:
        inputs = [name for name in names if name not in shape.maker]
        bands = column_bands(self.program, self.ops, shape.maker, inputs, count)
        if self.tried.further_macs is not None and self._macs_again(bands.made) > self.tried.further_macs:
            raise ValueError("more multiply-accumulates than are allowed")
        found = [count]
        for band in bands.made:
            for index, op in enumerate(self.ops):
                known = self._tried(index, rows, tried)
                found.append(self.numbers.cycles_by_rows(op, rows[index], known, band[index]))
        columns = {name: bands.columns(name, maker) for name, maker in shape.maker.items()}
        columns |= {name: tuple(read[name] for read in bands.read) for name in inputs}
        for number in range(count):
            found += [len(columns[name][number]) for name in names]
        return [*found, *(bands.of_columns[name] for name in names)]


def _sets_again(ops: Sequence[Op], sizes: Sequence[int], own: Chain | None) -> Iterator[int]:
    """Sets of ops whose weights may be loaded again: none, those with many, and all."""
    most = max(sizes)
    yield 0
    for least in (-(-most // 4), 1):
        chosen = sum(1 << index for index, size in enumerate(sizes) if size and size >= least)
        if chosen.bit_count() > 1:
            yield chosen
    if own:
        yield sum(1 << index for index, op in enumerate(ops) if op.name in own.again)
