"""Lower bound on cycles in which bytes of weights and tensors, the DMA engine and the NPU meet.

``solvers.fluid`` has the relaxation; here a program on a chip becomes its numbers, each the least that any
plan may have. It holds for plans whose ops run in the given order, on their own or as cascades of neighbours
in one body: a cascade holds the weights of an op from its first step to its last, or loads them for every
turn of that op, as planners do.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from itertools import groupby, takewhile
from typing import NamedTuple

from chipmodel.bounds.op_parts import MOST_ROWS, OpParts, units
from chipmodel.bounds.program_windows import LeastTransferCosts
from chipmodel.cascades.accumulation import accumulating
from chipmodel.cascades.columns import columns_read, op_columns, tensor_columns
from chipmodel.cascades.shape import may_cascade
from chipmodel.geometry.interval import Interval
from chipmodel.hardware.chip import Chip, Npu
from chipmodel.model.program import Op, Program
from chipmodel.model.short_path import short_path
from chipmodel.model.time_bound import Binding, TimeBound
from chipmodel.model.work import Conv, Matmul, Pool, Vector
from chipmodel.npu.least_costs import least_cycles, read_share, written_share
from chipmodel.npu.models import launch_cycles
from chipmodel.rewrites.rows_in_place import may_take_rows
from solvers.fluid.borders import FluidTime
from solvers.fluid.dynamic_program import least_time
from solvers.fluid.problem import FluidOp, FluidProblem, FluidTensor

KNOWN_OPS = 4096
"""Ops whose cycles in parts are kept (assumed)."""
MAX_OP_RUNS = 600
"""Runs of ops on a path, of a loop four iterations, up to which there is such a bound (assumed: about a
second)."""


def fluid_bound(
    program: Program, chip: Chip, path: Mapping[str, str], cascades: bool, inferences: int = 1
) -> TimeBound | None:
    """Return the least cycles along ``path`` of plans without, or with and without, ``cascades``.

    Parameters
    ----------
    program : Program
        That many ``inferences`` one after another (``steady_state.unrolled``).
    path : Mapping[str, str]
        The arm of each ``if``, and the iterations of each ``loop``.

    Returns
    -------
    TimeBound | None
        None for several cores and more than ``MAX_OP_RUNS``.
    """
    problem = fluid_problem(program, chip, path, cascades, inferences)
    if problem is None:
        return None
    found = least_time(problem)
    short = short_path(program, path, MAX_OP_RUNS)
    names = [op.name for op, _ in short.runs] if short else []
    return TimeBound(found.cycles, tuple(joined_legs(found, names)))


def joined_legs(found: FluidTime, names: list[str]) -> Iterator[Binding]:
    """Join neighbouring legs that the same unit bounds: the DMA engine where they take longer than they
    compute."""
    timed = [("dma" if leg.cycles > leg.computed else "npu", leg) for leg in found.legs]
    for unit, group in groupby(timed, key=lambda each: each[0]):
        legs = [leg for _, leg in group]
        cycles = sum(leg.cycles for leg in legs)
        first, last = names[legs[0].start], names[legs[-1].stop - 1]
        yield Binding(
            "npu" if unit == "npu" else "dma",
            first,
            last,
            cycles,
            unit == "dma" and any(leg.full for leg in legs),
        )


def fluid_problem(
    program: Program, chip: Chip, path: Mapping[str, str], cascades: bool, inferences: int = 1
) -> FluidProblem | None:
    """Return the numbers of a run along ``path``; None as ``fluid_bound``."""
    short = short_path(program, path, MAX_OP_RUNS)
    if chip.cores > 1 or short is None or not short.runs:
        return None
    of_each = len(short.runs) // inferences
    chains = [number + index // of_each for index, (_, number) in enumerate(short.runs)]
    problem = _FluidBuilder(program, chip, [op for op, _ in short.runs], chains, cascades).problem()
    return replace(problem, repeats=tuple(short.repeats))


def _is_single(op: Op) -> bool:
    """Whether an op has one row only, and one column."""
    return op.work.rows == 1 and not (isinstance(op.work, Conv | Pool) and op.work.window.out_w > 1)


@lru_cache(KNOWN_OPS)
def _known_cycles(npu_text: str, op: Op, columns: bool) -> dict[tuple[int, int], int]:
    """What ``least_cycles`` has found for an op by its stripes and slices, whatever the memory: chips of a
    study differ in little else. ``npu_text`` names the NPU, which cannot be hashed."""
    return {}


class _Further(NamedTuple):
    """Cycles that an op takes longer in so many stripes, in so many slices, and in both (``FluidOp``)."""

    striped: tuple[int, ...] = ()
    sliced: tuple[int, ...] = ()
    both: tuple[tuple[int, ...], ...] = ()


def _further_cycles(
    npu: Npu,
    npu_text: str,
    op: Op,
    counts: tuple[int, ...],
    ranges: tuple[tuple[int, int], ...],
    columns: bool,
) -> _Further:
    """Cycles that an op takes longer in parts, with ``columns`` also in bands."""
    if op.cycles is not None or op.absorbs:
        return _Further()
    launch = launch_cycles(npu)
    if launch:
        every = tuple(launch * (count - 1) for count in counts)
        return _Further(every, every)
    found = _known_cycles(npu_text, op, columns)

    def further(stripes: int, slices: int) -> int:
        parts = min(stripes, op.work.rows), min(slices, op.work.channels)
        for each in parts, (1, 1):
            if each not in found:
                found[each] = least_cycles(npu, op, *each, columns)
        return max(0, found[parts] - found[1, 1])

    if op.weights:
        striped = tuple(further(count, 1) for count in counts)
        sliced = tuple(further(1, count) for count in counts)
        both = tuple(tuple(further(stripes, count) for count in counts) for stripes, _ in ranges)
        return _Further(striped if any(striped) else (), sliced if any(sliced) else (), both)
    if not npu.luna:
        return _Further()
    parts = tuple(min(further(*each) for each in _divisions(op, count)) for count in counts)
    return _Further(parts if any(parts) else ())


def _divisions(op: Op, parts: int) -> set[tuple[int, int]]:
    """Stripes and slices of an op without weights that make so many parts, and among which is the cheapest.
    A product of two tensors loads least in parts that are square; other ops pay the same for each part."""
    stripes = range(1, parts + 1) if isinstance(op.work, Matmul) else (1, parts)
    return {(each, -(-parts // each)) for each in stripes}


def _is_in(at: int, count: int, part: Interval, of: int) -> bool:
    """Whether unit ``at`` of ``count`` lies in a part of ``of`` units."""
    return part.start * count <= at * of and (at + 1) * of <= part.stop * count


def _reads_in_every_step(op: Op) -> bool:
    """Whether any rows that an op makes need some of each input. Rows of padding or of a concat may not."""
    if isinstance(op.work, Vector):
        return not op.work.cut
    return not (isinstance(op.work, Conv | Pool) and op.work.window.transposed)


def _reads_row_by_row(op: Op, operand: int) -> bool:
    """Whether an op without rows of padding reads for each row the one at its place."""
    if not isinstance(op.work, Vector) or op.inputs[operand] == op.sliced:
        return False
    if operand in op.whole or operand in op.work.broadcast:
        return True
    return op.work.cut.follows_rows(operand) if op.work.cut else op.work.reach is None


def _is_overwritten(op: Op, name: str) -> bool:
    """Whether each byte of the output takes the place of a byte of that input."""
    return op.overwrites == name and not (op.by_rows and op.by_rows.rows)


@dataclass
class Produced:
    """A tensor, or one of those that ops make under its name."""

    name: str
    made: int | None
    reads: list[int] = field(default_factory=list[int])


def tensors_along(program: Program, ops: Sequence[Op]) -> list[Produced]:
    """Return the tensors that runs of ops make or read, in the order of ``FluidProblem.tensors``."""
    found: list[Produced] = []
    newest: dict[str, Produced] = {}
    inputs = frozenset(program.inputs)
    for run, op in enumerate(ops):
        for name in dict.fromkeys(op.inputs):
            if name == op.sliced or not program.tensors[name].bytes:
                continue
            if name not in newest and name in inputs:
                newest[name] = Produced(name, None)
                found.append(newest[name])
            if name in newest:
                newest[name].reads.append(run)
        for name in op.outputs:
            newest.pop(name, None)
            if name != op.sliced and not op.allocates and program.tensors[name].bytes:
                newest[name] = Produced(name, run)
                found.append(newest[name])
    return found


class _FluidBuilder:
    def __init__(
        self, program: Program, chip: Chip, ops: list[Op], chains: list[int], cascades: bool
    ) -> None:
        self.program, self.npu, self.ops, self.cascades = program, chip.npu, ops, cascades
        self.chains, self.capacity = chains, chip.shared_memory.bytes
        self.parts = OpParts(program, chip, cascades)
        self.costs = LeastTransferCosts(chip)
        self.npu_text = repr(chip.npu)

    def problem(self) -> FluidProblem:
        last, results = len(self.ops) - 1, frozenset(self.program.outputs)
        definitions = tensors_along(self.program, self.ops)
        newest = {each.name: each for each in definitions}
        ends = [name for name in results if name in newest and newest[name].made == last]
        size = sum(self._written(last, name) for name in ends)
        return FluidProblem(
            tuple(self._ops()),
            tuple(self._tensor(each, each is newest[each.name]) for each in definitions),
            self.capacity,
            self.costs.weights_each,
            max(self.costs.weights_each, self.costs.load_each, self.costs.store_each),
            int(max(self.costs.weights_once, self.costs.load_once, self.costs.store_once)),
            int(self.costs.load_once),
            int(self.costs.store_once),
            int(self.costs.store_once) if size else 0,
        )

    def _ops(self) -> Iterator[FluidOp]:
        earlier: set[str] = set()
        known: set[str] = set()
        for run, op in enumerate(self.ops):
            begins = run > 0 and self.chains[run - 1] != self.chains[run]
            if begins:
                earlier, known = earlier | known, set()
            new = set[str]() if op.gathers else set(op.weights) - known
            known |= new
            counts = self.parts.counts(op)
            inner = self._in_cascade(op)
            cycles = least_cycles(self.npu, inner, columns=self.cascades)
            ranges = self.parts.stripe_ranges(op)
            alone = _further_cycles(self.npu, self.npu_text, op, counts, ranges, False)
            banded = alone
            if self.cascades:
                own = replace(op, absorbs=())
                banded = _further_cycles(self.npu, self.npu_text, own, counts, (), True)
            yield FluidOp(
                cycles,
                alone.striped,
                alone.sliced,
                self._weight_bytes(new),
                int(self.costs.weights_once) if new - earlier else 0,
                run > 0 and self._joins(run),
                self._weight_bytes(self._used_in_chain(run) & earlier) if begins else 0,
                _is_single(inner),
                counts,
                op.work.rows,
                *self.parts.weight_loads(op, self._weight_bytes(new)),
                len(new) < len(set(op.weights)),
                least_cycles(self.npu, op) - cycles,
                alone.both,
                banded.striped or (0,) * len(counts),
                ranges,
                self.parts.is_even(inner if not op.absorbs else op),
            )

    def _in_cascade(self, op: Op) -> Op:
        """The op as it runs in a cascade, if there are any: with memory of its own for what it makes."""
        return replace(accumulating(self.program, op), absorbs=()) if self.cascades else op

    def _weight_bytes(self, names: Iterable[str]) -> int:
        return sum(self.program.weights[name].bytes for name in names)

    def _used_in_chain(self, first: int) -> set[str]:
        """The weights of the runs from ``first`` on that are in its straight chain."""
        chain = takewhile(
            lambda each: each[1] == self.chains[first],
            zip(self.ops[first:], self.chains[first:], strict=True),
        )
        return {name for op, _ in chain if not op.gathers for name in op.weights}

    def _joins(self, run: int) -> bool:
        both = may_cascade(self.ops[run - 1]) and may_cascade(self.ops[run])
        return self.cascades and both and self.chains[run - 1] == self.chains[run]

    def _tensor(self, each: Produced, newest: bool) -> FluidTensor:
        size = self.program.tensors[each.name].bytes
        shares = [read_share(self.ops[run], each.name, 1, columns=self.cascades) for run in each.reads]
        absorbing = [run for run in each.reads if each.name in self.ops[run].absorbs]
        read = [
            0 if run in absorbing and not self.cascades else int(size * share)
            for run, share in zip(each.reads, shares, strict=True)
        ]
        store = stored = 0
        by_rows = self._taken_by_rows(each)
        # Ops that run one after another take no turns.
        in_parts = {*each.reads} if self.cascades else by_rows
        written = self._written(each.made, each.name) if each.made is not None else 0
        if each.made is not None:
            if newest and each.name in self.program.outputs:
                stored = int(self.costs.store(self._written(each.made, each.name)))
            elif not self.ops[each.made].absorbs:
                store = int(self.costs.store(int(size * min(shares, default=Fraction(0)))))
        return FluidTensor(
            size,
            each.made,
            tuple(each.reads),
            tuple(map(self._load, read)),
            tuple(read),
            written,
            store,
            stored,
            frozenset(r for r in each.reads if _is_overwritten(self.ops[r], each.name))
            | frozenset(absorbing),
            frozenset(absorbing),
            by_rows,
            frozenset(run for run in each.reads if self.parts.slices_read_all(self.ops[run], each.name)),
            frozenset(
                run
                for run, share in zip(each.reads, shares, strict=True)
                if share == 1
                and written in (0, size)
                and run in in_parts
                and self._needs_evenly(self.ops[run], each.name)
            ),
            frozenset(run for run in each.reads if _reads_in_every_step(self.ops[run])),
            tuple(self.parts.overlap(self.ops[run], each.name) or 0 for run in each.reads),
            frozenset(run for run in each.reads if self.parts.stripes_read_apart(self.ops[run], each.name)),
            min(absorbing, default=None),
        )

    def _needs_evenly(self, op: Op, name: str) -> bool:
        """Whether each row, and each column, that ``op`` makes needs all of an input that is in its place.
        Then any share of them needs as large a share of it."""
        op = self._in_cascade(op)
        apart = len(op.outputs) == op.inputs.count(name) == 1 and name not in op.absorbs
        if not apart or op.accumulator or not _reads_in_every_step(op):
            return False
        operand, of = op.inputs.index(name), tensor_columns(self.program, name)
        rows, columns = op.work.rows, op_columns(self.program, op) or 0
        if max(rows, columns) > MOST_ROWS:
            return columns < 2 and _reads_row_by_row(op, operand)
        read = (op.reads(operand, each, Interval(0, op.work.channels)) for each in units(rows))
        wide = (columns_read(self.program, op, operand, each) or Interval(0, of) for each in units(columns))
        alike = all(_is_in(at, rows, share.rows, share.of_rows) for at, share in enumerate(read))
        return alike and all(_is_in(at, columns, each, of) for at, each in enumerate(wide))

    def _taken_by_rows(self, each: Produced) -> frozenset[int]:
        """The runs whose output has the memory of a tensor row by row, or may have it: where ops may run in
        stripes, and nothing reads it later."""
        runs = {run for run in each.reads if self.ops[run].overwrites == each.name}
        runs -= {run for run in runs if _is_overwritten(self.ops[run], each.name)}
        if self.cascades and each.reads and each.name not in self.program.outputs:
            op = self.ops[each.reads[-1]]
            able = each.name != op.overwrites and may_take_rows(self.program, op, each.name)
            runs |= {each.reads[-1]} if able else set()
        return frozenset(runs)

    def _load(self, size: int) -> int:
        return int(self.costs.load(size)) if size else 0

    def _written(self, run: int, name: str) -> int:
        return int(self.program.tensors[name].bytes * written_share(self.ops[run], name, 1))
