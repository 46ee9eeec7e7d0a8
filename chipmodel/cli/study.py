"""``chipmodel study``: many points, stored as they are answered, on all cores or on a cluster."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from chipmodel.cli.command import command
from chipmodel.cli.options import cancelling
from chipmodel.cli.output import note, show, write_files
from chipmodel.errors import EXIT_DOES_NOT_FIT, EXIT_DONE, EXIT_UNKNOWN, BadInput
from chipmodel.files.text_file import json_text
from chipmodel.studies.store_place import store_path
from chipmodel.terminal.printing import remark, say
from chipmodel.terminal.progress import stage

if TYPE_CHECKING:
    from rich.console import Console

    from chipmodel.studies.study_file import Study


@command
def study(
    *,
    study_file: str,
    store_file: str | None,
    workers: int | None,
    dask: str | None,
    only_status: bool,
    retry_failed: bool,
    table_file: str | None,
    no_times: bool,
    html_file: str | None,
    json_file: str | None,
    only: tuple[str, ...],
    lock_file: str | None,
) -> int:
    """Answer every point of STUDY.yaml that has no row yet: workloads x chips x planners x chip fields.

    Each row is stored as soon as it is known. A run may be stopped or killed at any moment, and the next one
    continues where it ended; one run at a time writes a store. A stored row is used again only if everything
    that determines it is unchanged: the workload's content, the chip, the planners, the seed, the limits and
    chipmodel's own code.

    \b
      name, title   the study's name, and the question it answers
      workloads     zoo:NAME, onnx:NAME, files (relative to STUDY.yaml),
                    guillotine:n=60, minimalloc:NAME; * stands for anything.
                    [MLPerf Tiny]
                    Options:
                    model.onnx?dtype=int16&shape.x=1,3,64,64&iterations.l=3
      chips         presets and chip files, or all. [luna-arcs]
      packers       names, or all. [auto]; also merges [conflict],
                    streamers [auto] and cascades [off]
      seeds         for planners that search. [0]
      set           chip fields, each with its values:
                    shared_memory.bytes: [256KiB, 384KiB]
      requirements  limits for every network: {milliseconds: 20,
                    microjoules: 50, peak_bytes: 200KiB}
      columns       more columns for each design, by formula:
                    area: 0.9*shared_memory.bytes/1MiB + 0.05*dma.channels
      filters       include: and exclude: lists of {packer: exact, workload:
                    [zoo:vgg*]}; an item matches if all of its keys do
      same_buffers  true: all packers get the buffers of one schedule
      time_limit    seconds for each point (on several cores, for each
                    plan of a core that is tried)
      node_limit    nodes of search; gives the same answer every time

    With --status, --export, --html and --json write what is stored so far.

    Exit codes: 0 every point has an answer, 1 something differs (--only, --verify-lock), 2 bad input, 3 some
    points failed or, with --status, have no row yet.

    \f
    # Answer all points without a row, on four cores
    chipmodel study study.yaml --workers 4
    # How far it is
    chipmodel study study.yaml --status
    """
    from chipmodel.api.report import report
    from chipmodel.api.study import StudyEffort, answer_study
    from chipmodel.studies.export import csv_bytes, writer_of
    from chipmodel.studies.points import idle_filters
    from chipmodel.studies.study_file import read_study
    from reports.study.tables import page
    from reports.terminal_page import print_tables

    effort = StudyEffort(workers, dask)
    effort.check()
    if only_status and (retry_failed or workers is not None or dask):
        raise BadInput("--status answers no point", hint="leave out --retry-failed, --workers and --dask")
    if no_times and not table_file:
        raise BadInput("--no-times is of a table", hint="give --export FILE.csv as well")
    table_of_rows = writer_of(Path(table_file)) if table_file else csv_bytes
    with stage(f"reading {study_file}"):
        asked = read_study(Path(study_file))
        note(idle_filters(asked))
    path = store_path(study_file, store_file)
    if only or lock_file:
        return _compare(asked, path, only, lock_file)
    group, cancel = (None, None) if only_status else (effort, cancelling(""))
    answer = answer_study(asked, path, group, cancel, retry_failed=retry_failed)
    rows, document = answer.results.rows, answer.to_dict()
    write_files(
        [(table_file, lambda: table_of_rows(rows, not no_times)), (json_file, lambda: json_text(document))]
    )
    if html_file:
        report(study_file, store_file).write(html_file)

    def words(console: Console) -> None:
        say(answer.headline())
        if rows:
            print_tables(page(answer.results), console)

    show(json_file, lambda: json_text(document), words)
    if answer.stopped:
        remark("stopped; what is finished is stored: run it again to go on")
    return EXIT_DONE if answer.complete else EXIT_UNKNOWN


def _compare(asked: Study, path: Path, only: tuple[str, ...], lock_file: str | None) -> int:
    """Answer some points again, or none; say how they, or the stored rows, differ from what was there."""
    from chipmodel.api.study import repeat_points
    from chipmodel.studies.lock import lock_faults, read_lock
    from chipmodel.studies.points import tasks_of
    from chipmodel.studies.store import read_rows

    repeated = repeat_points(asked, path, only) if only else []
    for each in repeated:
        say(each.words())
    faults: list[str] = []
    if lock_file:
        lock = read_lock(Path(lock_file))
        stored = read_rows(path)[1] if path.is_file() and not repeated else ()
        rows = [each.row for each in repeated] or stored
        faults = lock_faults(lock, tasks_of(asked), rows)
        compared = len({row.key for row in rows} & {point.key for point in lock.points})
        for fault in faults:
            say(fault)
        if not faults:
            say(f"{len(lock.points):,} points are asked as in the lock; {compared:,} answers are the same")
    return EXIT_DOES_NOT_FIT if faults or any(each.differs for each in repeated) else EXIT_DONE
