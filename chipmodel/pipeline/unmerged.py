"""The same buffers with every arm's memory to itself: what a report shows merging against."""

from __future__ import annotations

from dataclasses import replace

from chipmodel.answers.result import CorePlan, Result
from chipmodel.errors import ChipmodelError
from chipmodel.model.plan import Problem, Solved
from chipmodel.model.program import If, Program
from chipmodel.model.schedule import Schedule
from chipmodel.model.scopes import scopes
from solvers.branches.mergers import merge_arms

UNMERGED = "none"


def with_unmerged(result: Result, packer: str) -> Result:
    """``result`` with its problem, or that of each core, packed once more, with ``--merge none``; as it is
    where there is no ``if``, where nothing was merged, and where that packer finds no such plan."""
    if result.merge == UNMERGED:
        return result
    if result.cores:
        return replace(result, cores=tuple(_core(core, packer) for core in result.cores))
    unmerged = _unmerged(result.program, result.problem, result.schedule, packer)
    return replace(result, unmerged=unmerged) if unmerged else result


def _core(plan: CorePlan, packer: str) -> CorePlan:
    return replace(plan, unmerged=_unmerged(plan.part.program, plan.problem, plan.schedule, packer))


def _unmerged(program: Program, problem: Problem, schedule: Schedule, packer: str) -> Solved | None:
    if not any(isinstance(node, If) for node in program.nodes()):
        return None
    try:
        return merge_arms(problem, scopes(schedule.body).section, packer, UNMERGED)
    except ChipmodelError:
        return None
