"""Lower bound on the cycles of plans with cascades: the longest path over starts and ends of ops.

``chipmodel.bounds.cascade_events`` says which moments there are, and what lies between two of them. Times
between moments that follow one another add up. The legs are in arrays and not in NetworkX: 200 ops have
80,000 of them, for which its graph takes 0.6 s.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import islice
from math import ceil

import numpy as np

from chipmodel.bounds.body_runs import body_runs
from chipmodel.bounds.cascade_events import Between, Counts, Flags, Floats, Indices, LoadedItem, Loads
from chipmodel.bounds.cascade_rows import OpRuns
from chipmodel.bounds.op_costs import least_cycles, read_share, written_share
from chipmodel.bounds.program_windows import LeastTransferCosts
from chipmodel.hardware.chip import Chip, Npu
from chipmodel.model.program import Op, Program
from chipmodel.model.time_bound import WITH_CASCADES, Binding, TimeBound, Unit

MAX_OP_RUNS = 1000
"""Runs of ops on a path up to which there is such a bound (assumed: a second or two)."""
MAX_MOMENTS = 200
"""Ops whose start and end are moments; of longer runs those with the most cycles (assumed: as before)."""
ROUNDING = 1e-9
"""The share by which the sum of floats is lowered: far more than their error."""


def cascade_time_bound(
    program: Program, chip: Chip, path: Mapping[str, str], inferences: int = 1
) -> TimeBound | None:
    """The least cycles along ``path`` of a plan whose ops may run in any number of parts in turns, where
    ``program`` is that many ``inferences`` one after another. None for several cores and more than
    ``MAX_OP_RUNS``."""
    if chip.cores > 1:
        return None
    numbered = list(islice(body_runs(program, path), MAX_OP_RUNS + 1))
    if not numbered or len(numbered) > MAX_OP_RUNS:
        return None
    ops = [op for op, _ in numbered]
    of_each = len(ops) // inferences
    numbers = np.array([number + index // of_each for index, (_, number) in enumerate(numbered)], np.int64)
    runs = _Runs(program, chip, ops, numbers)
    return runs.longest().bound(ops)


def least_rows_cycles(npu: Npu, op: Op, rows: int) -> int:
    """The least cycles of at least ``rows`` rows of ``op``, in any division.

    By so many rows at a time, all rows take at most as many times longer as there are such stripes, and at
    least ``least_cycles``. Padding to the array is linear in whole rows, so it is what a part with these rows
    takes; but not on LUNA, and nobody knows of a plug-in's model.
    """
    whole = least_cycles(npu, op, columns=True)
    if rows >= op.work.rows or not rows:
        return whole if rows else 0
    if op.cycles is not None:
        return op.cycles * rows // op.work.rows
    fewer = whole // -(-op.work.rows // rows)
    if npu.luna or npu.plugin or not whole:
        return fewer
    return max(fewer, least_cycles(npu, replace(op, work=op.work.part(rows, op.work.channels)), columns=True))


class _Runs:
    """All that is known of the runs."""

    def __init__(self, program: Program, chip: Chip, ops: list[Op], numbers: Counts) -> None:
        self.program, self.ops, self.npu = program, ops, chip.npu
        # One transfer may load the weights of all ops of a cascade, so only the first set-up counts.
        costs = LeastTransferCosts(chip)
        self.load_once, self.load_each = costs.any_load_once, float(costs.any_load_each)
        self.store_once, self.store_each = costs.store_once, float(costs.store_each)
        self.known: dict[tuple[str, int], int] = {}
        self.cycles = np.array([self.rows_cycles(i, op.work.rows) for i, op in enumerate(ops)], np.float64)
        self.items = list(self._items())
        self.loads = Loads(self.items, chip.shared_memory.bytes)
        self.between = Between(OpRuns(program, ops), self._moments(), self.rows_cycles, numbers)
        self.stored = self._stored()
        early, late = self.between.early[0], self.between.late
        self.early_cycles, self.late_cycles = self.between.cycles(early.full), self.between.cycles(late.full)
        self.early_weights, self.late_weights = map(self.between.weights_needed, (early, late))
        self.row_cycles = self.between.cycles(np.ones((1, len(ops)), np.int64))[0]

    def rows_cycles(self, run: int, rows: int) -> int:
        op = self.ops[run]
        key = op.name, rows
        if key not in self.known:
            self.known[key] = least_rows_cycles(self.npu, op, rows)
        return self.known[key]

    def _items(self) -> list[LoadedItem]:
        program, items = self.program, list[LoadedItem]()
        inputs, made = frozenset(program.inputs), set[str]()
        for run, op in enumerate(self.ops):
            if op.gathers:
                items.append(LoadedItem(run, ("rows", op.weights), program.block_bytes(op)))
            else:
                items += [LoadedItem(run, ("weights", w), program.weights[w].bytes) for w in op.weights]
            for name in inputs.intersection(op.inputs) - made:
                share = Fraction(0) if name == op.sliced else read_share(op, name, 1, columns=True)
                size = int(program.tensors[name].bytes * share)
                items.append(LoadedItem(run, ("input", name), size, weights=False))
            made.update(op.outputs)
        return [item for item in items if item.bytes]

    def _moments(self) -> list[int]:
        weight = self.cycles.copy()
        for item in self.items:
            weight[item.run] += item.bytes * self.load_each
        places = [i for i, op in enumerate(self.ops) if not op.absorbs]
        return sorted(sorted(places, key=lambda i: -weight[i])[:MAX_MOMENTS])

    def _stored(self) -> Floats:
        """DMA cycles to store the program's outputs that each run makes."""
        outputs = frozenset(self.program.outputs)
        last = {name: run for run, op in enumerate(self.ops) for name in op.outputs if name in outputs}
        stored = np.zeros(len(self.ops))
        for name, run in last.items():
            size = int(self.program.tensors[name].bytes * written_share(self.ops[run], name, 1))
            stored[run] += size * self.store_each
        return stored

    def longest(self) -> _MomentPath:
        """The longest path through all moments."""
        path = _MomentPath(self.between.at)
        self._from_begin(path)
        for number in range(len(self.between.at)):
            self._from_start(path, number)
            self._from_end(path, number)
        return path

    def _from_start(self, path: _MomentPath, number: int) -> None:
        """Extend the path from the start of an op, before which its descendants have computed nothing."""
        between, start = self.between, (number, False)
        after = between.descends[number]
        ends = np.flatnonzero(after[list(between.at)])
        starts = ends[ends != number]
        path.extend(start, starts, "npu", self.early_cycles[starts] @ after, False)
        path.extend(start, starts, "dma", self._least(after, self.early_weights[starts]), False)
        whole = between.completes[ends]
        path.extend(start, ends, "npu", whole @ (after * self.cycles), True)
        path.extend(start, ends, "dma", self._least(after, whole, True), True)
        path.finish(start, "npu", float(after @ self.cycles))
        stored = self._last_stores(float(after @ self.stored))
        path.finish(start, "dma", float(self._least(after, after[None, :], True)[0]) + stored)

    def _from_end(self, path: _MomentPath, number: int) -> None:
        """Extend the path from the end of an op, after which what needs its last row is computed."""
        between, end = self.between, (number, True)
        cycles, weights = self.late_cycles[number], self.late_weights[number]
        ends = np.flatnonzero(between.completes[:, between.at[number]])
        ends = ends[ends != number]
        whole = between.completes[ends]
        path.extend(end, ends, "npu", whole @ cycles, True)
        path.extend(end, ends, "dma", self._least(weights, whole), True)
        starts = np.flatnonzero(between.apart[number])
        needed = between.early[0].full[starts] >= between.enough[number]
        path.extend(end, starts, "npu", needed @ self.row_cycles, False)
        path.extend(end, starts, "dma", self._least(between.by_row, needed), False)
        path.finish(end, "npu", float(cycles.sum()))
        stored = self._last_stores(float(between.late.full[number] / between.rows @ self.stored))
        path.finish(end, "dma", float(self._least(weights, weights[None, :])[0]) + stored)

    def _last_stores(self, cycles: float) -> float:
        """With the set-up of a store that cannot begin before what it stores is made."""
        return cycles + self.store_once if cycles else 0.0

    def _least(self, runs: Flags, window: Flags, inputs: bool = False) -> Floats:
        return self.loads.least(runs, window, inputs) * self.load_each

    def _from_begin(self, path: _MomentPath) -> None:
        """Extend the path from the begin of the run, when SharedMemory is empty."""
        between, every = self.between, np.ones(len(self.ops), np.bool_)
        early, shares = between.early
        numbers = np.arange(len(between.at))
        path.extend(None, numbers, "npu", between.cycles(early.full).sum(axis=1), False)
        loaded = np.array([float(sum(self._input_bytes(n, s) for n, s in each.items())) for each in shares])
        loaded += self.loads.least(every, between.weights_needed(early), False, held=False)
        path.extend(None, numbers, "dma", self._first_loads(loaded), False)
        whole = between.completes
        path.extend(None, numbers, "npu", whole @ self.cycles, True)
        loaded = self.loads.least(every, whole, True, held=False)
        path.extend(None, numbers, "dma", self._first_loads(loaded), True)

    def _first_loads(self, loaded: Floats) -> Floats:
        return loaded * self.load_each + self.load_once * (loaded > 0)

    def _input_bytes(self, name: str, share: float) -> int:
        return int(self.program.tensors[name].bytes * share)


