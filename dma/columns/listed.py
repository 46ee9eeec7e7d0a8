"""The listed ways to run neighbours of a program along a path: the set of plans of a bound on cycles."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import cache, partial

import numpy as np

from chipmodel.cascades.accumulation import accumulating
from chipmodel.cascades.shape import may_cascade
from chipmodel.hardware.chip import Chip
from chipmodel.model.program import Op, Program, reads
from chipmodel.npu.least_costs import least_cycles
from chipmodel.rewrites.rows_in_place import rows_to_take
from dma.columns.alone import op_alone
from dma.columns.chains import ChainOps
from dma.columns.ladder import MOST_OPS, Cascades
from dma.columns.numbers import shared_numbers
from dma.columns.plan_ways import PlanWays
from dma.residency.comfortable import comfortable_memory
from solvers.columns.kernel import Integers, Rates, Stretch
from solvers.core.deadline import Deadline
from solvers.fluid.borders import NEVER

LOOK = 16
"""Ops of which the ways are listed between two looks at the clock."""


class ListedWays:
    """``solvers.columns.kernel.ListedColumns`` of the runs ``ops`` of a program along a path.

    ``tensors`` are the path's tensors by run and name, ``loads`` the DMA cycles of weights of runs that need
    not load them all, as an earlier one has had some. ``joins`` says which runs may be in one cascade with
    the run before, ``own`` are the ways of a plan. Of plans that are sought (``for_plan``) some tensors are
    made ``within`` others.
    """

    def __init__(
        self,
        program: Program,
        chip: Chip,
        ops: Sequence[Op],
        rates: Rates,
        runs: Integers,
        tensors: Sequence[Mapping[str, int]],
        loads: Sequence[int | None],
        joins: Sequence[bool],
        own: PlanWays,
        deadline: Deadline,
        for_plan: bool,
        within: Mapping[str, str],
        cascades: Cascades,
        borders: Collection[int],
    ) -> None:
        self.program, self.chip, self.ops, self.own = program, chip, ops, own
        self.rates, self.runs, self.rolls = rates, runs, chip.npu.rolling_buffers
        self.for_bytes, self.most_steps = cascades.for_bytes, cascades.most_steps
        self._most = cascades.longest
        self.groups = np.array(sorted({1, *(each.groups for each in own.chains.values())}), np.int64)
        self.further_macs = NEVER if cascades.further_macs is None else cascades.further_macs
        self.longest = max(self._most, *map(len, own.chains)) if own.chains else self._most
        self.tensors, self.loads, self.for_plan, self.within = tensors, loads, for_plan, within
        self._numbers = shared_numbers(chip.npu, ops)
        self._inside = cache(partial(_as_in_cascade, program, ops))
        self._readers = _readers(program)
        self._stretches: dict[tuple[int, int], Stretch | None] = {}
        # Parts of both rows and channels need fewer bytes and more cycles.
        self._tight = comfortable_memory(program) > chip.shared_memory.bytes
        takes = rows_to_take(program).items() if own.in_rows else ()
        self._in_rows = {name: old for name, old in takes if name in own.in_rows}
        self._cascades = cascades
        narrow = _narrow_borders(tensors)
        self._borders = frozenset(borders)
        for start in range(len(ops)):
            if start % LOOK == 0:
                deadline.require("the ways to run ops are listed")
            if start not in self._borders:
                continue
            for stop in filter(self._borders.__contains__, _stops(start, joins, max(self.longest, MOST_OPS))):
                if self._is_tried(start, stop) or _is_blocks(narrow, start, stop, self._most):
                    self._stretches[start, stop] = self._stretch(start, stop)
        self.longest = max((stop - start for start, stop in self._stretches), default=1)
        self.table: Integers = self._numbers.table()

    def by_time(self) -> ListedWays:
        """Return the same ways by the time that they take."""
        found = copy(self)
        found.for_bytes = False
        return found

    def stretch(self, start: int, stop: int) -> Stretch | None:
        """The runs ``[start, stop)``; None where their ways are not listed."""
        return self._stretches.get((start, stop))

    def any_way(self, start: int, stop: int) -> bool:
        """Whether they may run in any way: one op that is not listed, or a cascade of the plan."""
        if stop == start + 1:
            return {start, stop} <= self._borders and self.stretch(start, stop) is None
        chain = self.own.chains.get(tuple(op.name for op in self.ops[start:stop]))
        return chain is not None and self.stretch(start, stop) is None

    def _is_made_in_place(self, op: Op) -> bool:
        return bool(op.absorbs) and self.within.keys() >= {*op.inputs}

    def least_cycles(self, run: int) -> int:
        """The least NPU cycles of a run in any way: in a cascade it may run in bands."""
        op, inside, npu = self.ops[run], self._inside(run), self.chip.npu
        key, known = (self._numbers.shape_of[op.name], inside.accumulator), self._numbers.least
        if key not in known:
            known[key] = min(least_cycles(npu, inside, columns=True), least_cycles(npu, op))
        return known[key]

    def _is_tried(self, start: int, stop: int) -> bool:
        return stop - start <= self._most or tuple(op.name for op in self.ops[start:stop]) in self.own.chains

    def _stretch(self, start: int, stop: int) -> Stretch | None:
        runs = range(start, stop)
        tensors = {name: number for run in reversed(runs) for name, number in self.tensors[run].items()}
        if len(runs) == 1:
            return self._alone(start, tensors)
        may_chain = is_chained if self._cascades.chained else may_cascade
        if not all(may_chain(self.ops[run]) for run in runs):
            return None
        names = tuple(self.ops[run].name for run in runs)
        inside = {name for run in runs for name in self.ops[run].outputs}
        for op in (self.ops[run] for run in runs):
            if self._is_made_in_place(op) and not inside >= {*op.inputs}:
                return None
            if op.overwrites in self.within and op.overwrites not in inside:
                return None  # Rows of it are still read when others are made, so it is not within the other.
        made = (name for run in runs for name in self.ops[run].outputs)
        leaving = frozenset(name for name in made if self._readers.get(name, set()) - {*names})
        if self._cascades.chained and not leaving <= {*self.ops[stop - 1].outputs}:
            return None
        ops, chain = tuple(map(self._inside, runs)), self.own.chains.get(names)
        known = self.program, self.chip, self._numbers
        neighbours = ChainOps(*known, ops, leaving, self.loads[start:stop], self._cascades)
        return self._alike(neighbours, chain, partial(neighbours.stretch, chain), tensors)

    def _alone(self, run: int, tensors: Mapping[str, int]) -> Stretch | None:
        op, known = self.ops[run], (self.program, self.chip, self._numbers)
        given = self.own.cuts.get(op.name), self.loads[run], self._tight
        alone = ChainOps(*known, (op,), frozenset(), self.loads[run : run + 1])
        taken = op.overwrites or self._in_rows.get(op.name)
        make = partial(op_alone, *known, op, *given, taken)
        alike = given, taken and alone.names.index(taken), bool(op.overwrites), op.by_rows
        return self._alike(alone, alike, make, tensors)

    def _alike(
        self, ops: ChainOps, own: object, make: Callable[[], Stretch | None], tensors: Mapping[str, int]
    ) -> Stretch | None:
        """Return what is made of some ops: of those that are alike only once."""
        key, alike = (ops.key(), own), self._numbers.alike
        if key not in alike:
            alike[key] = make()
        found = alike[key]
        return found and found._replace(numbers=ops.numbers_of(found, tensors))


NEVER_CHAINED = ("dense", "matmul", "transposed_conv")
"""Kinds of ops that Arm's compiler leaves out of cascades, beside those of several inputs."""


