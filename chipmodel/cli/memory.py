"""``chipmodel memory``: the smallest SharedMemory that a workload runs in, and what more of it is worth."""

from __future__ import annotations

from dataclasses import replace

import click

from chipmodel.cli.file_options import WRITES, WRITES_OR_STDOUT, FileCommand
from chipmodel.cli.options import (
    ChipOptions,
    EffortOptions,
    WorkloadOptions,
    chip_options,
    effort_options,
    planner_options,
    workload_options,
)
from chipmodel.cli.output import note, show, write_files
from chipmodel.errors import BadInput
from chipmodel.files.json_text import json_text
from chipmodel.passes.compiled_weights import compiled
from chipmodel.passes.in_place import reuse
from chipmodel.pipeline.request import PlanRequest
from chipmodel.pipeline.smallest_memory import POINTS, smallest_memory
from chipmodel.terminal.progress import stage
from reports.memory.page import render_memory
from reports.memory.rows import document, print_memory

MOST_POINTS = 100


@click.command(cls=FileCommand)
@workload_options
@chip_options
@planner_options()
@effort_options
@click.option(
    "--points",
    metavar="N",
    type=click.IntRange(0, MOST_POINTS),
    default=POINTS,
    show_default=True,
    help="Sizes of SharedMemory for which plans are made.",
)
@click.option(
    "--json", "json_file", metavar="FILE|-", type=WRITES_OR_STDOUT, help="The answer as one JSON document."
)
@click.option("--html", "html_file", metavar="FILE", type=WRITES, help="One self-contained page.")
def memory(
    *,
    source: WorkloadOptions,
    target: ChipOptions,
    packer: str,
    streamer: str,
    effort: EffortOptions,
    points: int,
    json_file: str | None,
    html_file: str | None,
) -> None:
    """Find the smallest SharedMemory that WORKLOAD runs in, and what more of it is worth.

    In that memory no tensor goes to Psram but inputs and outputs of WORKLOAD; weights pass through it.
    It is given layer by layer and with cascades: ops in stripes, one after another, so that tensors
    between them never exist whole. Then come plans for --points sizes from there to one in which
    everything fits. For a chip of one core, whose own SharedMemory does not matter.
    """
    limit = effort.start()
    chip = target.load()
    program = compiled(source.load(), chip)
    if chip.cores > 1:
        raise BadInput(f"the chip has {chip.cores} cores", hint="choose a chip of one core: chipmodel chips")
    with stage(f"planning {program.name}") as say:
        asked = PlanRequest(reuse(program, "all"), chip, packer, streamer, limits=effort.limits())
        asked = replace(asked, stop=effort.stop(lambda _: None), deadline=limit.deadline)
        answer = replace(smallest_memory(asked, points, say), cut_short=limit.cut_short)
    write_files(
        (
            (html_file, lambda: render_memory(answer)),
            (json_file, lambda: json_text(document(answer))),
        )
    )
    show(json_file, lambda: json_text(document(answer)), lambda console: print_memory(answer, console))
    note(f"the time limit cut short: {part}" for part in limit.cut_short)
