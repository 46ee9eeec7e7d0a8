"""A program on a chip as the integers of ``solvers.fluid``: ops, weights and tensors along a path.

Each number is the least that any plan may have whose ops run in the given order, on their own or as cascades
of neighbours in one body.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import groupby, takewhile
from types import MappingProxyType

from chipmodel.bounds.program_windows import LeastTransferCosts
from chipmodel.cascades.shape import may_cascade
from chipmodel.hardware.chip import Chip
from chipmodel.model.program import Op, Program
from chipmodel.model.short_path import short_path
from chipmodel.model.time_bound import Binding
from chipmodel.npu.least_costs import read_share, written_share
from solvers.fluid.borders import FluidTime
from solvers.fluid.problem import FluidOp, FluidProblem, FluidTensor

MAX_OP_RUNS = 600
"""Runs of ops on a path, of a loop four iterations, up to which there is a bound over listed ways
(assumed: some seconds)."""
NOT_WITHIN: Mapping[str, str] = MappingProxyType({})
"""No tensor is made within another one."""
BEGUN = -1
"""In the place of the run that completes a tensor of which something is made."""


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
    program: Program,
    chip: Chip,
    path: Mapping[str, str],
    cascades: bool,
    inferences: int = 1,
    within: Mapping[str, str] = NOT_WITHIN,
    keeps: bool = False,
    stay: bool = True,
) -> FluidProblem | None:
    """Return the numbers of a run along ``path`` of plans without, or with and without, ``cascades``.

    Parameters
    ----------
    program : Program
        That many ``inferences`` one after another (``steady_state.unrolled``).
    path : Mapping[str, str]
        The arm of each ``if``, and the iterations of each ``loop``.
    within : Mapping[str, str]
        Of plans that make tensors within another one, which is all of them until it is complete.
    keeps : bool
        Of plans in which nothing leaves SharedMemory but inputs and outputs of the program.
    stay : bool
        Whether weights may stay from one iteration to the next.

    Returns
    -------
    FluidProblem | None
        None for several cores and more than ``MAX_OP_RUNS``.
    """
    short = short_path(program, path, MAX_OP_RUNS)
    if chip.cores > 1 or short is None or not short.runs:
        return None
    of_each = len(short.runs) // inferences
    chains = [number + index // of_each for index, (_, number) in enumerate(short.runs)]
    ops = [op for op, _ in short.runs]
    problem = _FluidBuilder(program, chip, ops, chains, cascades, within, keeps, stay).problem()
    return replace(problem, repeats=tuple(short.repeats))


@dataclass
class Produced:
    """A tensor, or one of those that ops make under its name."""

    name: str
    made: int | None
    reads: list[int] = field(default_factory=list[int])
    held: int | None = None
    """The run that completes it, where others are made within it before."""


def tensors_along(
    program: Program, ops: Sequence[Op], within: Mapping[str, str] = NOT_WITHIN
) -> list[Produced]:
    """Return the tensors that runs of ops make or read, in the order of ``FluidProblem.tensors``."""
    found: list[Produced] = []
    newest: dict[str, Produced] = {}
    inputs = frozenset(program.inputs)
    for run, op in enumerate(ops):
        for name in dict.fromkeys(op.inputs):
            if name == op.sliced or name in within or not program.tensors[name].bytes:
                continue
            if name not in newest and name in inputs:
                newest[name] = Produced(name, None)
                found.append(newest[name])
            if name in newest:
                newest[name].reads.append(run)
        for name in op.outputs:
            root = within.get(name, name)
            begun = newest.get(root)
            if begun and begun.held == BEGUN:
                begun.held = run if name == root else BEGUN
                continue
            newest.pop(root, None)
            if name != op.sliced and not op.allocates and program.tensors[name].bytes:
                newest[root] = Produced(root, run, held=BEGUN if root != name else None)
                found.append(newest[root])
    return found


class _FluidBuilder:
    def __init__(
        self,
        program: Program,
        chip: Chip,
        ops: list[Op],
        chains: list[int],
        cascades: bool,
        within: Mapping[str, str],
        keeps: bool,
        stay: bool,
    ) -> None:
        self.within, self.keeps, self.stay = within, keeps, stay
        self.program, self.npu, self.ops, self.cascades = program, chip.npu, ops, cascades
        self.chains, self.capacity = chains, chip.shared_memory.bytes
        self.costs = LeastTransferCosts(chip)

    def problem(self) -> FluidProblem:
        definitions = tensors_along(self.program, self.ops, self.within)
        newest = {each.name: each for each in definitions}
        return FluidProblem(
            tuple(self._ops()),
            tuple(self._tensor(each, each is newest[each.name]) for each in definitions),
            self.capacity,
            self.costs.weights_each,
            max(self.costs.weights_each, self.costs.load_each, self.costs.store_each),
            int(max(self.costs.weights_once, self.costs.load_once, self.costs.store_once)),
            keeps=self.keeps,
        )

    def _ops(self) -> Iterator[FluidOp]:
        earlier: set[str] = set()
        known: set[str] = set()
        for run, op in enumerate(self.ops):
            begins = run > 0 and self.chains[run - 1] != self.chains[run]
            if begins:
                earlier, known = earlier | known if self.stay else earlier, set()
            new = set[str]() if op.gathers else set(op.weights) - known
            known |= new
            yield FluidOp(
                self._weight_bytes(new),
                int(self.costs.weights_once) if new - earlier else 0,
                run > 0 and self._joins(run),
                self._weight_bytes(self._used_in_chain(run) & earlier) if begins else 0,
                len(new) < len(set(op.weights)),
            )

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
        if each.made is not None:
            if newest and each.name in self.program.outputs:
                written = size if each.held is not None else self._written(each.made, each.name)
                stored = int(self.costs.store(written))
            elif each.held is not None or not self.ops[each.made].absorbs:
                store = int(self.costs.store(int(size * min(shares, default=Fraction(0)))))
        held = None if each.held == BEGUN else each.held
        if self.keeps and each.made is not None and each.name not in self.program.outputs:
            held, store = max(each.reads, default=held), 0
        return FluidTensor(
            size,
            each.made,
            # What is made in parts is needed until the run that completes it.
            tuple(each.reads) or (() if held is None else (held,)),
            tuple(map(self._load, read)) or (() if held is None else (0,)),
            store,
            stored,
            frozenset(absorbing),
            min(absorbing, default=None),
            held,
        )

    def _load(self, size: int) -> int:
        return int(self.costs.load(size)) if size else 0

    def _written(self, run: int, name: str) -> int:
        return int(self.program.tensors[name].bytes * written_share(self.ops[run], name, 1))
