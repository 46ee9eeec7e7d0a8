"""Plans and results in the formats of other tools."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from chipmodel.api.arguments import checked
from chipmodel.api.plan_text import PlanSource, text_of_plan
from chipmodel.api.simulation import Simulation
from chipmodel.errors import BadInput
from chipmodel.files.atomic_write import write_atomically
from chipmodel.files.json_file import JsonValue, read_json
from chipmodel.files.text_file import read_text
from chipmodel.pipeline.choices import ExportFormat
from chipmodel.plan_file.read import read_plan
from reports.export.c_header import KEYWORD, LONGEST_PREFIX, c_header, prefix_of
from reports.export.layout import Layout, layout_of, must_fit
from reports.export.tables import minimalloc_csv, ops_csv, ops_parquet
from reports.export.tflm import offline_bytes, offline_plan, offline_table
from reports.result_file import is_result, saved_result

FORMATS: tuple[ExportFormat, ...] = get_args(ExportFormat)
OF_RESULTS = ("csv", "parquet")
COMMAND = "chipmodel simulate WORKLOAD --plan PLAN.json --json RESULT.json"
CALL = 'write_plan("PLAN.json") and to_json() of a simulation'


@dataclass(frozen=True, slots=True, repr=False)
class ExportedFile:
    """A plan or a result as another tool reads it."""

    content: str | bytes
    """Text, or the bytes of a binary format."""
    table: str = ""
    """For ``tflm``, a line for each tensor with its offset, which the bytes have no names for."""
    notes: tuple[str, ...] = ()
    """What the reader is to know."""

    def __repr__(self) -> str:
        kind = "characters" if isinstance(self.content, str) else "bytes"
        return f"<ExportedFile: {len(self.content):,} {kind}>"

    def write(self, path: str | Path) -> None:
        """Write the content to a file, whole or not at all. Raises BadInput where that cannot be."""
        write_atomically(Path(path), self.content)


@checked
def export(
    source: PlanSource,
    to: ExportFormat,
    *,
    core: int | None = None,
    prefix: str | None = None,
    tensors: str | Path | Sequence[str] | None = None,
) -> ExportedFile:
    """Return a plan or a result as a file of another tool.

    Parameters
    ----------
    source
        A simulation or, for formats of plans, a plan; or a file of either.
    to
        For plans ``c-header``, ``tflm`` or ``minimalloc``; for the ops of a result ``csv`` or ``parquet``.
    core
        Which of several cores.
    prefix
        What the identifiers of the C header begin with.
    tensors
        For ``tflm``: the model's tensors in its order, as names or as a file with a name in each line.

    Raises
    ------
    BadInput
        If the source cannot be read, or has nothing that the format can hold.

    Examples
    --------
    >>> "#define" in str(export(simulate("zoo:ds_cnn", "gap9"), "c-header").content)
    True
    """
    if to not in FORMATS:
        raise BadInput(f"format {to!r} is not known", hint=f"one of {', '.join(FORMATS)}")
    _refuse(to, prefix=(prefix, "c-header"), tensors=(tensors, "tflm"))
    text, called = _text_of(source, to)
    root = read_json(text, called, f"write one with: {COMMAND}, or {CALL}")
    if to in OF_RESULTS:
        return ExportedFile(_ops(root, core, to))
    if is_result(root):
        what = "this is a result, and not the plan that this format needs"
        command, call = (
            "chipmodel simulate WORKLOAD --plan PLAN.json",
            'simulate(WORKLOAD).write_plan("PLAN.json")',
        )
        hint = f"{command}, or {call} writes the plan"
        raise BadInput(f"{called}: {what}", hint=hint)
    layout = layout_of(read_plan(text, called), called, core)
    if to == "minimalloc":
        return ExportedFile(minimalloc_csv(layout))
    if to == "c-header":
        return ExportedFile(_header(layout, prefix, called))
    return _tflm(layout, tensors, called)


def _refuse(to: str, **parameters: tuple[object, str]) -> None:
    """Raise BadInput for a parameter of another format."""
    for name, (value, wanted) in parameters.items():
        if value is not None and to != wanted:
            raise BadInput(
                f"--{name} says nothing about {to}",
                hint=f"leave it out, or --as {wanted} (to={wanted!r})",
            )


def _text_of(source: PlanSource, to: str) -> tuple[str, str]:
    if to in OF_RESULTS and isinstance(source, Simulation):
        return source.to_json(), "the result"
    return text_of_plan(source)


def _ops(root: JsonValue, core: int | None, to: str) -> str | bytes:
    if core is not None:
        raise BadInput(f"--core says nothing about {to}", hint="leave it out: the cores are a column")
    if isinstance(root.value, dict) and root.has("commands") | root.has("cores") and not root.has("ops"):
        command, call = "chipmodel simulate WORKLOAD --json RESULT.json", "simulate(WORKLOAD).to_json()"
        hint = f"{command}, or {call} writes the result"
        raise BadInput(f"{root.file}: this is a plan, and not the result that {to} needs", hint=hint)
    answer = saved_result(root)
    return ops_csv(answer) if to == "csv" else ops_parquet(answer)


def _header(layout: Layout, prefix: str | None, source: str) -> str:
    if prefix is not None and not (KEYWORD.fullmatch(prefix) and len(prefix) <= LONGEST_PREFIX):
        hint = f"a letter, then letters, digits and _, at most {LONGEST_PREFIX} in all"
        raise BadInput(f"--prefix {prefix!r} begins no identifier", hint=hint)
    must_fit(layout, source)
    return c_header(layout, prefix or prefix_of(layout.workload))


def _tflm(layout: Layout, tensors: str | Path | Sequence[str] | None, source: str) -> ExportedFile:
    must_fit(layout, source)
    if isinstance(tensors, str | Path):
        names = [line.strip() for line in read_text(Path(tensors)).splitlines()]
        plan = offline_plan(layout, names, str(tensors))
    else:
        plan = offline_plan(layout, tensors, source)
    notes = (*plan.notes, f"the head of the arena takes {plan.head_bytes:,} B at least")
    return ExportedFile(offline_bytes(plan), offline_table(plan), notes)
