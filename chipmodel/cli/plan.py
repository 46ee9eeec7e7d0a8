"""``chipmodel plan``: offsets and transfers, without a simulation."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from chipmodel.cli.options import (
    DEFAULT_CHIP,
    chip_options,
    effort,
    effort_options,
    inputs,
    order_option,
    spill_options,
    workload_options,
)
from chipmodel.errors import BadInput
from chipmodel.pipeline.order_plans import order_of_plan
from chipmodel.terminal.progress import stage

if TYPE_CHECKING:
    from chipmodel.chip.chip import Chip
    from chipmodel.model.program import Program
    from chipmodel.passes.in_place import InPlace
    from chipmodel.pipeline.order_choice import Chosen, OrderWish
    from chipmodel.pipeline.single_core import Planned


@click.command()
@workload_options
@chip_options
@click.option("--packer", default="large-first", show_default=True, help="Planner of offsets.")
@click.option("--streamer", default="exact", show_default=True, help="Planner of transfers.")
@spill_options
@order_option
@effort_options
@click.option("--output", "-o", metavar="FILE|-", default="-", help="Where the plan goes. [stdout]")
def plan(
    workload: str,
    dtype: str | None,
    shapes: tuple[str, ...],
    strict: bool,
    profile: str | None,
    chip_name: str | None,
    overrides: tuple[str, ...],
    packer: str,
    streamer: str,
    no_spill: bool,
    in_place: InPlace,
    merge: str,
    order: OrderWish,
    time_limit: float | None,
    gap: float | None,
    output: str,
) -> int:
    """Plan WORKLOAD: an offset for every buffer, and the commands of the sequencer and the DMA engine.

    The plan is what chipmodel check verifies and chipmodel export turns into a C header. What it is forecast
    to take, where nothing contends, and what no plan is below, is said on stderr. For a chip of one core.
    """
    from chipmodel.files.atomic_write import write_whole
    from chipmodel.passes.op_order import names_in_order
    from chipmodel.pipeline import single_core as pipeline
    from chipmodel.pipeline.plan_export import plan_of_planned
    from chipmodel.plan_file.document import write_plan

    program, chip = inputs(workload, dtype, shapes, strict, profile, chip_name, overrides)
    if chip.cores > 1:
        hint = "plan it by chipmodel simulate WORKLOAD --plan FILE"
        raise BadInput(f"the chip has {chip.cores} cores", hint=hint)

    def planned_in(program: Program) -> Planned:
        with stage(f"planning {program.name}") as say:
            limits, stop = effort(time_limit, gap, say)
            return pipeline.plan(program, chip, packer, streamer, not no_spill, merge, limits, stop)

    chosen = order_of_plan(program, chip, in_place, order, planned_in)
    planned = chosen.planned or planned_in(chosen.program)
    names = names_in_order(chosen.program) if chosen.ordering else ()
    text = write_plan(plan_of_planned(planned, chip, workload, chip_name or DEFAULT_CHIP, overrides, names))
    if output == "-":
        click.echo(text, nl=False)
    else:
        write_whole(Path(output), text)
    click.echo(_words(chosen, chip, planned), err=True)
    return 0 if planned.solved.peak <= chip.shared_memory.bytes else 1


def _words(chosen: Chosen[Planned], chip: Chip, planned: Planned) -> str:
    from chipmodel.pipeline.single_core import one_path_bound
    from dma.streamers.race import Forecasts
    from reports.ordering import order_words

    program = chosen.program
    cycles = Forecasts(program, chip).cycles(planned.schedule)
    bound = planned.bound or one_path_bound(program, chip, False)
    peak = f"peak {planned.solved.peak:,} B of {chip.shared_memory.bytes:,} B"
    times = f"forecast {cycles:,.0f} cycles"
    if bound:
        times += f", bound {bound.cycles:,}, gap {cycles / bound.cycles - 1:.1%}"
    ordered = f"\norder of ops: {order_words(chosen.ordering)}" if chosen.ordering else ""
    return f"{program.name} on {chip.name}: {peak}; {times}{ordered}"
