"""``chipmodel plan``: offsets and transfers, without a simulation."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from chipmodel.cli.file_options import STDOUT, WRITES, WRITES_OR_STDOUT, FileCommand
from chipmodel.cli.options import (
    ChipOptions,
    EffortOptions,
    MemoryOptions,
    WorkloadOptions,
    chip_options,
    effort_options,
    memory_options,
    order_option,
    planner_options,
    workload_options,
)
from chipmodel.cli.output import note, write_files
from chipmodel.cli.verdict import verdict
from chipmodel.comparison.arena import planned_model
from chipmodel.errors import BadInput
from chipmodel.hardware.chip import Chip
from chipmodel.model.program import Program
from chipmodel.passes.compiled_weights import compiled
from chipmodel.passes.op_order import names_in_order
from chipmodel.pipeline.order_choice import ChosenOrder, OrderRequest, OrderWish, order_of_plan
from chipmodel.pipeline.plan import plan as plan_program
from chipmodel.pipeline.plan_export import plan_of_planned
from chipmodel.pipeline.request import Planned, PlanRequest
from chipmodel.pipeline.rounds import one_path_bound
from chipmodel.plan_file.write import write_plan
from chipmodel.terminal.printing import emit, remark
from chipmodel.terminal.progress import stage
from dma.schedule.expected_forecast import ScheduleForecast
from reports.ordering import order_words
from workloads.load import TFLITE_SUFFIX

ORDER_SHARE = 0.4
"""Of the time that is left of ``--time-limit``, what each of several orders of ops may take. Chosen."""


@click.command(cls=FileCommand)
@workload_options
@chip_options
@planner_options(streamer="exact")
@memory_options
@order_option
@effort_options
@click.option(
    "--output",
    "-o",
    metavar="FILE|-",
    type=WRITES_OR_STDOUT,
    default=STDOUT,
    help="Where the plan goes. [stdout]",
)
@click.option(
    "--write-model",
    "model_file",
    metavar="FILE",
    type=WRITES,
    help="Of a TFLite file: the model with a plan of TensorFlow Lite Micro's arena (see chipmodel arena).",
)
def plan(
    *,
    source: WorkloadOptions,
    target: ChipOptions,
    packer: str,
    streamer: str,
    memory: MemoryOptions,
    order: OrderWish,
    effort: EffortOptions,
    output: str,
    model_file: str | None,
) -> int:
    """Plan WORKLOAD: an offset for every buffer, and the commands of the sequencer and the DMA engine.

    The plan is what chipmodel check verifies and chipmodel export turns into a C header. The forecast of its
    cycles, where nothing contends, and their lower bound are on stderr. For a chip of one core.
    """
    limit = effort.start()
    if model_file and Path(source.workload).suffix.lower() != TFLITE_SUFFIX:
        raise BadInput("--write-model is for TFLite files", hint="leave it out, or give a .tflite file")
    chip = target.load()
    program = compiled(source.load(), chip)
    if chip.cores > 1:
        hint = "plan it by chipmodel simulate WORKLOAD --plan FILE"
        raise BadInput(f"the chip has {chip.cores} cores", hint=hint)
    asked = PlanRequest(
        program,
        chip,
        packer,
        streamer,
        memory.merge,
        not memory.no_spill,
        limits=effort.limits(),
        cascade=memory.cascade,
    )

    def planned_in(program: Program) -> Planned:
        with stage(f"planning {program.name}") as say:
            until = limit.deadline.share(ORDER_SHARE if order != "given" else 1.0)
            return plan_program(replace(asked, program=program, stop=effort.stop(say), deadline=until))

    chosen = order_of_plan(OrderRequest(program, memory.in_place, order), chip, planned_in)
    planned = chosen.planned or planned_in(chosen.program)
    names = names_in_order(chosen.program) if chosen.ordering else ()
    document = plan_of_planned(planned, chosen.program, chip, target.name, target.overrides, names)
    if output == STDOUT:
        emit(write_plan(document))
    write_files(
        [
            (output, lambda: write_plan(document)),
            (model_file, lambda: planned_model(Path(source.workload), effort.limits())),
        ]
    )
    remark(_words(chosen, chip, planned, asked.cascades))
    note(f"the time limit cut short: {part}" for part in limit.cut_short)
    return verdict(planned.fit(chosen.program, chip), planned.solved, bool(limit.cut_short))


def _words(chosen: ChosenOrder[Planned], chip: Chip, planned: Planned, cascades: bool) -> str:
    program = chosen.program
    cycles = ScheduleForecast(program, chip).cycles(planned.schedule)
    bound = planned.bound or one_path_bound(program, chip, False, cascades=cascades)
    peak = f"peak {planned.solved.peak:,} B of {chip.shared_memory.bytes:,} B"
    times = f"forecast {cycles:,.0f} cycles"
    if bound:
        times += f", bound {bound.cycles:,}, gap {cycles / bound.cycles - 1:.1%} ({bound.space})"
    ordered = f"\norder of ops: {order_words(chosen.ordering)}" if chosen.ordering else ""
    named = ", ".join(cascade.name for cascade in planned.schedule.cascades)
    in_turns = f"\ncascades: {named}" if named else ""
    return f"{program.name} on {chip.name}: {peak}; {times}{ordered}{in_turns}"
