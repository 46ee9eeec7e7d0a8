"""Lower bound on cycles from what can stay in SharedMemory, by the solver of ``solvers.residency``.

It holds for every plan without cascades in which, while an op runs, each of its tensors lies whole in
SharedMemory or is streamed through it in stripes, as in all plans of this project but cascades; the window
bound lets any bytes stay. All cycles and bytes are the least that a plan may have: one set-up for all that a
run of an op reads of a tensor, no halo, one row or one output channel at a time. A *touch* is a run of an op
that uses an item.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import groupby, islice
from math import ceil

from chipmodel.bounds.program_windows import LeastTransferCosts
from chipmodel.bounds.stripe_options import options
from chipmodel.bounds.tiling_costs import OpOnChip, last_tile_bytes, most_tile_bytes
from chipmodel.hardware.chip import Chip
from chipmodel.model.program import Op, Program
from chipmodel.model.time_bound import Binding, TimeBound
from chipmodel.npu.least_costs import least_cycles, read_share, written_share
from solvers.core.deadline import NO_DEADLINE, Deadline
from solvers.residency.milp import HORIZON, MAX_NODES, solve_residency
from solvers.residency.problem import (
    InPlaceItems,
    PassingOption,
    ResidencyFound,
    ResidencyItem,
    ResidencyProblem,
    ResidencyStep,
)

NPU_BOUND_TOLERANCE = 0.001
"""A step that takes up to this share longer than it computes counts as bound by the NPU (assumed: beyond the
solver's rounding errors)."""
LONG_RUN_STEPS = 160
LONG_RUN_HORIZON = 32
"""In runs of more than ``LONG_RUN_STEPS`` ops, how many steps early a load is modelled in detail; measured:
DenseNet-121 takes 25 s instead of 52 s with the solver's own ``HORIZON``."""
MAX_STEPS = 400
"""Runs of ops on a path up to which there is a bound; the solver's problem grows with the square of them."""
BUILD_SECONDS_PER_STEP = 0.025
"""Seconds to list what a step may do, which cannot be interrupted; measured: DenseNet-121's 246 take 5.5 s on
``luna-csk6``. Where less is left for all steps, there is no such bound."""
LEFT_OUT = "the bound from what stays in SharedMemory"
"""What a deadline leaves out or cuts short, in the words of the answer."""


def residency_bound(
    program: Program,
    chip: Chip,
    path: Mapping[str, str],
    nodes: int = MAX_NODES,
    deadline: Deadline = NO_DEADLINE,
) -> TimeBound | None:
    """The least cycles of plans without cascades along ``path``, found in seconds; a weaker bound at the
    ``deadline``. None where this bound does not apply, several cores, a very long run, or tensors that are
    read or made slice by slice, and where the deadline leaves no time for it."""
    steps = sum(1 for _ in islice(program.ops_along(path), MAX_STEPS))
    if not deadline.allows(steps * BUILD_SECONDS_PER_STEP, LEFT_OUT):
        return None
    problem = residency_problem(program, chip, path)
    if problem is None:
        return None
    found = _solved(problem, nodes, deadline)
    cycles = ceil(found.bound)
    names = [op.name for op in islice(program.ops_along(path), MAX_STEPS)]
    return TimeBound(cycles, tuple(_bindings(problem, found, names)))


def _solved(problem: ResidencyProblem, nodes: int, deadline: Deadline) -> ResidencyFound:
    """The answer of the mixed-integer program. With a deadline the quick relaxation comes first: its bound is
    higher than what branching proves in a short time."""
    horizon = HORIZON if len(problem.steps) <= LONG_RUN_STEPS else LONG_RUN_HORIZON
    if deadline.left is None:
        return solve_residency(problem, nodes, horizon=horizon)
    relaxed = solve_residency(problem, relaxed=True, horizon=horizon, deadline=deadline)
    if deadline.ends(LEFT_OUT):
        return relaxed
    found = solve_residency(problem, nodes, horizon=horizon, deadline=deadline)
    deadline.ends(LEFT_OUT)
    return found if found.bound >= relaxed.bound else relaxed


def _bindings(problem: ResidencyProblem, found: ResidencyFound, names: list[str]) -> Iterator[Binding]:
    """Join neighbouring steps that the same unit bounds: the DMA engine where a step takes longer than its op
    computes."""
    steps = zip(names, problem.steps, found.durations, strict=False)
    timed = [
        ("npu" if duration <= step.cycles * (1 + NPU_BOUND_TOLERANCE) else "dma", name, duration)
        for name, step, duration in steps
    ]
    if timed:
        unit, name, duration = timed[-1]
        timed[-1] = unit, name, duration + found.durations[-1]
    for unit, group in groupby((each for each in timed if each[2] >= 1), key=lambda each: each[0]):
        every = list(group)
        cycles = round(sum(duration for _, _, duration in every))
        yield Binding("npu" if unit == "npu" else "dma", every[0][1], every[-1][1], cycles)


def residency_problem(program: Program, chip: Chip, path: Mapping[str, str]) -> ResidencyProblem | None:
    """The problem for one run along ``path``, with the least of all costs; None as ``residency_bound``."""
    if chip.cores > 1:
        return None
    run = list(islice(program.ops_along(path), MAX_STEPS + 1))
    if len(run) > MAX_STEPS or any(op.sliced is not None or op.allocates for op in run):
        return None
    return _ProblemBuilder(program, chip, run).problem()


@dataclass
class _ItemSoFar:
    """One definition of a tensor, or a block of weights, with a value of each list for each touch."""

    name: str
    made: bool
    touches: list[int] = field(default_factory=list[int])
    loads: list[Fraction] = field(default_factory=list[Fraction])
    reads: list[int] = field(default_factory=list[int])
    passing: list[int] = field(default_factory=list[int])
    ending: list[int] = field(default_factory=list[int])
    store: Fraction = Fraction(0)
    ends: bool = False
    absorbed: int | None = None


def _inside_another(item: ResidencyItem, step: int) -> bool:
    """Whether the item may lie within the bytes of another one."""
    return item.absorbed is not None and step > item.absorbed


class _ProblemBuilder:
    def __init__(self, program: Program, chip: Chip, run: list[Op]) -> None:
        self.program, self.chip, self.run = program, chip, run
        self.costs = LeastTransferCosts(chip)
        self.items: list[_ItemSoFar] = []
        self.current: dict[str, int] = {}
        """For each tensor, the index of its newest definition."""
        self.blocks: dict[tuple[str, ...], int] = {}
        """For each weight, the index of its block."""
        self.overlays: list[InPlaceItems] = []
        self.touched: list[list[int]] = [[] for _ in run]
        """For each step, the items that it touches."""

    def problem(self) -> ResidencyProblem:
        for step, op in enumerate(self.run):
            self._add_inputs(step, op)
            self._add_weights(step, op)
            self._add_outputs(step, op)
        for name in self.program.outputs:
            if name in self.current and self.items[self.current[name]].made:
                self.items[self.current[name]].ends = True
        items = tuple(self._item(index) for index in range(len(self.items)))
        steps = tuple(ResidencyStep(least_cycles(self.chip.npu, op)) for op in self.run)
        capacity = self.chip.shared_memory.bytes
        sizes = [item.bytes for item in items]
        options_of = (self._options(step, op, items, sizes) for step, op in enumerate(self.run))
        every = tuple(option for each_step in options_of for option in each_step)
        each = min(self.costs.any_load_each, self.costs.store_each)
        return ResidencyProblem(steps, items, capacity, tuple(self.overlays), every, each=each)

    def _options(
        self, step: int, op: Op, items: tuple[ResidencyItem, ...], sizes: list[int]
    ) -> Iterator[PassingOption]:
        touched = [i for i in self.touched[step] if items[i].whole]
        named = {self.items[i].name: i for i in touched}
        if len(named) == len(touched):
            blocks = [items[i] for i in self.touched[step] if not items[i].whole]
            once = all(len(block.touches) == 1 for block in blocks)
            own = [
                0 if _inside_another(item, step) else size for item, size in zip(items, sizes, strict=True)
            ]
            yield from options(OpOnChip(self.program, self.chip, op), step, named, own, weights=once)

    def _add_inputs(self, step: int, op: Op) -> None:
        for name in dict.fromkeys(op.inputs):
            if not self.program.tensors[name].bytes:
                continue
            if name not in self.current:
                self._define(name, made=False)
            size = int(self.program.tensors[name].bytes * read_share(op, name, 1))
            self._touch(self.current[name], step, size, *self._stripe_bytes(op, name))

    def _add_weights(self, step: int, op: Op) -> None:
        size = self.program.block_bytes(op)
        if not size:
            return
        key = tuple(op.weights)
        if key not in self.blocks:
            self.blocks[key] = len(self.items)
            self.items.append(_ItemSoFar("weights of " + op.name, made=False))
        least = -(-size // max(1, op.work.channels))
        self._touch(self.blocks[key], step, size, least, least)

    def _add_outputs(self, step: int, op: Op) -> None:
        under = [self.current[n] for n in dict.fromkeys((*op.absorbs, op.overwrites)) if n in self.current]
        for name in op.outputs:
            if not self.program.tensors[name].bytes:
                continue
            index = self._define(name, made=True)
            self._touch(index, step, 0, *self._stripe_bytes(op, name))
            share = written_share(op, name, 1)
            self.items[index].store = self.costs.store(int(self.program.tensors[name].bytes * share))
        if under and op.outputs and op.outputs[0] in self.current:
            self.overlays.append(InPlaceItems(step, tuple(under), self.current[op.outputs[0]]))
            for index in under:
                self.items[index].absorbed = step

    def _define(self, name: str, made: bool) -> int:
        self.current[name] = len(self.items)
        self.items.append(_ItemSoFar(name, made))
        return self.current[name]

    def _touch(self, index: int, step: int, size: int, passing: int, ending: int) -> None:
        item = self.items[index]
        if item.touches and item.touches[-1] == step:
            return
        self.touched[step].append(index)
        item.touches.append(step)
        item.reads.append(size)
        cost = self.costs.weights if index in self.blocks.values() else self.costs.load
        item.loads.append(cost(size) if size else Fraction(0))
        item.passing.append(passing)
        item.ending.append(ending)

    def _stripe_bytes(self, op: Op, name: str) -> tuple[int, int]:
        """The least bytes of a streamed tensor while the op runs, and at its end."""
        one = frozenset((name,))
        return most_tile_bytes(self.program, op, one, 1, 1), last_tile_bytes(self.program, op, one)

    def _item(self, index: int) -> ResidencyItem:
        known = self.items[index]
        weights = index in self.blocks.values()
        size = max(known.reads) if weights else self.program.tensors[known.name].bytes
        later = known.reads[1:] if known.made else []
        store = known.store if known.ends else self.costs.store(min(later, default=0))
        return ResidencyItem(
            known.name,
            size,
            tuple(known.touches),
            tuple(known.loads),
            tuple(known.reads),
            tuple(known.passing),
            known.made,
            store,
            known.ends,
            whole=not weights,
            absorbed=known.absorbed,
            ending=tuple(known.ending),
        )
