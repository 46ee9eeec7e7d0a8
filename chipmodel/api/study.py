"""Studies: many points, stored as they are answered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from pathlib import Path
from typing import Any

from chipmodel.answers.study_results import KEY_DIGITS
from chipmodel.answers.study_row import Row
from chipmodel.api.arguments import checked
from chipmodel.api.effort import Cancel, Progress, observing
from chipmodel.api.study_rows import StudyRows, results_of
from chipmodel.errors import BadInput
from chipmodel.records import dataclass
from chipmodel.studies.answer import WorkerCache, answer
from chipmodel.studies.code_version import code_version
from chipmodel.studies.dask_cluster import Cluster
from chipmodel.studies.design_question import stored_text
from chipmodel.studies.engine import work
from chipmodel.studies.lock import differences
from chipmodel.studies.points import tasks_of, turns
from chipmodel.studies.pool import LocalPool, cores
from chipmodel.studies.progress import StudyStatus
from chipmodel.studies.store import StudyCounts, StudyHeader, is_asked, opened, read_rows, rows_of
from chipmodel.studies.store_place import store_path
from chipmodel.studies.study_file import Study, read_study
from chipmodel.studies.task import PointTask
from chipmodel.studies.workload import load_workload
from chipmodel.terminal.progress import stage

MOST_WORKERS = 1024
ORDER = ("optimal", "feasible", "unknown", "does not fit", "infeasible", "failed")
"""Statuses of rows, in the order in which they are listed."""


@dataclass(frozen=True, slots=True, repr=False)
class StudyTable(StudyRows):
    """The progress of a study, with the rows that it has so far."""

    counts: StudyCounts
    errors: tuple[tuple[str, int], ...]
    """The errors, and the number of points that failed with each."""
    stopped: bool = False
    """Whether the caller ended it before every point had a row."""

    @property
    def complete(self) -> bool:
        """Whether every point has a row, and none failed."""
        return self.counts.stored == self.counts.points and not self.counts.failed

    def headline(self) -> str:
        """How many points have a row, and of which kinds."""
        counts = self.counts
        kinds = ", ".join(f"{counts.by_status[each]:,} {each}" for each in ORDER if each in counts.by_status)
        of = f"{counts.stored:,} of {counts.points:,} points have a row{kinds and f': {kinds}'}"
        old = f"; {counts.old_rows:,} more rows are of an older study file or older code"
        return f"{self.results.name}: {of}{old if counts.old_rows else ''}"

    def to_dict(self) -> dict[str, Any]:
        """The document of ``chipmodel study --json``: progress, and median gaps over common cases."""
        counts, rankings = self.counts, self.results.rankings
        return {
            "study": self.results.name,
            "points": counts.points,
            "stored": counts.stored,
            "by_status": {each: counts.by_status[each] for each in ORDER if each in counts.by_status},
            "old_rows": counts.old_rows,
            "median_peak_gap": {score.planner: score.median for score in rankings["peak"].scores},
            "median_cycle_gap": {score.planner: score.median for score in rankings["cycles"].scores},
            "errors": [{"error": error, "points": number} for error, number in self.errors],
        }


@dataclass(frozen=True, slots=True)
class StudyEffort:
    """Who answers the points."""

    workers: int | None = None
    dask: str | None = None

    def check(self) -> None:
        """Raise BadInput for values that contradict one another."""
        if self.workers is not None and not 1 <= self.workers <= MOST_WORKERS:
            raise BadInput(
                f"--workers {self.workers} is not a number of processes", hint=f"1 to {MOST_WORKERS}"
            )
        if self.workers is not None and self.dask:
            raise BadInput("--workers is of this machine, --dask of a cluster", hint="give one of the two")

    def answers(self, tasks: Sequence[PointTask]) -> Generator[list[Row]]:
        """The rows of ``tasks`` as they come."""
        workers = Cluster(self.dask) if self.dask else LocalPool(self.workers or cores())
        return workers.answers(tasks)


@checked
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
    """Answer every point of a study file that has no row yet.

    Rows are kept as they come, so that a cancelled study goes on where it was. Call this below ``if __name__
    == "__main__":``, as worker processes import the main module.

    Parameters
    ----------
    file
        A study file in YAML.
    store
        The SQLite file of its rows; by default beside it, with the study's name.
    workers
        Processes; by default one for each core.
    dask
        The address of a Dask scheduler, whose cluster answers instead.
    retry_failed
        Whether to answer points again that ended in an error.
    only_status
        Whether to answer nothing, and return how far the study is.
    progress
        Receives a line for every row.
    cancel
        Is asked now and then whether to stop.

    Raises
    ------
    BadInput
        If the file or the store cannot be read.
    """
    effort = StudyEffort(workers, dask)
    effort.check()
    asked = read_study(Path(file))
    path = store_path(file, store)
    with observing(progress):
        return answer_study(asked, path, None if only_status else effort, cancel, retry_failed=retry_failed)


@dataclass(frozen=True, slots=True)
class Repeated:
    """A point answered again, and how its row differs from the stored one, times apart."""

    row: Row
    stored: bool
    differs: Mapping[str, tuple[object, object]]

    def words(self) -> str:
        """The answer, and whether it is as stored, in a line."""
        row = self.row
        peak = "no plan" if row.peak_bytes is None else f"peak {row.peak_bytes:,} B"
        cycles = "" if row.total_cycles is None else f", {row.total_cycles:,} cycles"
        answered = f"{row.key[:KEY_DIGITS]} {row.point.workload}: {row.status}, {peak}{cycles}"
        if not self.stored:
            return f"{answered}: nothing is stored to compare with"
        changes = ", ".join(f"{name} is {new}, was {old}" for name, (new, old) in self.differs.items())
        return f"{answered}: {changes or 'exactly as stored'}"


def repeat_points(asked: Study, path: Path, keys: Sequence[str]) -> list[Repeated]:
    """Answer the points whose keys begin with one of ``keys`` again, in this process, and compare them with
    the rows in the store at ``path``, which stays as it is. Raises BadInput for a key that is none."""
    tasks = tasks_of(asked)
    for key in keys:
        if not key or not any(task.key.startswith(key) for task in tasks):
            hint = "give the beginning of a key, as a point's own page in the report tells it"
            raise BadInput(f"no point of {asked.file} as it is now has the key {key!r}", hint=hint)
    stored = {row.key: row for row in read_rows(path)[1]} if path.is_file() else {}
    repeated: list[Repeated] = []
    for task in tasks:
        if task.key.startswith(tuple(keys)):
            row = answer(task, WorkerCache(load_workload))
            old = stored.get(task.key)
            repeated.append(Repeated(row, old is not None, differences(row, old) if old else {}))
    return repeated


def answer_study(
    asked: Study, path: Path, effort: StudyEffort | None, cancel: Cancel | None, *, retry_failed: bool
) -> StudyTable:
    """Answer the points that have no row in the store at ``path``, until ``cancel`` says yes; none without
    ``effort``."""
    with stage(f"reading {asked.file}"):
        tasks = tasks_of(asked)
    header, keys = _header(asked, tasks), [task.key for task in tasks]
    stopped = False

    def unanswered(rows: Sequence[Row]) -> list[PointTask]:
        again = "failed" if retry_failed else ""
        done = {row.key for row in rows if row.code == header.code and row.status != again}
        return [task for task in turns(tasks) if task.key not in done]

    # A finished study is only read: its folder may be one that nobody may write.
    if effort and (unanswered(rows_of(path, header.code, keys)[0]) or not is_asked(path, header, keys)):
        with opened(path) as store:
            store.ask(header, keys)
            rows, counts = rows_of(path, header.code, keys)
            if missing := unanswered(rows):
                with stage(f"answering {asked.name}") as say:
                    watch = StudyStatus(counts, say)
                    stopped = work(store, effort.answers(missing), watch, cancel)
    rows, counts = rows_of(path, header.code, keys)
    errors = Counter(row.error for row in rows if row.status == "failed" and row.code == header.code)
    ordered = sorted(errors.items(), key=lambda each: (-each[1], each[0]))
    return StudyTable(results_of(path, header, rows), counts, tuple(ordered), stopped)


def _header(asked: Study, tasks: Sequence[PointTask]) -> StudyHeader:
    points = [task.point for task in tasks if task.chip is not None]
    designs = asked.designs.of(
        ((point.chip, point.overrides) for point in points),
        {chip: asked.chip_file(chip) for chip in asked.chips},
    )
    return StudyHeader(
        name=asked.name,
        title=asked.title,
        file=asked.file.name,
        text=asked.text,
        code=code_version(),
        points=len(tasks),
        designs=stored_text(designs),
    )
