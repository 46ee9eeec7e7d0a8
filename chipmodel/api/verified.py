"""A plan beside the workload that it is for: the program as it runs there, the chip, and what is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from chipmodel.api.plan import ProgramPlan
from chipmodel.api.simulation import Simulation
from chipmodel.api.target import ChipSource, chip as chip_of
from chipmodel.errors import BadInput
from chipmodel.hardware.chip import Chip
from chipmodel.hardware.chip_file import load_chip, with_overrides
from chipmodel.model.commands import Repeat
from chipmodel.model.program import Program
from chipmodel.pipeline.plan_check import check_plan
from chipmodel.plan_file.contents import PlanFile
from chipmodel.rewrites.compiled_weights import compiled
from chipmodel.rewrites.steady_state import LOOP
from dma.residency.fitted import fitted
from reports.words import plural


@dataclass(frozen=True, slots=True)
class VerifiedPlan:
    """The ``program`` as the plan runs it, and no ``faults`` if the plan is right for it and the ``chip``."""

    program: Program
    chip: Chip
    faults: tuple[str, ...]
    compiled: bool
    """Whether weights have other sizes on the chip than in the network."""


def verified_plan(
    source: object,
    plan: PlanFile,
    called: str,
    workload: Program,
    chip: ChipSource | None = None,
    overrides: tuple[str, ...] = (),
) -> VerifiedPlan:
    """Return what ``plan`` is for ``workload``; ``source`` is what the plan was read from, ``chip`` where its
    chip is now. Raises BadInput where they do not belong together."""
    given = chip if chip is not None else _own_chip(source)
    target, violations = _chip_of(plan, given, overrides)
    _refuse_other_inferences(plan, workload, called)
    program = compiled(workload, target)
    changed = program.weights != workload.weights
    program, faults = check_plan(fitted(program, target), plan, target)
    return VerifiedPlan(program, target, violations or faults, changed)


def _own_chip(source: object) -> Chip | None:
    """The chip that an answer was made for, where no file says it."""
    made = source.chip if isinstance(source, ProgramPlan | Simulation) else None
    return None if made is None or made.source else made


def _chip_of(
    plan: PlanFile, given: ChipSource | None, overrides: tuple[str, ...]
) -> tuple[Chip, tuple[str, ...]]:
    """The chip that the plan names, and what is wrong where another one is given."""
    name: str
    if given is None or isinstance(given, str | Path):
        name = plan.chip if given is None else str(given)
        named = load_chip(name, plan.overrides)
        chip, stated = load_chip(name, overrides or plan.overrides), overrides or plan.overrides
    else:
        chip = chip_of(given)
        name = chip.source or chip.name
        named = with_overrides(chip, plan.overrides)
        chip = with_overrides(chip, overrides or (() if chip.overrides else plan.overrides))
        stated = chip.overrides
    if Path(name).stem == Path(plan.chip).stem and chip == named:
        return chip, ()
    wanted, asked = _with_fields(plan.chip, plan.overrides), _with_fields(name, stated)
    return chip, (f"the plan is for chip {wanted}, not for {asked}",)


def _with_fields(chip: str, overrides: Sequence[str]) -> str:
    return f"{chip} with {', '.join(overrides)}" if overrides else chip


def _refuse_other_inferences(plan: PlanFile, program: Program, called: str) -> None:
    """Refuse a plan of another number of inferences in a row than the program makes: no step would match."""
    commands = (*plan.commands, *(command for core in plan.cores for command in core.commands))
    made = next(
        (command.iterations for command in commands if isinstance(command, Repeat) and command.name == LOOP),
        1,
    )
    own_loop = program.inferences == 1 and any(node.name == LOOP for node in program.nodes())
    if made != program.inferences and not own_loop:
        hint = f"--steady-state {made} (load(..., inferences={made}))"
        hint = hint if made > 1 else "leave out --steady-state"
        what = f"{called} is a plan of {plural(made, 'inference')}, not of {program.inferences:,}"
        raise BadInput(what, hint=hint)
