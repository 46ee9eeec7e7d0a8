"""``chipmodel export``: what simulate wrote, in the formats of other tools."""

from __future__ import annotations

from typing import get_args

import click

from chipmodel.cli.file_options import READS, STDOUT, WRITES_OR_STDOUT, FileCommand
from chipmodel.cli.output import note
from chipmodel.errors import BadInput
from chipmodel.pipeline.choices import BINARY, ExportFormat
from chipmodel.terminal.printing import emit


@click.command(cls=FileCommand)
@click.argument("source", metavar="PLAN.json|RESULT.json", type=READS)
@click.option(
    "--as", "format_", type=click.Choice(get_args(ExportFormat)), required=True, help="The format to write."
)
@click.option(
    "--output",
    "-o",
    metavar="FILE|-",
    type=WRITES_OR_STDOUT,
    help="Where to write it. [stdout, if it is text]",
)
@click.option(
    "--core", type=int, metavar="N", help="The core whose memory is written, if the plan has several."
)
@click.option("--prefix", metavar="NAME", help="c-header: prefix of identifiers. [the workload's name]")
@click.option(
    "--tensors",
    "tensors_file",
    metavar="FILE",
    type=READS,
    help="tflm: names of the model's tensors in its order, one per line. [the plan's, in order of first use]",
)
def export(
    source: str,
    format_: ExportFormat,
    output: str | None,
    core: int | None,
    prefix: str | None,
    tensors_file: str | None,
) -> None:
    """Write a plan or a result in the format of another tool.

    \b
    From PLAN.json, which chipmodel plan or simulate --plan wrote:
      c-header    offsets, sizes and DMA transfers (source, destination,
                  bytes, step) as a C99 header
      tflm        TensorFlow Lite Micro's offline memory plan, the contents
                  of the metadata OfflineMemoryAllocation; stdout lists the
                  tensors with their offsets
      minimalloc  MiniMalloc's CSV, id,lower,upper,size,offset

    \b
    From RESULT.json, which chipmodel simulate --json wrote:
      csv         its ops: work, cycles by cause, bytes
      parquet     the same (needs chipmodel[parquet])

    How to attach a plan to a model: docs/howto/export.md. A trace for Perfetto: chipmodel simulate --trace.
    """
    if format_ in BINARY and output in (None, STDOUT):
        what = "tflm is binary, and stdout lists its tensors" if format_ == "tflm" else "parquet is binary"
        name = "plan.bin" if format_ == "tflm" else "ops.parquet"
        raise BadInput(what, hint=f"name a file: --output {name}")
    from chipmodel.api.export import export as export_plan

    made = export_plan(source, format_, core=core, prefix=prefix, tensors=tensors_file)
    note(made.notes)
    if isinstance(made.content, str) and output in (None, STDOUT):
        emit(made.content)
    else:
        made.write(output or "")
        emit(made.table)
