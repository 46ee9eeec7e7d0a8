"""``chipmodel check``: a plan or a packing, verified by code that shares nothing with the planners."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import click

from chipmodel.cli.file_options import READS, FileCommand
from chipmodel.cli.options import (
    ChipOptions,
    WorkloadOptions,
    chip_options,
    path_choices,
    path_option,
    workload_options,
)
from chipmodel.cli.packing_source import is_packing, read_packing_source
from chipmodel.errors import EXIT_DOES_NOT_FIT, EXIT_DONE, BadInput
from chipmodel.execute.check import PathVerdict, PlanRun, check_paths
from chipmodel.files.text_file import read_text
from chipmodel.hardware.chip import Chip
from chipmodel.model.program import Program
from chipmodel.passes.compiled_weights import compiled
from chipmodel.passes.in_place import reuse
from chipmodel.passes.run_length import refuse_long_run
from chipmodel.passes.skipped_results import refuse_skipped_results
from chipmodel.pipeline.order_choice import order_faults
from chipmodel.plan_file.contents import PlanFile
from chipmodel.plan_file.read import read_plan
from chipmodel.terminal.printing import say
from chipmodel.terminal.progress import stage
from chipmodel.verify.packing_answer import judge, read_claim
from chipmodel.verify.plan_file import verify_file


@click.command(cls=FileCommand)
@click.argument("plan_file", metavar="PLAN", type=READS)
@workload_options
@chip_options
@click.option(
    "--execute",
    "executes",
    is_flag=True,
    help="Also run the plan on pseudo-random bytes, and compare its outputs with those of the network.",
)
@path_option
@click.option(
    "--seed", type=click.IntRange(0), default=0, show_default=True, help="Of the bytes of --execute."
)
def check(
    *,
    plan_file: str,
    source: WorkloadOptions,
    target: ChipOptions,
    executes: bool,
    choices: tuple[str, ...],
    seed: int,
) -> int:
    """Verify PLAN for WORKLOAD with code that shares nothing with the planners.

    The chip is the one that the plan names; --chip says where its file is now, and with --set that it must
    be that chip. Where WORKLOAD is a packing problem (FILE.csv), PLAN is what chipmodel pack --json wrote.

    --execute runs the commands on real bytes, along --path or else along paths through every arm.
    """
    if choices and not executes:
        raise BadInput("--path chooses what --execute runs", hint="add --execute, or leave out --path")
    if is_packing(source.workload):
        if executes:
            raise BadInput("a packing has no commands to execute", hint="leave out --execute")
        return _check_packing(plan_file, source.workload)
    plan = read_plan(read_text(Path(plan_file)), plan_file)
    chip, violations = _chip_of(plan, target)
    loaded = source.load()
    program = compiled(loaded, chip)
    if executes and program != loaded:
        _refuse_compiled(chip)
    with stage(f"checking {plan_file}"):
        program, disorder = order_faults(program, plan)
        program = reuse(program, "all")
        violations = violations or disorder or verify_file(program, plan, chip)
    right = _right(violations)
    if executes:
        with stage(f"executing {plan_file}"):
            right = _execute(program, plan, chip.shared_memory.bytes, path_choices(choices), seed) and right
    if not right:
        return EXIT_DOES_NOT_FIT
    number = len(plan.buffers) + sum(len(core.buffers) for core in plan.cores)
    many = f" on {len(plan.cores)} cores" if plan.cores else ""
    capacity = f"{chip.shared_memory.bytes:,} B"
    say(f"correct: {number} buffers{many}, peak {plan.peak_bytes:,} B of {capacity}")
    return EXIT_DONE


def _refuse_compiled(chip: Chip) -> None:
    """Refuse to execute weights that have other sizes on the chip than in the network: no bytes are known for
    them."""
    what = f"{chip.name} has weights in other sizes than the network"
    raise BadInput(what, hint="plan with --set weights.bits_per_weight=0, or leave out --execute")


def _chip_of(plan: PlanFile, target: ChipOptions) -> tuple[Chip, tuple[str, ...]]:
    """The chip that the plan names, and what is wrong where the options name another one."""
    named = replace(target, chip_name=target.chip_name or plan.chip, overrides=plan.overrides)
    asked = replace(named, overrides=target.overrides or plan.overrides)
    chip = asked.load()
    if Path(named.name).stem == Path(plan.chip).stem and chip == named.load():
        return chip, ()
    stated, given = (
        " --set ".join((o.name, *o.overrides)) for o in (replace(named, chip_name=plan.chip), asked)
    )
    return chip, (f"the plan is for chip {stated}, not for {given}",)


def _execute(
    program: Program, plan: PlanFile, shared_bytes: int, choices: Mapping[str, str], seed: int
) -> bool:
    """Run the plan and say what came out; whether it is what the network computes."""
    refuse_long_run(program, choices)
    refuse_skipped_results(program, choices)
    streams = tuple(core.commands for core in plan.cores) or (plan.commands,)
    cascades = (*plan.cascades, *(cascade for core in plan.cores for cascade in core.cascades))
    verdicts = check_paths(PlanRun(program, streams, shared_bytes, cascades), choices, seed)
    for verdict in verdicts:
        path = ", ".join(f"{name}={choice}" for name, choice in verdict.path.items())
        along = f" along {path}" if path else ""
        work = f"{verdict.steps:,} steps, {verdict.transfers:,} transfers of {verdict.moved_bytes:,} B{along}"
        if verdict.faults:
            say(f"wrong: executed {work}")
        else:
            say(f"equal: executed {work}; {_outputs(verdict)} as the network computes them")
        _right(verdict.faults)
    return not any(verdict.faults for verdict in verdicts)


def _outputs(verdict: PathVerdict) -> str:
    many = "s" if verdict.outputs != 1 else ""
    return f"{verdict.compared_bytes:,} B of {verdict.outputs} output{many}"


def _check_packing(answer_file: str, source: str) -> int:
    """The offsets, the status and the certificate of a packing."""
    claim = read_claim(read_text(Path(answer_file)), answer_file)
    table = read_packing_source(source, claim.capacity, claim.memories)
    with stage(f"checking {answer_file}"):
        verdict = judge(table.problem, claim)
    if not _right(verdict.faults):
        return EXIT_DOES_NOT_FIT
    peak = "no plan" if claim.peak is None else f"peak {claim.peak:,} B"
    say(f"correct: {len(table.problem.buffers)} buffers, {claim.status}, {peak}; {verdict.ground}")
    return EXIT_DONE


def _right(faults: tuple[str, ...]) -> bool:
    for fault in faults:
        say(f"wrong: {fault}")
    return not faults
