"""``chipmodel simulate``: plan a workload, simulate the plan, and say what it costs and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import click

from chipmodel.cli.file_options import WRITES, WRITES_OR_STDOUT, FileCommand
from chipmodel.cli.option_groups import group
from chipmodel.cli.options import (
    ChipOptions,
    EffortOptions,
    MemoryOptions,
    WorkloadOptions,
    chip_options,
    effort_options,
    memory_options,
    order_option,
    path_option,
    planner_options,
    workload_options,
)
from chipmodel.cli.output import show, write_files
from chipmodel.cli.paths import SampleOptions, path_word, sample_options, weighed_run
from chipmodel.cli.verdict import verdict
from chipmodel.files.json_text import json_text
from chipmodel.model.program import Program
from chipmodel.model.result import Result
from chipmodel.passes.compiled_weights import compiled
from chipmodel.passes.in_place import reuse
from chipmodel.pipeline import run as pipeline
from chipmodel.pipeline.order_choice import OrderRequest, OrderWish, run_in_order
from chipmodel.pipeline.plan_export import plan_text
from chipmodel.pipeline.request import PlanRequest
from chipmodel.pipeline.unmerged import with_unmerged
from chipmodel.pipeline.vendor import with_vendor
from chipmodel.terminal.progress import stage
from reports.run.chrome_trace import trace_text
from reports.run.document import document
from reports.run.page import render_page
from reports.run.summary import print_summary

ORDER_SHARE = 0.3
"""Of the time that is left of ``--time-limit``, what each of several orders of ops may take. Chosen."""
EXTREME_SHARE = 0.5
"""The same for the run that all paths are weighed by, before the best or worst one. Chosen."""


@dataclass(frozen=True, slots=True)
class RunFiles:
    """Files that the answer is written to."""

    json_file: str | None
    plan_file: str | None
    trace_file: str | None
    html_file: str | None


_file_options = group(
    "files",
    RunFiles,
    click.option(
        "--json",
        "json_file",
        metavar="FILE|-",
        type=WRITES_OR_STDOUT,
        help="The answer as one JSON document.",
    ),
    click.option(
        "--plan", "plan_file", metavar="FILE", type=WRITES, help="Offsets and commands, for chipmodel check."
    ),
    click.option(
        "--trace", "trace_file", metavar="FILE", type=WRITES, help="Chrome trace events, for Perfetto."
    ),
    click.option("--html", "html_file", metavar="FILE", type=WRITES, help="One self-contained page."),
)


@click.command(cls=FileCommand)
@workload_options
@chip_options
@planner_options()
@memory_options
@path_option
@order_option
@effort_options
@sample_options
@click.option("--with-sync", is_flag=True, help="Plan with streamer sync too, to compare with.")
@_file_options
def simulate(
    *,
    source: WorkloadOptions,
    target: ChipOptions,
    packer: str,
    streamer: str,
    memory: MemoryOptions,
    choices: tuple[str, ...],
    order: OrderWish,
    effort: EffortOptions,
    samples: SampleOptions,
    with_sync: bool,
    files: RunFiles,
) -> int:
    """Plan WORKLOAD's memory and transfers, simulate them, and say what they cost and why."""
    limit = effort.start()
    chip = target.load()
    program = compiled(source.load(), chip)
    word, path = path_word(choices)
    asked = PlanRequest(
        program,
        chip,
        packer,
        streamer,
        memory.merge,
        not memory.no_spill,
        limits=effort.limits(),
        sync_too=with_sync,
        cascade=memory.cascade,
    )
    share = ORDER_SHARE if order != "given" else EXTREME_SHARE if word else 1.0

    def run(program: Program, choices: Mapping[str, str]) -> Result:
        with stage(f"planning and simulating {program.name}") as say:
            until = limit.deadline.share(share)
            return pipeline.run(
                replace(asked, program=program, stop=effort.stop(say), deadline=until), choices
            )

    along = run_in_order(OrderRequest(program, memory.in_place, order), run, path)
    found = weighed_run(along, word, path, samples)
    with stage(f"planning {program.name} as the board's own tool does"):
        vendor = replace(asked, program=reuse(program, memory.in_place), deadline=limit.deadline)
        found = with_vendor(found, vendor)
    result = replace(found, cut_short=limit.cut_short)
    write_files(
        (
            (files.plan_file, lambda: plan_text(result, target.name, target.overrides)),
            (files.trace_file, lambda: trace_text(result)),
            (files.html_file, lambda: render_page(with_unmerged(result, packer))),
            (files.json_file, lambda: json_text(document(result))),
        )
    )
    show(files.json_file, lambda: json_text(document(result)), lambda console: print_summary(result, console))
    return verdict(result.fit, result.solved, bool(result.cut_short))
