"""Plans and results in the formats of other tools."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Any, TypeAlias, get_args

from chipmodel.api.arguments import checked
from chipmodel.api.packing import Packing
from chipmodel.api.plan import ProgramPlan
from chipmodel.api.simulation import Simulation
from chipmodel.api.verified import verified_plan
from chipmodel.api.workload import WorkloadSource, load
from chipmodel.errors import BadInput
from chipmodel.files.atomic_write import make_folder, write_atomically, write_together
from chipmodel.files.json_file import JsonValue, read_json
from chipmodel.files.text_file import json_text, read_text
from chipmodel.model.plan import Buffer, Plan, Problem
from chipmodel.pipeline.choices import ExportFormat
from chipmodel.plan_file.contents import PlanFile
from chipmodel.plan_file.text import read_plan
from chipmodel.records import dataclass
from chipmodel.terminal.escapes import visible
from reports.export.c_names import KEYWORD, LONGEST_PREFIX, prefix_of
from reports.export.c_plan import c_files
from reports.export.layout import Layout, layout_of, must_fit
from reports.export.tables import ops_csv, ops_parquet
from reports.instructions import plan_listing
from reports.result_file import is_result, saved_result
from workloads.packing.problem_csv import table_of, write_packing
from workloads.weight_values import weight_values

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
    """Text, or the bytes of a binary format; of several files the first one."""
    files: Mapping[str, str | bytes] = field(default_factory=dict[str, str | bytes])
    """The files by their names, where there are several."""

    def __repr__(self) -> str:
        kind = "characters" if isinstance(self.content, str) else "bytes"
        more = f" in the first of {len(self.files)} files" if self.files else ""
        return f"<ExportedFile: {len(self.content):,} {kind}{more}>"

    def write(self, path: str | Path) -> None:
        """Write the content to a file, whole or not at all; several files into the folder ``path``. Raises
        BadInput where that cannot be."""
        if not self.files:
            write_atomically(Path(path), self.content)
            return
        make_folder(Path(path))
        write_together((Path(path) / name, content) for name, content in self.files.items())


@checked
def export(
    source: PlanSource,
    to: ExportFormat,
    *,
    workload: WorkloadSource | None = None,
    core: int | None = None,
    prefix: str | None = None,
) -> ExportedFile:
    """Return a plan or a result as a file of another tool.

    Parameters
    ----------
    source
        A simulation or, for formats of plans, a plan; or a file of either.
    to
        For plans ``c``, ``listing`` or ``minimalloc``; for the ops of a result ``csv`` or ``parquet``.
    workload
        The program that the plan is for, which ``c`` needs.
    core
        Which of several cores.
    prefix
        What the identifiers in C begin with.

    Raises
    ------
    BadInput
        If the source cannot be read, or has nothing that the format can hold.

    Examples
    --------
    >>> sorted(export(simulate("zoo:ds_cnn", "gap9"), "c", workload="zoo:ds_cnn").files)
    ['ds_cnn_plan.c', 'ds_cnn_plan.h', 'ds_cnn_plan_host.c', 'ds_cnn_plan_host.h', 'psram.bin']
    """
    if to not in FORMATS:
        raise BadInput(f"format {to!r} is not known", hint=f"one of {', '.join(FORMATS)}")
    for option, value in {"--prefix": prefix, "WORKLOAD": workload}.items():
        if value is not None and to != "c":
            raise BadInput(f"{option} says nothing about {to}", hint="leave it out, or --as c (to='c')")
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
    if to == "minimalloc":
        return ExportedFile(minimalloc_csv(layout))
    if workload is None:
        hint = "chipmodel export PLAN.json WORKLOAD --as c --folder DIR, or export(plan, 'c', workload=...)"
        raise BadInput("C needs the workload that the plan is for", hint=hint)
    files = _c_files(layout, source, plan, called, workload, prefix)
    return ExportedFile(next(iter(files.values())), files)


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


def _c_files(
    layout: Layout,
    source: PlanSource,
    plan: PlanFile,
    called: str,
    workload: WorkloadSource,
    prefix: str | None,
) -> dict[str, str | bytes]:
    if prefix is not None and not (KEYWORD.fullmatch(prefix) and len(prefix) <= LONGEST_PREFIX):
        hint = f"a letter, then letters, digits and _, at most {LONGEST_PREFIX} in all"
        raise BadInput(f"--prefix {prefix!r} begins no identifier", hint=hint)
    must_fit(layout, called)
    program = load(workload)
    verified = verified_plan(source, plan, called, program)
    if verified.faults:
        what = f"{called} is no right plan of this workload: {verified.faults[0]}"
        raise BadInput(what, hint="chipmodel check says all that is wrong; name the plan's own workload")
    known = {} if verified.compiled else weight_values(Path(program.source), verified.program)
    name = prefix or prefix_of(layout.workload)
    return c_files(layout, verified.program, name, not verified.compiled, known)


def minimalloc_csv(layout: Layout) -> str:
    """The buffers with their lifetimes ``[lower, upper)`` and offsets, as MiniMalloc and ``chipmodel pack``
    read them, with columns ``alignment``, ``gaps`` and ``colocate`` if the plan has any."""
    buffers = [Buffer(visible(b.name), b.bytes, b.live, layout.alignment) for b in layout.buffers]
    groups: dict[str, list[str]] = {}
    for each in layout.buffers:
        if each.within:
            groups.setdefault(each.within, [visible(each.within)]).append(visible(each.name))
    problem = Problem(tuple(buffers), colocated=tuple(map(tuple, groups.values())))
    return write_packing(table_of(problem), Plan({visible(b.name): b.offset for b in layout.buffers}))
