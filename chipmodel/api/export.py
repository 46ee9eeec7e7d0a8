"""Plans and results in the formats of other tools."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias, get_args

from chipmodel.api.arguments import checked
from chipmodel.api.packing import Packing
from chipmodel.api.plan import ProgramPlan
from chipmodel.api.simulation import Simulation
from chipmodel.errors import BadInput
from chipmodel.files.atomic_write import write_atomically
from chipmodel.files.json_file import JsonValue, read_json
from chipmodel.files.text_file import json_text, read_text
from chipmodel.pipeline.choices import ExportFormat
from chipmodel.plan_file.text import read_plan
from reports.export.c_header import KEYWORD, LONGEST_PREFIX, c_header, prefix_of
from reports.export.layout import Layout, layout_of, must_fit
from reports.export.tables import minimalloc_csv, ops_csv, ops_parquet
from reports.instructions import plan_listing
from reports.result_file import is_result, saved_result

PlanSource: TypeAlias = str | Path | ProgramPlan | Simulation | Packing | Mapping[str, Any]
"""What names a plan: a file, an answer of this library, or what its ``to_dict`` said."""
FORMATS: tuple[ExportFormat, ...] = get_args(ExportFormat)
OF_RESULTS = ("csv", "parquet")
COMMAND = "chipmodel simulate WORKLOAD --plan PLAN.json --json RESULT.json"
CALL = 'write_plan("PLAN.json") and to_json() of a simulation'


@dataclass(frozen=True, slots=True, repr=False)
class ExportedFile:
    """A plan or a result as another tool reads it."""

    content: str | bytes
    """Text, or the bytes of a binary format."""

    def __repr__(self) -> str:
        kind = "characters" if isinstance(self.content, str) else "bytes"
        return f"<ExportedFile: {len(self.content):,} {kind}>"

    def write(self, path: str | Path) -> None:
        """Write the content to a file, whole or not at all. Raises BadInput where that cannot be."""
        write_atomically(Path(path), self.content)


@checked
def export(
    source: PlanSource, to: ExportFormat, *, core: int | None = None, prefix: str | None = None
) -> ExportedFile:
    """Return a plan or a result as a file of another tool.

    Parameters
    ----------
    source
        A simulation or, for formats of plans, a plan; or a file of either.
    to
        For plans ``c-header``, ``listing`` or ``minimalloc``; for the ops of a result ``csv`` or ``parquet``.
    core
        Which of several cores.
    prefix
        What the identifiers of the C header begin with.

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
    if prefix is not None and to != "c-header":
        hint = "leave it out, or --as c-header (to='c-header')"
        raise BadInput(f"--prefix says nothing about {to}", hint=hint)
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
    plan = read_plan(text, called)
    layout = None if to == "listing" and core is None else layout_of(plan, called, core)
    if layout is None or to == "listing":
        return ExportedFile(plan_listing(plan, core))
    return ExportedFile(minimalloc_csv(layout) if to == "minimalloc" else _header(layout, prefix, called))


def text_of_plan(plan: PlanSource) -> tuple[str, str]:
    """The text of the plan, and what messages call it. Raises BadInput for a file that cannot be read."""
    if isinstance(plan, str | Path):
        return read_text(Path(plan)), str(plan)
    if isinstance(plan, Simulation):
        return plan.plan_text(), "the plan"
    if isinstance(plan, ProgramPlan | Packing):
        return plan.to_json(), "the plan"
    return json_text(dict(plan)), "the plan"


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
