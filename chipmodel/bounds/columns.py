"""Lower bound on cycles over the listed ways to run neighbours (``dma.columns``), with their real steps.

The closed forms of ``chipmodel.bounds.fluid`` hold for any plan whatever; this bound is higher, and holds for
plans of the list alone: the ladder's, and those of one plan that are given.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction

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
from solvers.fluid.problem import FluidProblem


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
    problem = fluid_problem(program, chip, path, cascades, inferences) if is_compiled() else None
    short = short_path(program, path, MAX_OP_RUNS)
    if problem is None or short is None:
        return None
    ops = [op for op, _ in short.runs]
    columns = _listed(program, chip, ops, problem, own, deadline)
    found = least_time(problem, columns, deadline=deadline)
    return TimeBound(
        found.cycles, tuple(joined_legs(found, [op.name for op in ops])), LISTED[cascades], found.ways
    )


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
    unlisted = set(_unlisted(program, ops, problem, weights[0]))
    return ListedWays(
        program, chip, ops, Rates(load, store, weights), tensors, unlisted, joins, own, deadline
    )


def _rate(once: Fraction | int, each: Fraction) -> tuple[int, int, int]:
    return int(once), each.numerator, each.denominator


def _unlisted(program: Program, ops: list[Op], problem: FluidProblem, set_up: int) -> Iterator[int]:
    """The runs whose weights are not all their own, or that read what may be a part of another tensor."""
    for tensor in problem.tensors:
        if tensor.until is not None:
            yield from (run for run in tensor.reads if run > tensor.until)
    for run, (op, known) in enumerate(zip(ops, problem.ops, strict=True)):
        again = bool(known.weights) and known.set_up < set_up
        if op.absorbs or known.shares or again or known.weights != program.block_bytes(op):
            yield run
