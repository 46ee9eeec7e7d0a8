"""``chipmodel report``: a study's rows as one page, or as tables on the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from os.path import relpath
from pathlib import Path

import click

from chipmodel.cli.command import command
from chipmodel.cli.file_options import (
    STDOUT,
    command_files,
)
from chipmodel.cli.output import note, show, write_files
from chipmodel.errors import BadInput
from chipmodel.files.conflicts import NamedFile, refuse_overwriting


@command
def report(
    study: str,
    store_file: str | None,
    output: str | None,
    json_file: str | None,
    folder: str | None,
    statistics: str | None,
    markdown: str | None,
    figures: str | None,
    lock: str | None,
    keys: tuple[str, ...],
) -> None:
    """Say what a study found: STUDY.yaml, or its store, STUDY.sqlite.

    Without -o the terminal shows planners over the cases that all of them answered, by median gap, wins,
    Wilcoxon's test and time; for each workload the smallest memory within 5% of the best latency, if memory
    is swept; the designs that meet the study's requirements, cheapest first; and what each step of a field
    brings. The page has charts of all of it, methods and threats to validity, and every point with the
    command that answers it again. Only what is stored is read, also while the study runs; no point is
    answered.

    With --points DIR, points that have a plan are planned again, and DIR gets their pages, as simulate and
    pack write them: of all points if they are few, or of those whose keys (each point's own page in the
    report tells its key) begin with a KEY. Files that the study names are looked up in the folder of STUDY.

    \f
    # The tables on the terminal
    chipmodel report study.yaml
    # The page, with a page for each point
    chipmodel report study.yaml -o study.html --points points
    """
    from chipmodel.api.report import report as read_report
    from reports.study.tables import page
    from reports.terminal_page import print_tables

    if (folder and not output) or (keys and not folder):
        raise BadInput(
            "pages of points are linked from a page", hint="give -o report.html and --points DIR too"
        )
    study_report = read_report(study, store_file)
    if study_report.changed:
        note((f"{study} has changed since it was run; this is of the study as it was",))
    link = Path(relpath(figures, Path(markdown).parent)).as_posix() if figures and markdown else ""
    sections = partial(study_report.to_markdown, link)
    files = ((statistics, study_report.statistics_csv), (markdown, sections), (lock, study_report.lock_text))
    write_files([*files, (json_file, study_report.to_json)])
    if figures:
        study_report.write_figures(figures)
    if not output or json_file == STDOUT:
        tables = page(study_report.results)
        show(json_file, study_report.to_json, lambda console: print_tables(tables, console))
    if not output:
        return
    if folder:
        _refuse_conflicts(study_report.page_files(folder, keys))
    study_report.write(output, folder, keys)


def _refuse_conflicts(paths: Mapping[str, Path]) -> None:
    """Raise BadInput where a point's page would overwrite what is read, or another output."""
    from chipmodel.answers.study_results import KEY_DIGITS

    inputs, outputs, _ = command_files(click.get_current_context())
    pages = tuple(NamedFile(f"--points: point {key[:KEY_DIGITS]}", path) for key, path in paths.items())
    for page in pages:
        refuse_overwriting(inputs, [page, *outputs])
