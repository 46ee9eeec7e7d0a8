"""``chipmodel export``: what simulate wrote, in the formats of other tools."""

from __future__ import annotations

from typing import get_args

import click

from chipmodel.cli.file_options import STDOUT, FileCommand, argument, option
from chipmodel.errors import BadInput
from chipmodel.pipeline.choices import ExportFormat
from chipmodel.terminal.printing import emit


@click.command(cls=FileCommand)
@argument("PLAN.json|RESULT.json", to="source")
@click.option(
    "--as", "format_", type=click.Choice(get_args(ExportFormat)), required=True, help="The format to write."
)
@option("--output -o FILE|-", "Where to write it. [stdout, if it is text]")
@option("--core N", "The core whose memory is written, if the plan has several.")
@option("--prefix NAME", "c-header: prefix of identifiers. [the workload's name]")
def export(
    source: str, format_: ExportFormat, output: str | None, core: int | None, prefix: str | None
) -> None:
    """Write a plan or a result in the format of another tool.

    \b
    From PLAN.json, which chipmodel plan or simulate --plan wrote:
      c-header    offsets, sizes and DMA transfers (source, destination,
                  bytes, step) as a C99 header
      listing     its instructions (DMAStart, DMAWait, Compute), a line each
      minimalloc  MiniMalloc's CSV, id,lower,upper,size,offset

    \b
    From RESULT.json, which chipmodel simulate --json wrote:
      csv         its ops: work, cycles by cause, bytes
      parquet     the same (needs chipmodel[parquet])

    A trace for Perfetto: chipmodel simulate --trace. For TensorFlow Lite Micro: chipmodel arena.

    \f
    # A C99 header of a plan
    chipmodel export plan.json --as c-header -o plan.h
    # A table of the ops of a result
    chipmodel export result.json --as csv
    """
    if format_ == "parquet" and output in (None, STDOUT):
        raise BadInput("parquet is binary", hint="name a file: --output ops.parquet")
    from chipmodel.api.export import export as export_plan

    made = export_plan(source, format_, core=core, prefix=prefix)
    if isinstance(made.content, str) and output in (None, STDOUT):
        emit(made.content)
    else:
        made.write(output or "")