def is_chained(op: Op) -> bool:
    """Return whether Arm's compiler has an op in cascades, each of which hands on to the next one alone."""
    return may_cascade(op) and len(op.inputs) == 1 and op.kind not in NEVER_CHAINED


def _narrow_borders(tensors: Sequence[Mapping[str, int]]) -> list[int]:
    """For each border, those before it that one tensor at most crosses; -1 where more cross it."""
    last = {number: run for run, known in enumerate(tensors) for number in known.values()}
    alive, found, count = set[int](), list[int](), 0
    for run, known in enumerate(tensors):
        alive = {each for each in alive if last[each] >= run}
        found.append(count if len(alive) < 2 else -1)
        count += len(alive) < 2
        alive |= {*known.values()}
    return [*found, count]


def _is_blocks(narrow: Sequence[int], start: int, stop: int, most: int) -> bool:
    """Whether these are a few blocks, each of which begins and ends with one tensor."""
    return narrow[start] >= 0 <= narrow[stop] and narrow[stop] - narrow[start] <= most


def _as_in_cascade(program: Program, ops: Sequence[Op], run: int) -> Op:
    return replace(accumulating(program, ops[run]), absorbs=())


def _stops(start: int, joins: Sequence[bool], longest: int) -> range:
    stop = start + 1
    while stop < len(joins) and stop < start + longest and joins[stop]:
        stop += 1
    return range(start + 1, stop + 1)


def _readers(program: Program) -> dict[str, set[str]]:
    """The names of the ops that read each tensor; an empty one for whatever else does."""
    found: dict[str, set[str]] = {}
    for node in program.nodes():
        for name in reads(node):
            found.setdefault(name, set()).add(node.name if isinstance(node, Op) else "")
    for name in program.outputs:
        found.setdefault(name, set()).add("")
    return found
