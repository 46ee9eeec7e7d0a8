"""``chipmodel report``: a study's rows as one page, or as tables on the terminal."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from chipmodel.errors import BadInput, Place
from chipmodel.progress import stage

if TYPE_CHECKING:
    from reports.study_data import Study

STORE = ".sqlite"
_MAGIC = b"SQLite format 3\x00"


@click.command()
@click.argument("study", metavar="STUDY")
@click.option("--output", "-o", metavar="FILE", help="Write one self-contained HTML page.")
def report(study: str, output: str | None) -> None:
    """Say what a study found: STUDY.yaml, or its store, STUDY.sqlite.

    Without -o on the terminal: per planner the points, how many are proven, the gaps to the best bounds, and
    the time; per workload the smallest memory within 5% of the best latency, where memory is swept. The page
    has charts of all of it, and every point with the command that runs it again. Only what is stored is read,
    also while the study runs; no point is answered.
    """
    from chipmodel.files import write_whole

    if output == "-":
        raise BadInput("a page is not written to stdout", mend="name a file: -o report.html")
    with stage(f"reading {study}"):
        found = _read(Path(study))
    if output:
        from reports.study_page import render_study

        with stage("writing reports"):
            write_whole(Path(output), render_study(found))
        return
    from rich.console import Console

    from reports.study_terminal import print_answer

    print_answer(found, Console())


def _read(path: Path) -> Study:
    from chipmodel.study_store import read_rows
    from reports.study_data import Study

    stored = _is_store(path)
    header, rows = read_rows(path if stored else path.with_suffix(STORE))
    if not stored and path.read_text(encoding="utf-8", errors="replace") != header.text:
        click.echo(f"note: {path} has changed since it was run; this is of the study as it was", err=True)
    return Study(header.name, rows, header.title, header.file, header.text, header.code, header.points)


def _is_store(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(_MAGIC)) == _MAGIC
    except OSError as error:
        mend = "give STUDY.yaml or STUDY.sqlite"
        raise BadInput(f"cannot read: {error.strerror}", where=Place(str(path)), mend=mend) from None
