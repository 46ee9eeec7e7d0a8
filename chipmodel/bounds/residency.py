"""A program's run along a path as the question of ``solvers.residency.problem``, and its bound.

It holds for every plan in which, while an op runs, each of its tensors lies whole in SharedMemory or passes
through in stripes, as all plans here do; the bound of ``windows`` allows any bytes to stay. All cycles and
bytes are the least that a plan may have: one set-up for all that a touch reads, no halo, one row or one
output channel at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import groupby, islice
from math import ceil

from chipmodel.bounds.op_costs import least_cycles, read_share, written_share
from chipmodel.bounds.program_windows import Costs
from chipmodel.bounds.stripe_options import options
from chipmodel.bounds.tiling_costs import largest, last
from chipmodel.chip.chip import Chip
from chipmodel.model.program import Op, Program
from chipmodel.model.time_bound import Binding, TimeBound
from solvers.residency.milp import HORIZON, MAX_NODES, solve_residency
from solvers.residency.problem import (
    InPlaceItems,
    PassingOption,
    ResidencyFound,
    ResidencyItem,
    ResidencyProblem,
    ResidencyStep,
)

CLOSE = 0.001
"""A step that takes no more than this part longer than it computes is bound by the NPU."""
LONG, NEAR = 160, 32
"""In a longer run loads come so many visits early in detail: DenseNet-121 takes 25 s instead of 52."""
MOST_VISITS = 400
"""A longer run has no such bound: pairs of a load and an interval grow with the square."""


def residency_bound(
    program: Program, chip: Chip, path: Mapping[str, str], nodes: int = MAX_NODES
) -> TimeBound | None:
    """Cycles that no plan beats along ``path``, in seconds; None where this bound says nothing: several
    cores, a very long run, or tensors that are read or made slice by slice."""
    problem = residency_problem(program, chip, path)
    if problem is None:
        return None
    horizon = HORIZON if len(problem.steps) <= LONG else NEAR
    found = solve_residency(problem, nodes, horizon=horizon)
    cycles = ceil(found.bound)
    names = list(islice(program.ops_along(path), MOST_VISITS))
    return TimeBound(cycles, tuple(_bindings(problem, found, [op.name for op in names])))


def _bindings(problem: ResidencyProblem, found: ResidencyFound, names: list[str]) -> Iterator[Binding]:
    """Neighbouring steps of one unit: the DMA engine where a step takes longer than its op computes."""
    steps = zip(names, problem.steps, found.durations, strict=False)
    timed = [
        ("npu" if duration <= step.cycles * (1 + CLOSE) else "dma", name, duration)
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
    """The question for one run along ``path``, with the least of all costs."""
    if chip.cores > 1:
        return None
    run = list(islice(program.ops_along(path), MOST_VISITS + 1))
    if len(run) > MOST_VISITS or any(op.sliced is not None or op.allocates for op in run):
        return None
    return _Run(program, chip, run).problem()


@dataclass
class _Tensor:
    """One definition of a tensor, or a block of weights: its touches so far."""

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


def _inside(item: ResidencyItem, visit: int) -> bool:
    """Whether its bytes may be those of another item."""
    return item.absorbed is not None and visit > item.absorbed


class _Run:
    def __init__(self, program: Program, chip: Chip, run: list[Op]) -> None:
        self.program, self.chip, self.run = program, chip, run
        self.costs = Costs(chip)
        self.tensors: list[_Tensor] = []
        self.current: dict[str, int] = {}
        self.blocks: dict[tuple[str, ...], int] = {}
        self.overlays: list[InPlaceItems] = []
        self.touched: list[list[int]] = [[] for _ in run]

    def problem(self) -> ResidencyProblem:
        for visit, op in enumerate(self.run):
            self._reads(visit, op)
            self._weights(visit, op)
            self._writes(visit, op)
        for name in self.program.outputs:
            if name in self.current and self.tensors[self.current[name]].made:
                self._output(self.current[name])
        items = tuple(self._item(index) for index in range(len(self.tensors)))
        steps = tuple(ResidencyStep(least_cycles(self.chip.npu, op)) for op in self.run)
        capacity = self.chip.shared_memory.bytes
        sizes = [item.bytes for item in items]
        ways = (self._options(visit, op, items, sizes) for visit, op in enumerate(self.run))
        every = tuple(option for some in ways for option in some)
        each = min(self.costs.load_each, self.costs.store_each)
        return ResidencyProblem(steps, items, capacity, tuple(self.overlays), every, each=each)

    def _options(
        self, visit: int, op: Op, items: tuple[ResidencyItem, ...], sizes: list[int]
    ) -> Iterator[PassingOption]:
        touched = [i for i in self.touched[visit] if items[i].whole]
        named = {self.tensors[i].name: i for i in touched}
        if len(named) == len(touched):
            blocks = [items[i] for i in self.touched[visit] if not items[i].whole]
            once = all(len(block.touches) == 1 for block in blocks)
            apart = [0 if _inside(item, visit) else size for item, size in zip(items, sizes, strict=True)]
            yield from options(self.program, self.chip, visit, op, named, apart, once)

    def _reads(self, visit: int, op: Op) -> None:
        for name in dict.fromkeys(op.inputs):
            if not self.program.tensors[name].bytes:
                continue
            if name not in self.current:
                self._begin(name, made=False)
            size = int(self.program.tensors[name].bytes * read_share(op, name, 1))
            self._touch(self.current[name], visit, size, *self._passing(op, name))

    def _weights(self, visit: int, op: Op) -> None:
        size = self.program.block_bytes(op)
        if not size:
            return
        key = tuple(op.weights)
        if key not in self.blocks:
            self.blocks[key] = len(self.tensors)
            self.tensors.append(_Tensor("weights of " + op.name, made=False))
        least = -(-size // max(1, op.work.channels))
        self._touch(self.blocks[key], visit, size, least, least)

    def _writes(self, visit: int, op: Op) -> None:
        under = [self.current[n] for n in dict.fromkeys((*op.absorbs, op.overwrites)) if n in self.current]
        for name in op.outputs:
            if not self.program.tensors[name].bytes:
                continue
            index = self._begin(name, made=True)
            self._touch(index, visit, 0, *self._passing(op, name))
            share = written_share(op, name, 1)
            self.tensors[index].store = self.costs.store(int(self.program.tensors[name].bytes * share))
        if under and op.outputs and op.outputs[0] in self.current:
            self.overlays.append(InPlaceItems(visit, tuple(under), self.current[op.outputs[0]]))
            for index in under:
                self.tensors[index].absorbed = visit

    def _begin(self, name: str, made: bool) -> int:
        self.current[name] = len(self.tensors)
        self.tensors.append(_Tensor(name, made))
        return self.current[name]

    def _touch(self, index: int, visit: int, size: int, passing: int, ending: int) -> None:
        tensor = self.tensors[index]
        if tensor.touches and tensor.touches[-1] == visit:
            return
        self.touched[visit].append(index)
        tensor.touches.append(visit)
        tensor.reads.append(size)
        tensor.loads.append(self.costs.load(size) if size else Fraction(0))
        tensor.passing.append(passing)
        tensor.ending.append(ending)

    def _passing(self, op: Op, name: str) -> tuple[int, int]:
        one = frozenset((name,))
        return largest(self.program, op, one, 1, 1), last(self.program, op, one)

    def _output(self, index: int) -> None:
        self.tensors[index].ends = True

    def _item(self, index: int) -> ResidencyItem:
        tensor = self.tensors[index]
        weights = index in self.blocks.values()
        size = max(tensor.reads) if weights else self.program.tensors[tensor.name].bytes
        later = tensor.reads[1:] if tensor.made else []
        store = tensor.store if tensor.ends else self.costs.store(min(later, default=0))
        return ResidencyItem(
            tensor.name,
            size,
            tuple(tensor.touches),
            tuple(tensor.loads),
            tuple(tensor.reads),
            tuple(tensor.passing),
            tensor.made,
            store,
            tensor.ends,
            whole=not weights,
            absorbed=tensor.absorbed,
            ending=tuple(tensor.ending),
        )
