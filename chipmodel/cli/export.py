"""``chipmodel export``: what simulate wrote, in the formats of other tools."""

from __future__ import annotations

from chipmodel.cli.command import command
from chipmodel.cli.file_options import STDOUT
from chipmodel.cli.options import WorkloadOptions
from chipmodel.errors import BadInput
from chipmodel.pipeline.choices import ExportFormat
from chipmodel.terminal.printing import emit


@command
def export(
    file: str,
    source: WorkloadOptions,
    format_: ExportFormat,
    output: str | None,
    folder: str | None,
    core: int | None,
    prefix: str | None,
) -> None:
    """Write a plan or a result in the format of another tool.

    \b
    From PLAN.json, which chipmodel plan or simulate --plan wrote:
      c           PREFIX_plan.h and .c: C99 that runs the plan of WORKLOAD by
                  four functions, with an example port to a host
      listing     its instructions (DMAStart, DMAWait, Compute), a line each
      minimalloc  MiniMalloc's CSV, id,lower,upper,size,offset

    \b
    From RESULT.json, which chipmodel simulate --json wrote:
      csv         its ops: work, cycles by cause, bytes
      parquet     the same (needs chipmodel[parquet])

    A trace for Perfetto: chipmodel simulate --trace. For TensorFlow Lite Micro: chipmodel arena.

    \f
    # A plan as C that runs
    chipmodel export plan.json zoo:resnet8 --as c --folder firmware
    # A table of the ops of a result
    chipmodel export result.json --as csv
    """
    if format_ == "parquet" and output in (None, STDOUT):
        raise BadInput("parquet is binary", hint="name a file: --output ops.parquet")
    if (format_ == "c") != (folder is not None) or (format_ == "c" and output):
        hint = "give --folder DIR, and no --output" if format_ == "c" else "give --output FILE in its place"
        raise BadInput("--folder is where --as c writes its files", hint=hint)
    from chipmodel.api.export import export as export_plan

    program = source.load() if source.workload else None
    made = export_plan(file, format_, workload=program, core=core, prefix=prefix)
    if folder is None and isinstance(made.content, str) and output in (None, STDOUT):
        emit(made.content)
    else:
        made.write(folder or output or "")
