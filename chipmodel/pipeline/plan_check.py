"""The program that a plan file is of, and what is wrong with the plan for it."""

from __future__ import annotations

from collections.abc import Iterator

from chipmodel.hardware.chip import Chip
from chipmodel.model.commands import Compute
from chipmodel.model.program import Program
from chipmodel.model.tree import walk
from chipmodel.pipeline.finer_cuts import finer_programs
from chipmodel.pipeline.order_choice import order_faults
from chipmodel.plan_file.contents import PlanFile
from chipmodel.rewrites.in_place import reuse
from chipmodel.rewrites.weights_in_place import with_weights_in_place
from chipmodel.verify.plan_file import verify_file
from dma.residency.tool_pools import as_tool_keeps


def check_plan(program: Program, plan: PlanFile, chip: Chip) -> tuple[Program, tuple[str, ...]]:
    """Verify a plan for the rewritten ``program`` that it is of.

    Parameters
    ----------
    program
        The network as it was loaded, with the weights and large ops of ``chip``.
    plan
        Says in which order the ops run, and which read weights in place.
    chip
        The plan's chip.

    Returns
    -------
    tuple[Program, tuple[str, ...]]
        The ops that run, if need be with large ones cut finer or as the chip's tool keeps them; and what is
        wrong with the plan.
    """
    program, disorder = order_faults(program, plan)
    program = with_weights_in_place(reuse(program, "all"), chip, _in_place(plan))
    faults = verify_file(program, plan, chip)
    for other in _other_programs(program, chip) if faults else ():
        if not verify_file(other, plan, chip):
            return other, disorder
    return program, disorder or faults


def _in_place(plan: PlanFile) -> frozenset[str]:
    """The ops of which a step of the plan reads weights in place."""
    streams = (plan.commands, *(core.commands for core in plan.cores))
    every = (each for commands in streams for each in walk(commands) if isinstance(each, Compute))
    return frozenset(each.op for each in every if each.weights_at)


def _other_programs(program: Program, chip: Chip) -> Iterator[Program]:
    yield from finer_programs(program, chip)
    kept = as_tool_keeps(program, chip)
    if kept is not program:
        yield kept
        yield from finer_programs(kept, chip)
