"""A program's run along a path as the visits that ``windows`` reasons about."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import islice
from typing import NamedTuple

from chipmodel.bounds.op_costs import least_cycles, read_share, written_share
from chipmodel.bounds.windows import Item, Visit, window_bound
from chipmodel.chip.chip import Chip
from chipmodel.model.program import Op, Program
from chipmodel.model.time_bound import Unit
from dma.timing.transfer import least_cost

MOST_VISITS = 20_000
"""A longer run has no window bound."""


class NamedStretch(NamedTuple):
    """A stretch by its first and its last op."""

    unit: Unit
    first: str
    last: str
    cycles: int


class Windows(NamedTuple):
    """The window bound in ``cycles``, and the stretches that add up to it."""

    cycles: int
    stretches: tuple[NamedStretch, ...]


def windows_of(program: Program, chip: Chip, path: Mapping[str, str]) -> Windows | None:
    """The window bound of one run along ``path`` (arms and iterations by name); None for a chip of several
    cores, whose ops do not run one after another, and for a very long run."""
    if chip.cores > 1:
        return None
    run = list(islice(program.ops_along(path), MOST_VISITS + 1))
    if len(run) > MOST_VISITS:
        return None
    bound = window_bound(_visits(program, chip, run), chip.shared_memory.bytes)
    named = (NamedStretch(s.unit, run[s.start].name, run[s.stop - 1].name, s.cycles) for s in bound.stretches)
    return Windows(bound.cycles, tuple(named))


def _visits(program: Program, chip: Chip, run: list[Op]) -> list[Visit]:
    costs = Costs(chip)
    made: dict[str, int] = {}
    last = {name: index for index, op in enumerate(run) for name in op.outputs if name in program.outputs}
    visits: list[Visit] = []
    again = _read_again(run)
    for index, op in enumerate(run):
        items = [
            item
            for name in dict.fromkeys(op.inputs)
            for item in _tensor(program, costs, op, name, made, index)
            if name != op.sliced or name not in again
        ]
        if program.block_bytes(op):
            size = program.block_bytes(op)
            items.append(Item(("weights", op.weights), size, costs.load(size)))
        written = [n for n in op.outputs if last.get(n) == index]
        stored = sum((costs.store(_bytes(program, n, written_share(op, n, 1))) for n in written), Fraction(0))
        visits.append(Visit(op.name, least_cycles(chip.npu, op), tuple(items), stored))
        made |= dict.fromkeys(op.outputs, index)
    return visits


def _read_again(run: list[Op]) -> frozenset[str]:
    """Tensors of which a slice may be read twice, or as part of the whole: it may have stayed."""
    reads = Counter(name for op in run for name in dict.fromkeys(op.inputs))
    readers = {name: set[str]() for name in reads}
    for op in run:
        for name in op.inputs:
            readers[name].add(op.name)
    sliced = {(op.sliced, op.slices) for op in run if op.sliced is not None}
    return frozenset(n for n, slices in sliced if len(readers[n]) > 1 or reads[n] > slices)


def _tensor(
    program: Program, costs: Costs, op: Op, name: str, made: Mapping[str, int], index: int
) -> Iterator[Item]:
    size = _bytes(program, name, read_share(op, name, 1))
    if size:
        since = made.get(name, -1)
        # Every iteration reads a slice of its own.
        key = (name, since, index) if name == op.sliced else (name, since)
        yield Item(key, size, costs.load(size), since)


def _bytes(program: Program, name: str, share: Fraction) -> int:
    return int(program.tensors[name].bytes * share)


class Costs:
    """The least DMA cycles of bytes that no transfer brings together with others."""

    def __init__(self, chip: Chip) -> None:
        # Where transfers set up side by side, one's set-up may pass during another's data.
        alone = chip.dma.channels.count == 1
        self.load_once, self.load_each = least_cost(chip, "load")
        self.store_once, self.store_each = least_cost(chip, "store")
        self.load_once *= alone
        self.store_once *= alone

    def load(self, size: int) -> Fraction:
        return self.load_once + size * self.load_each

    def store(self, size: int) -> Fraction:
        return self.store_once + size * self.store_each if size else Fraction(0)