Moment = tuple[int, bool]
"""The start of the op of a number, or with True its end."""


@dataclass(frozen=True, slots=True)
class _Leg:
    """From a moment (None: the begin of the run) to another one."""

    before: Moment | None
    unit: Unit
    cycles: float


@dataclass
class _MomentPath:
    """The longest path to the start and the end of each op of ``at``, in order, and to the end of the run."""

    at: Sequence[int]
    times: dict[Moment, float] = field(default_factory=dict[Moment, float])
    legs: dict[Moment, _Leg] = field(default_factory=dict[Moment, _Leg])
    total: float = 0.0
    final: _Leg | None = None

    def extend(self, before: Moment | None, to: Indices, unit: Unit, cycles: Floats, end: bool) -> None:
        """Reach the starts, or with ``end`` the ends, of the ops of the numbers ``to`` from ``before``."""
        at = 0.0 if before is None else self.times.get(before, 0.0)
        for number, leg in zip(to.tolist(), cycles.tolist(), strict=True):
            if at + leg > self.times.get((number, end), 0.0):
                self.times[number, end] = at + leg
                self.legs[number, end] = _Leg(before, unit, leg)

    def finish(self, before: Moment, unit: Unit, cycles: float) -> None:
        """Reach the end of the run."""
        at = self.times.get(before, 0.0)
        if at + cycles > self.total:
            self.total = at + cycles
            self.final = _Leg(before, unit, cycles)

    def bound(self, ops: Sequence[Op]) -> TimeBound:
        """The length, and the legs as segments of ops."""
        bindings: list[Binding] = []
        leg, last = self.final, len(ops) - 1
        while leg is not None:
            first = 0 if leg.before is None else self.at[leg.before[0]]
            if int(leg.cycles):
                bindings.append(Binding(leg.unit, ops[first].name, ops[last].name, int(leg.cycles)))
            last = first
            leg = None if leg.before is None else self.legs.get(leg.before)
        return TimeBound(ceil(self.total * (1 - ROUNDING)), tuple(bindings[::-1]), WITH_CASCADES)
