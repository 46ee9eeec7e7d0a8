"""Lower bound on cycles over the listed ways to run neighbours (``dma.columns``), with their real steps.

``chipmodel.bounds.time_bound`` holds for any plan whatever; this bound is higher, and holds for plans of the
list alone: the ladder's, and those of one plan that are given.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from itertools import chain
from math import floor
from typing import NamedTuple

import numpy as np

from chipmodel.bounds.fluid import (
    MAX_OP_RUNS,
    NOT_WITHIN,
    Produced,
    fluid_problem,
    joined_legs,
    tensors_along,
)
from chipmodel.bounds.program_windows import LeastTransferCosts
from chipmodel.hardware.chip import Chip
from chipmodel.model.program import If, Loop, Node, Op, Program
from chipmodel.model.schedule import Traffic
from chipmodel.model.short_path import short_path
from chipmodel.model.time_bound import LISTED, TimeBound
from chipmodel.timing.links import Link
from chipmodel.timing.transfer import link
from dma.columns.chosen import ChosenWay, chosen_way
from dma.columns.ladder import FOR_TIME, Cascades
from dma.columns.listed import ListedWays
from dma.columns.plan_ways import PlanWays
from dma.residency.storages import tensors_within
from solvers.columns.kernel import Integers, Rates, is_compiled
from solvers.columns.path import NO_LIMITS, FastestPath, PathLimits, PathWay, fastest_path, least_time
from solvers.core.deadline import NO_DEADLINE, Deadline
from solvers.fluid.borders import NEVER
from solvers.fluid.problem import FluidOp, FluidProblem
from solvers.fluid.residents import Residents


def listed_bound(
    program: Program,
    chip: Chip,
    path: Mapping[str, str],
    cascades: bool,
    own: PlanWays,
    inferences: int = 1,
    deadline: Deadline = NO_DEADLINE,
    most: int = NEVER,
) -> TimeBound | None:
    """Return the least cycles along ``path`` of the listed plans, those with the ways ``own`` among them; any
    number that is more where they are more than ``most``, as those of a plan are.

    ``program`` is as that plan has it, weights in place too. None where there is no ``fluid_problem``, and
    without the compiled kernel. Raises TimeIsOver.
    """
    made = listed_instance(program, chip, path, cascades, own, inferences, deadline)
    if made is None:
        return None
    found = least_time(made.problem, made.columns, deadline=deadline, most=most)
    legs = joined_legs(found, [op.name for op in made.ops])
    return TimeBound(found.cycles, tuple(legs), LISTED[cascades], found.ways)


class ListedInstance(NamedTuple):
    """What a bound over listed ways is computed from."""

    problem: FluidProblem
    columns: ListedWays
    ops: list[Op]


class PlanChoices(NamedTuple):
    """What plans have in common that are sought: each of their transfers has its cycles, not the least."""

    within: Mapping[str, str]
    """Tensors that are made within another one."""
    keeps: bool
    """Whether nothing but inputs and outputs of the program leaves SharedMemory."""
    tried: Cascades = FOR_TIME


def listed_instance(
    program: Program,
    chip: Chip,
    path: Mapping[str, str],
    cascades: bool,
    own: PlanWays,
    inferences: int = 1,
    deadline: Deadline = NO_DEADLINE,
    sought: PlanChoices | None = None,
) -> ListedInstance | None:
    """Return what ``listed_bound`` is computed from; None as it. Raises TimeIsOver.

    ``sought`` is for costs that are to lead to a plan.
    """
    within, keeps, tried = sought or (NOT_WITHIN, False, FOR_TIME)
    short = short_path(program, path, MAX_OP_RUNS)
    if not is_compiled() or short is None:
        return None
    problem = fluid_problem(program, chip, path, cascades, inferences, within, keeps, sought is None)
    if problem is None:
        return None
    ops = [op for op, _ in short.runs]
    listed = _listed(program, chip, ops, problem, own, deadline, sought is not None, within, tried)
    return ListedInstance(problem, listed, ops)


class FastestWays(NamedTuple):
    """The ways of fastest paths for so many ``bytes`` of SharedMemory, and the cycles of the first one."""

    bytes: int
    cycles: int
    ways: tuple[ChosenWay, ...]
    alone: int = NEVER
    """Those of a path of single ops, if they are known."""


Proposals = Callable[[FluidProblem, ListedWays], Iterator[FastestPath]]
"""Paths over the listed ways of a problem."""
LIKELY = (1.005, 1.02, 1.125)
"""How many times the cycles of a path those of one for the next smaller size likely are, at most (assumed): a
limit makes the search quicker, and another one follows where there is none within it."""


def fastest_ways(
    program: Program,
    chip: Chip,
    path: Mapping[str, str],
    cascades: bool,
    sizes: Sequence[int],
    keeps: bool = False,
    deadline: Deadline = NO_DEADLINE,
    limits: PathLimits = NO_LIMITS,
    tried: Cascades = FOR_TIME,
    propose: Proposals | None = None,
) -> Iterator[FastestWays]:
    """Yield the ways of a fastest path for each of ``sizes``, in bytes of SharedMemory.

    They are those of one path for each arm, the one along ``path`` first: those that ``propose`` yields, if
    it is given. The ``limits`` are those of the first size; of a program that is straight, but for those that
    are likely. Nothing where ``listed_bound`` is None, and where no listed plan is within the limits. Raises
    TimeIsOver.
    """
    sought = PlanChoices(tensors_within(program), keeps, tried)
    every = (
        listed_instance(program, chip, one, cascades, PlanWays(), 1, deadline, sought)
        for one in paths_through_arms(program, path)
    )
    listed = [
        each._replace(problem=replace(each.problem, followed_in=max(sizes)))
        for each in every
        if each is not None
    ]
    made = [(each, named_tensors(program, each, sought.within)) for each in listed]
    if not made:
        return
    begin = int(propose is not None)
    first = limits if len(made) == 1 else PathLimits(limits.likely)
    within = [first] * len(made[begin:])
    larger: list[FastestPath | None] = [None] * len(within)
    for size in sizes:
        sized = [each._replace(problem=replace(each.problem, capacity=size)) for each, _ in made]
        asked = [(each.problem, each.columns) for each in sized]
        others = [
            fastest_path(*each, deadline=deadline, limits=limit, larger=known)
            for each, limit, known in zip(asked[begin:], within, larger, strict=True)
        ]
        beyond = None in others and within[0][1:] != NO_LIMITS[1:]
        if beyond or (others and not any(others)):
            return  # What has no way in so much memory has none in less.
        within = [PathLimits(tuple(int(each.cycles * n) for n in LIKELY) if each else ()) for each in others]
        larger = [one or other for one, other in zip(larger, others, strict=True)]
        for fastest in propose(*asked[0]) if propose else [others.pop(0)]:
            known = zip(sized, (names for _, names in made), (fastest, *others), strict=True)
            if found := ways_of(chip, size, [*known]):
                yield found


def ways_of(
    chip: Chip, size: int, paths: Sequence[tuple[ListedInstance, Mapping[int, str], FastestPath | None]]
) -> FastestWays | None:
    """Return the ways of paths, each op in that of the first one that has it, as those for ``size`` bytes;
    None for none. With each path come the names of its tensors."""
    found: dict[str, ChosenWay] = {}
    for made, called, fastest in paths:
        residents = Residents(made.problem)
        for way in reversed(fastest.ways if fastest else ()):
            # The last iterations of a loop are like most.
            chosen = _chosen(chip, made, called, residents, way)
            found |= dict.fromkeys(chosen.ops, chosen) if found.keys().isdisjoint(chosen.ops) else {}
    if not found:
        return None
    *_, likely = paths[0]
    cycles, alone = (likely.cycles, likely.alone) if likely else (NEVER, NEVER)
    return FastestWays(size, cycles, tuple({id(way): way for way in found.values()}.values()), alone)


MOST_PATHS = 8
"""Paths along which ways are sought, which bounds the time (assumed)."""


def paths_through_arms(program: Program, path: Mapping[str, str]) -> list[dict[str, str]]:
    """Return paths that together run all arms, or the first of many: ``path``, and others that take at each
    branch the next of its arms."""
    inner = [node for node in program.nodes() if not isinstance(node, Op)]
    first = {
        node.name: path.get(node.name, node.arms[0].name if isinstance(node, If) else str(node.iterations))
        for node in inner
    }
    return [{**first, **arms} for arms in _arms_of(program.body, first)[:MOST_PATHS]]


def _arms_of(body: Sequence[Node], first: Mapping[str, str]) -> list[dict[str, str]]:
    """Arms of all branches in a body that together run each of them; those of ``first`` are the first."""
    nodes = [_arms_through(node, first) for node in body if not isinstance(node, Op)]
    longest = max(map(len, nodes), default=1)
    return [dict(ChainMap(*(arms[at if at < len(arms) else 0] for arms in nodes))) for at in range(longest)]


def _arms_through(node: If | Loop, first: Mapping[str, str]) -> list[dict[str, str]]:
    if isinstance(node, Loop):
        return _arms_of(node.body, first)
    arms = sorted(node.arms, key=lambda arm: arm.name != first[node.name])
    return [{node.name: arm.name, **inner} for arm in arms for inner in _arms_of(arm.body, first)]


def named_tensors(program: Program, made: ListedInstance, within: Mapping[str, str]) -> dict[int, str]:
    """Return the names of the tensors of a problem, by identity."""
    known = tensors_along(program, made.ops, within)
    return {id(tensor): each.name for tensor, each in zip(made.problem.tensors, known, strict=True)}


def _chosen(
    chip: Chip,
    made: ListedInstance,
    called: Mapping[int, str],
    residents: Residents,
    way: PathWay,
) -> ChosenWay:
    """A way of a path, with the names of the tensors at its borders: those that are not tracked stay."""

    def staying(border: int, bits: int) -> dict[str, bool]:
        known = {called[id(t)]: bool(bits >> n & 1) for n, t in enumerate(residents.tracked[border])}
        return known | dict.fromkeys(map(called.__getitem__, residents.untracked[border]), True)

    return chosen_way(
        made.ops[way.start : way.stop],
        way,
        made.columns.stretch(way.start, way.stop),
        staying(way.start, way.before),
        staying(way.stop, way.after),
        chip.npu.rolling_buffers,
    )


def _listed(
    program: Program,
    chip: Chip,
    ops: list[Op],
    problem: FluidProblem,
    own: PlanWays,
    deadline: Deadline,
    for_plan: bool,
    within: Mapping[str, str],
    tried: Cascades,
) -> ListedWays:
    costs = LeastTransferCosts(chip, in_turn=for_plan)
    load, store, weights = (
        _rate(costs.load_once, costs.load_each),
        _rate(costs.store_once, costs.store_each),
        _rate(costs.weights_once, costs.weights_each),
    )
    tensors = _numbers_by_run(ops, tensors_along(program, ops, within), within)
    joins = [op.joins for op in problem.ops]
    runs = zip(ops, problem.ops, strict=True)
    loads = [_loads(program, op, known, costs.weights_each, weights[0]) for op, known in runs]
    return ListedWays(
        program,
        chip,
        ops,
        Rates(load, store, weights),
        _further_runs(chip, costs, for_plan or chip.dma.channels.count == 1),
        tensors,
        loads,
        joins,
        own,
        deadline,
        for_plan,
        within,
        tried,
        _open_borders(problem),
    )


def _open_borders(problem: FluidProblem) -> Collection[int]:
    """The borders at which there is room for all that stays there."""
    borders = range(len(problem.ops) + 1)
    if not problem.keeps:
        return borders
    staying = [0] * len(borders)
    for tensor in problem.tensors:
        if tensor.made is not None and tensor.held is not None:
            for border in borders[tensor.made + 1 : tensor.held + 1]:
                staying[border] += tensor.bytes
    return [border for border in borders if staying[border] <= problem.capacity]


def _numbers_by_run(
    ops: Sequence[Op], tensors: Sequence[Produced], within: Mapping[str, str]
) -> list[dict[str, int]]:
    """The numbers of the tensors that each run reads or makes, by name."""
    found: list[dict[str, int]] = [{} for _ in ops]
    for number, each in enumerate(tensors):
        for run in each.reads:
            found[run].setdefault(each.name, number)
        if each.made is not None:
            found[each.made][each.name] = number
        if each.made is not None and each.held is not None:
            for run in range(each.made, each.held + 1):
                names = (*ops[run].inputs, *ops[run].outputs)
                found[run].update((name, number) for name in names if within.get(name, name) == each.name)
    return found


LENGTHS = 128
"""Bytes of runs up to which each length is looked at; longer ones add what those from half of it on add at
least."""


def _further_runs(chip: Chip, costs: LeastTransferCosts, in_turn: bool) -> Integers:
    """Return ``ListedColumns.runs``; nothing where transfers are not ``in_turn``."""
    slopes: dict[Traffic, Fraction] = {"load": costs.load_each, "store": costs.store_each}
    found = (_further(link(chip, traffic), slope) for traffic, slope in slopes.items())
    return np.array([*chain(*found)] if in_turn else [0, 0], np.int64)


@lru_cache
def _further(end: Link, slope: Fraction) -> tuple[int, ...]:
    """What three runs of each length take longer than two, beyond the cycles of the bytes."""
    more = [0]
    for size in range(1, LENGTHS):
        three, two = (end.in_runs(count * size, count) for count in (3, 2))
        further = three.setup + three.data - two.setup - two.data
        more.append(max(0, floor(further - size * slope)))
    return *more[:-1], min(more[LENGTHS // 2 :])


def _rate(once: Fraction | int, each: Fraction) -> tuple[int, int, int]:
    return int(once), each.numerator, each.denominator


def _loads(program: Program, op: Op, known: FluidOp, each: Fraction, set_up: int) -> int | None:
    """DMA cycles of the weights of a run where they are not all its own; else None."""
    again = bool(known.weights) and known.set_up < set_up
    if not known.shares and not again and known.weights == program.block_bytes(op):
        return None
    return known.set_up + int(known.weights * each)
