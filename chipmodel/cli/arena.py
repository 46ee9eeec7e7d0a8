"""``chipmodel arena``: how large the arena of TensorFlow Lite Micro must be, and a plan for it."""

from __future__ import annotations

from pathlib import Path

import click

from chipmodel.cli.file_options import READS, WRITES, WRITES_OR_STDOUT, FileCommand
from chipmodel.cli.output import show, write_files
from chipmodel.cli.packing_source import SearchOptions, search_options
from chipmodel.comparison.arena import DEFAULT_PACKER, DEFAULT_SECONDS, plan_arena
from chipmodel.errors import Place
from chipmodel.files.json_text import json_text
from chipmodel.terminal.progress import stage
from reports.arena import document, print_arena
from workloads.from_tflite.model_file import read_model
from workloads.from_tflite.offline_plan import with_offline_plan


@click.command(cls=FileCommand)
@click.argument("source", metavar="MODEL.tflite", type=READS)
@click.option(
    "--packer",
    metavar="NAME",
    default=DEFAULT_PACKER,
    help=f"Planner of offsets; see chipmodel planners. [{DEFAULT_PACKER}]",
)
@search_options(DEFAULT_SECONDS, "Seconds.", "Nodes of search: the same answer every time.")
@click.option(
    "--write-model",
    "model_file",
    metavar="FILE",
    type=WRITES,
    help="The model with the offsets as its OfflineMemoryAllocation.",
)
@click.option(
    "--json", "json_file", metavar="FILE|-", type=WRITES_OR_STDOUT, help="The answer as one JSON document."
)
def arena(
    *, source: str, packer: str, search: SearchOptions, model_file: str | None, json_file: str | None
) -> None:
    """Say how large tensor_arena_size must be for MODEL.tflite, and plan the arena.

    The head holds tensors and what kernels ask for at run time. It is given to the byte: as the runtime's
    own planner lays it out, and as small as it can be, with its lower bound. The tail stays for good and is
    estimated. Kernels are TensorFlow Lite Micro's reference kernels; those for one processor may ask for
    more.
    """
    path, where = Path(source), Place(source)
    with stage(f"planning the arena of {path.name}"):
        model = read_model(path, where)
        answer = plan_arena(model, path.name, packer, search.limits(DEFAULT_SECONDS))
    write_files(
        [
            (model_file, lambda: with_offline_plan(model.data, answer.offsets, where)),
            (json_file, lambda: json_text(document(answer))),
        ]
    )
    show(json_file, lambda: json_text(document(answer)), lambda console: print_arena(answer, console))
