"""``chipmodel arena``: how large the arena of TensorFlow Lite Micro must be, and a plan for it."""

from __future__ import annotations

import click

from chipmodel.cli.file_options import READS, WRITES, FileCommand
from chipmodel.cli.output import html_option, json_option, show, write_files
from chipmodel.cli.packing_source import SearchOptions, search_options
from chipmodel.pipeline.choices import ARENA_SECONDS, PACKING_PACKER


@click.command(cls=FileCommand)
@click.argument("source", metavar="MODEL.tflite", type=READS)
@click.option(
    "--packer",
    metavar="NAME",
    default=PACKING_PACKER,
    help=f"Planner of offsets (see chipmodel planners). [{PACKING_PACKER}]",
)
@search_options(
    ARENA_SECONDS, "Stop after S seconds.", "Stop after N nodes of search: the same answer every time."
)
@click.option(
    "--write-model",
    "model_file",
    metavar="FILE",
    type=WRITES,
    help="Write the model with the offsets as its OfflineMemoryAllocation.",
)
@json_option
@html_option
def arena(
    *,
    source: str,
    packer: str,
    search: SearchOptions,
    model_file: str | None,
    json_file: str | None,
    html_file: str | None,
) -> None:
    """Say how large tensor_arena_size must be for MODEL.tflite, and plan the arena.

    The head holds tensors and what kernels ask for at run time. It is given to the byte: as the runtime's
    own planner lays it out, and as small as it can be, with its lower bound. The tail stays for good and is
    estimated. Kernels are TensorFlow Lite Micro's reference kernels; those for one processor may ask for
    more.
    """
    from chipmodel.api.arena import arena as plan_arena
    from reports.arena import print_arena

    limits = search.limits(ARENA_SECONDS)
    answer = plan_arena(
        source, packer=packer, time_limit=limits.seconds, node_limit=limits.nodes, seed=limits.seed
    )
    write_files(
        [(model_file, lambda: answer.model), (json_file, answer.to_json), (html_file, answer.to_html)]
    )
    show(json_file, answer.to_json, lambda console: print_arena(answer.answer, console))
