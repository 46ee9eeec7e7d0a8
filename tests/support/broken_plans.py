"""Right plans with cascades, and what the verifier and the machine say of them with a command changed."""

from collections.abc import Callable, Container, Iterable
from dataclasses import replace

from chipmodel.cascades.rewrite import CascadeChoice, with_cascades
from chipmodel.execute.check import PlanRun, check_paths
from chipmodel.hardware.chip import Chip
from chipmodel.model.commands import Command, Compute
from chipmodel.model.program import Program
from chipmodel.pipeline.plan_export import plan_of_planned
from chipmodel.pipeline.request import Planned, PlanRequest
from chipmodel.pipeline.rounds import plan_in_rounds
from chipmodel.plan_file.contents import PlanFile
from chipmodel.verify.plan_file import verify_file
from tests.support.chips import LUNA_LIKE

Commands = tuple[Command, ...]
Change = Callable[[Compute], Compute]


def cascaded(program: Program, *choices: CascadeChoice, chip: Chip = LUNA_LIKE) -> Planned:
    """The plan of ``program`` with these cascades."""
    return plan_in_rounds(
        PlanRequest(program, chip, "large-first", "sync"), None, with_cascades(program, choices)
    )


def file_of(plan: Planned, chip: Chip = LUNA_LIKE) -> PlanFile:
    return plan_of_planned(plan, chip, "tiny", ())


def file_faults(program: Program, file: PlanFile, chip: Chip = LUNA_LIKE) -> str:
    """What the verifier says of a plan file, a line for each fault."""
    return "\n".join(verify_file(program, file, chip))


def faults(program: Program, plan: Planned, commands: Iterable[Command]) -> tuple[str, bool]:
    """What the verifier says of the plan with these ``commands``, and whether they compute something else."""
    commands = tuple(commands)
    members = tuple(cascade.members for cascade in plan.schedule.cascades)
    run = PlanRun(program, [commands], LUNA_LIKE.shared_memory.bytes, members)
    wrong = any(verdict.faults for verdict in check_paths(run, {}, 1))
    return file_faults(program, replace(file_of(plan), commands=commands)), wrong


def changed(commands: Iterable[Command], labels: Container[str], change: Change) -> Commands:
    """``commands`` with the steps of these ``labels`` changed."""
    return tuple(change(c) if isinstance(c, Compute) and c.label in labels else c for c in commands)


def steps_of(commands: Iterable[Command], op: str) -> list[Compute]:
    return [c for c in commands if isinstance(c, Compute) and c.op == op]
