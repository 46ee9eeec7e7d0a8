"""Lower bound on cycles over the listed ways to run neighbours (``dma.columns``), with their real steps.

``chipmodel.bounds.time_bound`` holds for any plan whatever; this bound is higher, and holds for plans of the
list alone: the ladder's, and those of one plan that are given.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import floor
from typing import NamedTuple

import numpy as np

from chipmodel.bounds.fluid import MAX_OP_RUNS, fluid_problem, joined_legs, tensors_along
from chipmodel.bounds.program_windows import LeastTransferCosts
from chipmodel.hardware.chip import Chip
from chipmodel.model.program import Op, Program
from chipmodel.model.schedule import Traffic
from chipmodel.model.short_path import short_path
from chipmodel.model.time_bound import LISTED, TimeBound
from chipmodel.timing.transfer import transfer_cycles
from dma.columns.chosen import ChosenWay, chosen_way
from dma.columns.listed import ListedWays
from dma.columns.plan_ways import PlanWays
from solvers.columns.kernel import Integers, Rates, is_compiled
from solvers.columns.path import fastest_path, least_time
from solvers.core.deadline import NO_DEADLINE, Deadline
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
) -> TimeBound | None:
    """Return the least cycles along ``path`` of the listed plans, those with the ways ``own`` among them.

    ``program`` is as that plan has it, weights in place too. None where there is no ``fluid_problem``, and
    without the compiled kernel. Raises TimeIsOver.
    """
    made = listed_instance(program, chip, path, cascades, own, inferences, deadline)
    if made is None:
        return None
    found = least_time(made.problem, made.columns, deadline=deadline)
    legs = joined_legs(found, [op.name for op in made.ops])
    return TimeBound(found.cycles, tuple(legs), LISTED[cascades], found.ways)


class ListedInstance(NamedTuple):
    """What a bound over listed ways is computed from."""

    problem: FluidProblem
    columns: ListedWays
    ops: list[Op]


def listed_instance(
    program: Program,
    chip: Chip,
    path: Mapping[str, str],
    cascades: bool,
    own: PlanWays,
    inferences: int = 1,
    deadline: Deadline = NO_DEADLINE,
    for_plan: bool = False,
) -> ListedInstance | None:
    """Return what ``listed_bound`` is computed from; None as it. Raises TimeIsOver.

    Costs that are to lead to a plan (``for_plan``) are what its transfers take, in place of the least.
    """
    problem = fluid_problem(program, chip, path, cascades, inferences) if is_compiled() else None
    short = short_path(program, path, MAX_OP_RUNS)
    if problem is None or short is None:
        return None
    ops = [op for op, _ in short.runs]
    return ListedInstance(problem, _listed(program, chip, ops, problem, own, deadline, for_plan), ops)


def fastest_ways(
    program: Program, chip: Chip, path: Mapping[str, str], cascades: bool, deadline: Deadline = NO_DEADLINE
) -> tuple[ChosenWay, ...] | None:
    """Return the ways of the fastest of the listed plans.

    None where ``listed_bound`` is, or where the ways of an op are not listed. Raises TimeIsOver.
    """
    made = listed_instance(program, chip, path, cascades, PlanWays(), 1, deadline, for_plan=True)
    if made is None or any(made.columns.any_way(run, run + 1) for run in range(len(made.ops))):
        return None
    problem, columns, ops = made
    names = {id(t): known.name for t, known in zip(problem.tensors, tensors_along(program, ops), strict=True)}
    tracked = Residents(problem).tracked

    def staying(border: int, bits: int) -> dict[str, bool]:
        return {names[id(t)]: bool(bits >> bit & 1) for bit, t in enumerate(tracked[border])}

    return tuple(
        chosen_way(
            ops[way.start : way.stop],
            way,
            columns.stretch(way.start, way.stop),
            staying(way.start, way.before),
            staying(way.stop, way.after),
            chip.npu.rolling_buffers,
        )
        for way in fastest_path(problem, columns, deadline=deadline)
    )


def _listed(
    program: Program,
    chip: Chip,
    ops: list[Op],
    problem: FluidProblem,
    own: PlanWays,
    deadline: Deadline,
    for_plan: bool,
) -> ListedWays:
    costs = LeastTransferCosts(chip, in_turn=for_plan)
    load, store, weights = (
        _rate(costs.load_once, costs.load_each),
        _rate(costs.store_once, costs.store_each),
        _rate(costs.weights_once, costs.weights_each),
    )
    tensors: list[dict[str, int]] = [{} for _ in ops]
    for number, each in enumerate(tensors_along(program, ops)):
        for run in each.reads:
            tensors[run].setdefault(each.name, number)
        if each.made is not None:
            tensors[each.made][each.name] = number
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
    )


LENGTHS = 256
"""Bytes of runs up to which each length is looked at; longer ones add what those from half of it on add at
least."""


def _further_runs(chip: Chip, costs: LeastTransferCosts, in_turn: bool) -> Integers:
    """Return ``ListedColumns.runs``: what three runs take longer than two, beyond the cycles of the bytes;
    nothing where transfers are not ``in_turn``."""
    slopes: dict[Traffic, Fraction] = {"load": costs.load_each, "store": costs.store_each}
    found: list[int] = []
    for traffic, slope in slopes.items() if in_turn else ():
        more = [0]
        for size in range(1, LENGTHS):
            further = transfer_cycles(chip, traffic, 3 * size, 3) - transfer_cycles(
                chip, traffic, 2 * size, 2
            )
            more.append(max(0, floor(further - size * slope)))
        found += [*more[:-1], min(more[LENGTHS // 2 :])]
    return np.array(found or [0, 0], np.int64)


def _rate(once: Fraction | int, each: Fraction) -> tuple[int, int, int]:
    return int(once), each.numerator, each.denominator


def _loads(program: Program, op: Op, known: FluidOp, each: Fraction, set_up: int) -> int | None:
    """DMA cycles of the weights of a run where they are not all its own; else None."""
    again = bool(known.weights) and known.set_up < set_up
    if not known.shares and not again and known.weights == program.block_bytes(op):
        return None
    return known.set_up + int(known.weights * each)
