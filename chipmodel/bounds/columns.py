"""Lower bound on cycles over the listed ways to run neighbours (``dma.columns``), with their real steps.

``chipmodel.bounds.time_bound`` holds for any plan whatever; this bound is higher, and holds for plans of the
list alone: the ladder's, and those of one plan that are given.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import NamedTuple

from chipmodel.bounds.fluid import MAX_OP_RUNS, fluid_problem, joined_legs, tensors_along
from chipmodel.bounds.program_windows import LeastTransferCosts
from chipmodel.hardware.chip import Chip
from chipmodel.model.program import Op, Program
from chipmodel.model.short_path import short_path
from chipmodel.model.time_bound import LISTED, TimeBound
from dma.columns.listed import ListedWays
from dma.columns.plan_ways import PlanWays
from solvers.columns.kernel import Rates, is_compiled
from solvers.columns.path import least_time
from solvers.core.deadline import NO_DEADLINE, Deadline
from solvers.fluid.problem import FluidOp, FluidProblem


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
) -> ListedInstance | None:
    """Return what ``listed_bound`` is computed from; None as it. Raises TimeIsOver."""
    problem = fluid_problem(program, chip, path, cascades, inferences) if is_compiled() else None
    short = short_path(program, path, MAX_OP_RUNS)
    if problem is None or short is None:
        return None
    ops = [op for op, _ in short.runs]
    return ListedInstance(problem, _listed(program, chip, ops, problem, own, deadline), ops)


def _listed(
    program: Program,
    chip: Chip,
    ops: list[Op],
    problem: FluidProblem,
    own: PlanWays,
    deadline: Deadline,
) -> ListedWays:
    costs = LeastTransferCosts(chip)
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
    return ListedWays(program, chip, ops, Rates(load, store, weights), tensors, loads, joins, own, deadline)


def _rate(once: Fraction | int, each: Fraction) -> tuple[int, int, int]:
    return int(once), each.numerator, each.denominator


def _loads(program: Program, op: Op, known: FluidOp, each: Fraction, set_up: int) -> int | None:
    """DMA cycles of the weights of a run where they are not all its own; else None."""
    again = bool(known.weights) and known.set_up < set_up
    if not known.shares and not again and known.weights == program.block_bytes(op):
        return None
    return known.set_up + int(known.weights * each)
