"""``chipmodel export``: what simulate wrote, in the formats of other tools."""

from __future__ import annotations

from pathlib import Path

import click

from chipmodel.cli.file_options import READS, STDOUT, WRITES_OR_STDOUT, FileCommand
from chipmodel.cli.output import note
from chipmodel.errors import BadInput
from chipmodel.files.atomic_write import write_atomically
from chipmodel.files.json_file import JsonValue, read_json
from chipmodel.files.text_file import read_text
from chipmodel.plan_file.read import read_plan
from chipmodel.terminal.printing import emit
from reports.export.c_header import c_header
from reports.export.c_names import KEYWORD, LONGEST_PREFIX, prefix_of
from reports.export.layout import Layout, layout_of, must_fit
from reports.export.tables import minimalloc_csv, ops_csv, ops_parquet
from reports.export.tflm import offline_bytes, offline_plan, offline_table
from reports.result_file import is_result, saved_result

FORMATS = ("c-header", "tflm", "minimalloc", "csv", "parquet")
OF_RESULTS = ("csv", "parquet")
HINT = "write one with: chipmodel simulate WORKLOAD --plan PLAN.json --json RESULT.json"


@click.command(cls=FileCommand)
@click.argument("source", metavar="PLAN.json|RESULT.json", type=READS)
@click.option("--as", "format_", type=click.Choice(FORMATS), required=True, help="The format to write.")
@click.option(
    "--output",
    "-o",
    metavar="FILE|-",
    type=WRITES_OR_STDOUT,
    help="Where to write it. [-, if it is text]",
)
@click.option("--core", type=int, metavar="N", help="Which core's memory, of a plan for several.")
@click.option("--prefix", metavar="NAME", help="c-header: what identifiers begin with. [the workload's name]")
@click.option(
    "--tensors",
    "tensors_file",
    metavar="FILE",
    type=READS,
    help="tflm: the model's tensors in its order, a name a line. [the plan's, in order of first use]",
)
def export(
    source: str,
    format_: str,
    output: str | None,
    core: int | None,
    prefix: str | None,
    tensors_file: str | None,
) -> None:
    """Write a plan or a result in the format of another tool.

    \b
    Of PLAN.json, which chipmodel simulate --plan wrote:
      c-header    offsets and sizes, and a table of DMA transfers (source,
                  destination, bytes, step), as a C99 header
      tflm        TensorFlow Lite Micro's offline memory plan: the contents of the
                  metadata OfflineMemoryAllocation (docs/howto/export.md says how to
                  attach it); stdout lists the tensors with their offsets
      minimalloc  MiniMalloc's CSV, id,lower,upper,size,offset, for chipmodel pack

    Of RESULT.json, which chipmodel simulate --json wrote:
      csv         its ops: work, cycles by cause, bytes
      parquet     the same (needs chipmodel[parquet])

    A trace for Perfetto is chipmodel simulate --trace.
    """
    said = {"--prefix": (prefix, "c-header"), "--tensors": (tensors_file, "tflm")}
    for option, (value, wanted) in said.items():
        if value is not None and format_ != wanted:
            raise BadInput(f"{option} says nothing about {format_}", hint=f"leave it out, or --as {wanted}")
    text = read_text(Path(source))
    root = read_json(text, source, HINT)
    if format_ in OF_RESULTS:
        _ops(root, core, format_, output)
        return
    layout = _layout(root, text, source, core)
    if format_ == "minimalloc":
        _write(minimalloc_csv(layout), output)
    elif format_ == "c-header":
        _write(_header(layout, prefix, source), output)
    else:
        _tflm(layout, tensors_file, source, output)


def _layout(root: JsonValue, text: str, source: str, core: int | None) -> Layout:
    if is_result(root):
        what = "this is a result, and not the plan that this format needs"
        hint = "chipmodel simulate WORKLOAD --plan PLAN.json writes the plan"
        raise BadInput(f"{source}: {what}", hint=hint)
    return layout_of(read_plan(text, source), source, core)


def _ops(root: JsonValue, core: int | None, format_: str, output: str | None) -> None:
    if core is not None:
        raise BadInput(f"--core says nothing about {format_}", hint="leave it out: the cores are a column")
    if isinstance(root.value, dict) and root.has("commands") | root.has("cores") and not root.has("ops"):
        hint = "chipmodel simulate WORKLOAD --json RESULT.json writes the result"
        raise BadInput(f"{root.file}: this is a plan, and not the result that {format_} needs", hint=hint)
    answer = saved_result(root)
    if format_ == "csv":
        _write(ops_csv(answer), output)
        return
    if output is None or output == STDOUT:
        raise BadInput("parquet is binary", hint="name a file: --output ops.parquet")
    _write(ops_parquet(answer), output)


def _header(layout: Layout, prefix: str | None, source: str) -> str:
    if prefix is not None and not (KEYWORD.fullmatch(prefix) and len(prefix) <= LONGEST_PREFIX):
        hint = f"a letter, then letters, digits and _, at most {LONGEST_PREFIX} in all"
        raise BadInput(f"--prefix {prefix!r} begins no identifier", hint=hint)
    must_fit(layout, source)
    return c_header(layout, prefix or prefix_of(layout.workload))


def _tflm(layout: Layout, tensors_file: str | None, source: str, output: str | None) -> None:
    if output is None or output == STDOUT:
        raise BadInput("tflm is binary, and stdout lists its tensors", hint="name a file: --output plan.bin")
    must_fit(layout, source)
    names = None
    if tensors_file:
        names = [line.strip() for line in read_text(Path(tensors_file)).splitlines()]
    plan = offline_plan(layout, names, tensors_file or source)
    note((*plan.notes, f"the head of the arena takes {plan.head_bytes:,} B at least"))
    _write(offline_bytes(plan), output)
    emit(offline_table(plan))


def _write(content: str | bytes, output: str | None) -> None:
    if isinstance(content, str) and output in (None, STDOUT):
        emit(content)
    else:
        write_atomically(Path(output or ""), content)
