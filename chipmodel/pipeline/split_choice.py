"""Which ops to split over the cores of a chip: candidates by what they cost the NPUs and the one DMA engine.

A band of rows saves NPU cycles and costs a load of all weights on each further core; a slice of channels
costs a hand-over of every output. For one price of a DMA cycle after another, in NPU cycles, each op takes
what is best by itself; whether the halo rows of a band are computed again rather than handed over is decided
from the last op to the first. The list schedule that makes partitions (``chipmodel.pipeline.partition``)
forecasts each program that comes out of it, and the best few are planned and simulated by the caller.

Source: chipmodel.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from chipmodel.geometry.interval import Interval, hull
from chipmodel.hardware.chip import Chip
from chipmodel.model.core_parts import WHOLE_OPS, CoreSplit, OpSplit
from chipmodel.model.program import Op, Program
from chipmodel.npu.cycles import op_cycles
from chipmodel.pipeline.partition import forecast
from chipmodel.rewrites.core_split import has_parts, rows_read, split_over_cores
from chipmodel.rewrites.splittable import (
    bands,
    channelwise,
    may_overlap,
    may_split_channels,
    may_split_rows,
    row_axis,
)
from chipmodel.timing.transfer import transfer_cycles
from dma.residency.fitted import fitted

PRICES = (0.0, 0.25, 0.5, 1.0, 2.0)
"""Prices of a DMA cycle in NPU cycles: 0 where the engine is idle, above 1 where everybody waits for it."""
MOST_OF_EACH = 4
"""Splits over the same number of cores that are planned and simulated, at most (assumed)."""

Splits = Mapping[str, OpSplit]
"""The split of each op that is split, by the name of the op."""


def split_candidates(program: Program, chip: Chip) -> list[tuple[CoreSplit, Program]]:
    """Return the splits with the shortest forecasts over each number of cores and their programs, the best
    first; only those that are forecast to be faster than whole ops."""
    if program.inferences > 1 or has_parts(program):
        return []
    costs = _Costs(program, chip)
    if sum(costs.npu.values()) == 0:
        return []
    known: dict[CoreSplit, tuple[int, Program]] = {}
    whole = forecast(program, chip)
    for split in costs.candidates():
        if split.ops and split not in known and costs.loads(split) < whole:
            made = split_program(program, split, chip)
            known[split] = forecast(made, chip), made
    found: list[tuple[CoreSplit, Program]] = []
    left = dict.fromkeys(_counts(chip.cores), MOST_OF_EACH)
    for split, (cycles, made) in sorted(known.items(), key=lambda item: item[1][0]):
        if cycles < whole and left[split.cores]:
            left[split.cores] -= 1
            found.append((split, made))
    return found


def split_program(program: Program, split: CoreSplit, chip: Chip) -> Program:
    """Return ``program`` with the ops of ``split`` as an op for each core; what does not fit a core's memory
    then, such as a join of rows, is cut finer. Raises ValueError as ``split_over_cores``."""
    return program if split == WHOLE_OPS else fitted(split_over_cores(program, split), chip)


def _counts(cores: int) -> Iterator[int]:
    """Powers of two below the number of cores, and that number."""
    count = 2
    while count < cores:
        yield count
        count *= 2
    yield cores


def _kind(split: OpSplit | None) -> tuple[str, int] | None:
    return None if split is None else (split.by, split.cores)


class _Costs:
    """What splits cost, op by op."""

    def __init__(self, program: Program, chip: Chip) -> None:
        self.program = program
        self.chip = chip
        self.ops = [node for node in program.body if isinstance(node, Op)]
        self.npu = {op.name: op_cycles(chip.npu, op, op.work.rows, op.work.channels) for op in self.ops}
        blocks = {op.name: program.block_bytes(op) for op in self.ops}
        self.weights = {
            n: transfer_cycles(chip, "weights", block) if block else 0 for n, block in blocks.items()
        }
        self.possible = {op.name: list(self._possible(op)) for op in self.ops}
        self.alike = {op.name for op in self.ops if channelwise(program, op)}

    def _possible(self, op: Op) -> Iterator[OpSplit]:
        for cores in _counts(self.chip.cores):
            if may_split_rows(self.program, op, cores):
                yield OpSplit(op.name, "rows", cores)
            if may_split_channels(self.program, op, cores):
                yield OpSplit(op.name, "channels", cores)

    def candidates(self) -> Iterator[CoreSplit]:
        """A split for each price and number of cores, with halo rows handed over or computed again."""
        for cores in _counts(self.chip.cores):
            for price in PRICES:
                for counts in dict.fromkeys(((cores,), tuple(_counts(cores)))):
                    splits = self.splits(price, counts)
                    split = CoreSplit(tuple(splits[op.name] for op in self.ops if op.name in splits))
                    yield split
                    yield replace(split, again=self.again(split))

    def splits(self, price: float, counts: tuple[int, ...]) -> Splits:
        """What each op takes on ``counts`` of cores, where a DMA cycle costs ``price`` cycles of an NPU."""
        found: dict[str, OpSplit] = {}
        for op in self.ops:
            gains = {p: self._gain(op, p, price) for p in self.possible[op.name] if p.cores in counts}
            best = max(gains, key=lambda p: gains[p], default=None)
            if best is not None and gains[best] > 0:
                found[op.name] = best
            for slices in (p for p in gains if p.by == "channels" and op.name in self.alike):
                if self._all_in_slices(op, found, slices.cores):
                    found[op.name] = slices
        return found

    def _all_in_slices(self, op: Op, splits: Splits, cores: int) -> bool:
        makers = {name: maker.name for maker in self.ops for name in maker.outputs}
        return all(_kind(splits.get(makers.get(name, ""))) == ("channels", cores) for name in op.inputs)

    def _gain(self, op: Op, split: OpSplit, price: float) -> float:
        if split.by == "channels" and op.name in self.alike:
            return 0
        moved = (
            (split.cores - 1) * self.weights[op.name]
            if split.by == "rows"
            else self._handed_over(op, split.cores)
        )
        return self.npu[op.name] * (1 - 1 / split.cores) - price * moved

    def loads(self, split: CoreSplit) -> int:
        """Cycles in which the DMA engine loads all weights, those of bands on every core."""
        again = sum((e.cores - 1) * self.weights[e.op] for e in split.ops if e.by == "rows")
        return again + sum(self.weights.values())

    def _handed_over(self, op: Op, cores: int) -> int:
        """Cycles in which every core's slice of the output is stored once, and loaded by all others."""
        part = -(-self.program.tensors[op.outputs[0]].bytes // cores)
        store, load = transfer_cycles(self.chip, "store", part), transfer_cycles(self.chip, "load", part)
        return cores * (store + (cores - 1) * load)

    def again(self, split: CoreSplit) -> tuple[str, ...]:
        """The tensors whose halo rows take less time to compute again than to hand over."""
        allowed, by_op = {*may_overlap(self.program, split)}, split.by_op()
        wanted: dict[str, dict[int, Interval]] = {}
        found: list[str] = []
        for op in reversed(self.ops):
            if op.name not in by_op or by_op[op.name].by != "rows":
                continue
            name = op.outputs[0]
            rows = bands(op.work.rows, by_op[op.name].cores)
            if name in allowed:
                more = tuple(wanted[name][core] for core in range(len(rows)))
                halo = max(len(b) - len(a) for a, b in zip(rows, more, strict=True))
                covered = all(
                    b.start <= a.start and a.stop <= b.stop for a, b in zip(rows, more, strict=True)
                )
                if covered and 0 < halo * self.npu[op.name] // op.work.rows <= self._exchange(name, halo):
                    found.append(name)
                    rows = more
            for index, operand in enumerate(op.inputs):
                needs = wanted.setdefault(operand, {})
                for core, band in enumerate(rows):
                    read = rows_read(self.program, op, index, band)
                    needs[core] = hull((needs.get(core, read), read))
        return tuple(reversed(found))

    def _exchange(self, name: str, halo: int) -> int:
        """Cycles until halo rows of a tensor are on the other core."""
        tensor = self.program.tensors[name]
        axis = row_axis(tensor)
        assert axis is not None
        size = tensor.bytes // tensor.shape[axis] * halo
        return transfer_cycles(self.chip, "store", size) + transfer_cycles(self.chip, "load", size)
