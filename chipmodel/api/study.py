"""Studies: many points, stored as they are answered."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chipmodel.api.answer import PageAnswer
from chipmodel.api.data_frames import Backend, data_frame
from chipmodel.api.effort import Cancel, Progress
from chipmodel.errors import BadInput
from chipmodel.model.study_results import StudyResults
from chipmodel.model.study_row import Row
from chipmodel.studies.code_version import code_version
from chipmodel.studies.dask_cluster import Cluster
from chipmodel.studies.engine import StopRequest, work
from chipmodel.studies.export import table_of
from chipmodel.studies.points import tasks_of
from chipmodel.studies.pool import LocalPool, cores
from chipmodel.studies.progress import StudyStatus
from chipmodel.studies.store import StudyCounts, StudyHeader, StudyStore, opened, read_rows
from chipmodel.studies.study_file import Study, read_study
from chipmodel.studies.task import PointTask
from chipmodel.studies.worker_group import WorkerGroup
from reports.study.page import render_study

MOST_WORKERS = 1024
ORDER = ("optimal", "feasible", "unknown", "does not fit", "infeasible", "failed")
"""Statuses of rows, in the order in which they are listed."""


@dataclass(frozen=True, slots=True, repr=False)
class StudyTable(PageAnswer):
    """The rows that a study has so far. ``results`` has every column of every row."""

    results: StudyResults
    counts: StudyCounts
    errors: tuple[tuple[str, int], ...]
    """What failed, and at how many points."""

    @property
    def complete(self) -> bool:
        """Whether every point has a row, and none failed."""
        return self.counts.stored == self.counts.points and not self.counts.failed

    def headline(self) -> str:
        """How many points have a row."""
        return f"{self.results.name}: {self.counts.stored:,} of {self.counts.points:,} points have a row"

    def to_dict(self) -> dict[str, Any]:
        """What ``chipmodel study --json`` writes: how far it is, and mean gaps."""
        counts, gaps = self.counts, StudyStatus(self.counts.points, self.results.rows)
        return {
            "study": self.results.name,
            "points": counts.points,
            "stored": counts.stored,
            "being_answered": counts.claimed,
            "by_status": {each: counts.by_status[each] for each in ORDER if each in counts.by_status},
            "old_rows": counts.old_rows,
            "mean_peak_gap": dict(gaps.peaks.best()),
            "mean_cycle_gap": dict(gaps.cycles.best()),
            "errors": [{"error": error, "points": number} for error, number in self.errors],
        }

    def rows(self) -> Sequence[Mapping[str, object]]:
        """A point a row, without what differs from run to run."""
        return self._rows(times=False)

    def to_dataframe(self, backend: Backend | None = None, *, times: bool = False) -> Any:
        """The rows as a table, with ``times`` also how long each took."""
        return data_frame(self._rows(times), backend)

    def _rows(self, times: bool) -> Sequence[Mapping[str, object]]:
        header, lines = table_of(self.results.rows, times)
        return [dict(zip(header, line, strict=True)) for line in lines]

    def to_html(self) -> str:
        """The page with charts of all gaps."""
        return render_study(self.results)


@dataclass(frozen=True, slots=True)
class StudyEffort:
    """Who answers the points, who hears of it, and when to stop. ``watch`` sees rows as they are stored."""

    workers: int | None = None
    dask: str | None = None
    progress: Progress | None = None
    cancel: Cancel | None = None

    def check(self) -> None:
        """Raise BadInput for values that contradict one another."""
        if self.workers is not None and not 1 <= self.workers <= MOST_WORKERS:
            raise BadInput(f"--workers {self.workers} is no number of processes", hint=f"1 to {MOST_WORKERS}")
        if self.workers is not None and self.dask:
            raise BadInput("--workers is of this machine, --dask of a cluster", hint="give one of the two")

    def group(self, missing: int) -> AbstractContextManager[WorkerGroup]:
        """The workers for so many points."""
        return Cluster(self.dask) if self.dask else LocalPool(min(missing, self.workers or cores()))


class _Watch(StopRequest):
    """Counts rows for a caller, and asks it now and then whether to stop."""

    def __init__(self, points: int, before: Iterable[Row], effort: StudyEffort) -> None:
        self.points, self.done = points, sum(1 for _ in before)
        self.effort = effort

    def __call__(self, rows: Sequence[Row]) -> None:
        self.done += len(rows)
        if rows and self.effort.progress:
            self.effort.progress(f"{self.done:,} of {self.points:,} points")
        if self.effort.cancel and self.effort.cancel():
            self.asked = True


def study(
    file: str | Path,
    store: str | Path | None = None,
    *,
    workers: int | None = None,
    dask: str | None = None,
    retry_failed: bool = False,
    only_status: bool = False,
    progress: Progress | None = None,
    cancel: Cancel | None = None,
) -> StudyTable:
    """Answer every point of a study file that has no row yet, on all cores or ``workers`` of them, or on the
    cluster of a ``dask`` scheduler.

    Rows are kept in ``store`` (by default the study's name with .sqlite, beside it) as they come, so that a
    cancelled study goes on where it was. ``only_status`` answers nothing. Start it below ``if __name__ ==
    "__main__":``, as worker processes import the main module. Raises BadInput.
    """
    effort = StudyEffort(workers, dask, progress, cancel)
    effort.check()
    asked = read_study(Path(file))
    tasks = tasks_of(asked)
    path = Path(store) if store else Path(file).with_suffix(".sqlite")
    with opened(path) as rows:
        ask(rows, asked, tasks)
        if retry_failed:
            rows.retry_failed()
        missing = 0 if only_status else rows.open_points()
        if missing:
            watch = _Watch(len(tasks), rows.rows(), effort)
            with effort.group(missing) as group:
                work(rows, {task.key: task for task in tasks}, group, watch, watch)
        counts, errors = rows.counts(), rows.errors()
    return study_table(path, counts, errors)


def ask(store: StudyStore, asked: Study, tasks: Sequence[PointTask]) -> None:
    """Hand out searches first: they may take long, and no worker should wait for one at the end."""
    header = StudyHeader(asked.name, asked.title, asked.file.name, asked.text, code_version(), len(tasks))
    turns = sorted(tasks, key=lambda task: not task.searches)
    store.ask(header, [task.key for task in tasks], (task.key for task in turns))


def study_table(path: Path, counts: StudyCounts, errors: Sequence[tuple[str, int]]) -> StudyTable:
    """What the store at ``path`` holds."""
    header, rows = read_rows(path)
    results = StudyResults(
        header.name, rows, header.title, header.file, header.text, header.code, header.points
    )
    return StudyTable(results, counts, tuple(errors))
