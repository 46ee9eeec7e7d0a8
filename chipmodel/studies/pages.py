"""A page for each point of a study, as ``simulate --html`` and ``pack --html`` write it: planned again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from chipmodel.answers.result import Result
from chipmodel.answers.study_results import KEY_DIGITS
from chipmodel.answers.study_row import Row
from chipmodel.errors import BadInput, Place
from chipmodel.hardware.chip import Chip
from chipmodel.hardware.chip_file import load_chip
from chipmodel.model.plan import PackingTable
from chipmodel.model.program import Program
from chipmodel.pipeline.run import run_planned
from chipmodel.pipeline.unmerged import with_unmerged
from chipmodel.rewrites.compiled_weights import compiled
from chipmodel.studies.answer import WorkerCache, cores_task, pack_task, plan_task, request_of
from chipmodel.studies.points import tasks_of
from chipmodel.studies.study_file import Study, parse_study
from chipmodel.studies.task import PointTask
from chipmodel.studies.workload import load_workload
from dma.residency.fitted import fitted
from reports import packing
from reports.run.page import render_page
from reports.table_page import render_tables

MOST_PAGES = 1_000
"""Without a choice of points: a page has some 0.1 MB."""


def chosen(rows: Sequence[Row], keys: Sequence[str]) -> tuple[Row, ...]:
    """The rows that have a plan, those whose keys begin with one of ``keys`` if there are any. Raises
    BadInput for a key without a plan, and for too many pages."""
    planned = tuple(row for row in rows if row.peak_bytes is not None)
    for key in keys:
        if not key or not any(row.key.startswith(key) for row in planned):
            hint = "give the beginning of a key, as a point's own page in the report tells it"
            raise BadInput(f"no point with a plan has the key {key!r}", hint=hint)
    if not keys and len(planned) > MOST_PAGES:
        what = f"{len(planned):,} points have a plan; {MOST_PAGES:,} pages are the most"
        raise BadInput(what, hint="choose some by --point KEY (points=[KEY]), as a point's own page tells it")
    return tuple(row for row in planned if not keys or row.key.startswith(tuple(keys)))


def pages_of(text: str, file: Path, rows: Sequence[Row]) -> Iterator[tuple[Row, str]]:
    """Each of ``rows`` with its page; ``text`` is that of the study, which lies, or lay, at ``file``. Raises
    BadInput for a row of other files or of older code, which would not be planned again as it was."""
    study = parse_study(text, file)
    tasks = {task.key: task for task in tasks_of(study)}
    for row in rows:
        if row.key not in tasks:
            what = f"point {row.key[:KEY_DIGITS]} was answered by another chipmodel, or with other files"
            raise BadInput(what, where=Place(str(file)), hint="run the study again, then report it")
    for row in rows:
        yield row, page_of(_with_origins(study, tasks[row.key]))


def _with_origins(study: Study, task: PointTask) -> PointTask:
    """The chip with the origin of its numbers, which decides nothing but is on the page."""
    if task.chip is None:
        return task
    settings = [f"{field}={value}" for field, value in task.point.overrides]
    return replace(task, chip=load_chip(study.chip_file(task.point.chip), settings))


def page_of(task: PointTask) -> str:
    """The point planned with the study's limits, as a page beside Plotly's script."""
    workload = load_workload(task.source)
    if isinstance(workload, PackingTable):
        return render_tables(packing.page(pack_task(task, workload)), plotly="beside")
    assert task.chip is not None, "a program runs on a chip"
    result = _result(task, fitted(compiled(workload, task.chip), task.chip), task.chip)
    return render_page(with_unmerged(result, task.point.packer), plotly="beside")


def _result(task: PointTask, program: Program, chip: Chip) -> Result:
    """What ``simulate`` would have, with the plan of the study."""
    if chip.cores > 1:
        return cores_task(task, program, chip)
    planned = plan_task(task, program, chip, WorkerCache(load_workload)).planned
    return run_planned(request_of(task, program, chip), planned, {})
