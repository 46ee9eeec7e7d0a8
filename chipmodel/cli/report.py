"""``chipmodel report``: a study's rows as one page, or as tables on the terminal."""

from __future__ import annotations

from dataclasses import replace
from os.path import relpath
from pathlib import Path
from urllib.parse import quote

import click

from chipmodel.errors import BadInput, Place
from chipmodel.files.atomic_write import refuse_overwriting, write_atomically
from chipmodel.model.study_results import StudyResults
from chipmodel.study.pages import SHORT, chosen, pages_of
from chipmodel.study.store import read_rows
from chipmodel.terminal.progress import stage
from reports.study.page import render_study
from reports.study.terminal import print_answer

STORE = ".sqlite"
_MAGIC = b"SQLite format 3\x00"


@click.command()
@click.argument("study", metavar="STUDY")
@click.option("--store", "store_file", metavar="FILE", help="Where study kept the rows. [STUDY.sqlite]")
@click.option("--output", "-o", metavar="FILE", help="Write one self-contained HTML page.")
@click.option(
    "--points", "folder", metavar="DIR", help="And a page for the plan of each point, linked from it."
)
@click.option("--point", "keys", metavar="KEY", multiple=True, help="Only for these; repeatable.")
def report(
    study: str, store_file: str | None, output: str | None, folder: str | None, keys: tuple[str, ...]
) -> None:
    """Say what a study found: STUDY.yaml, or its store, STUDY.sqlite.

    Without -o on the terminal: per planner the points, how many are proven, the gaps to the best bounds, and
    the time; per workload the smallest memory within 5% of the best latency, where memory is swept. The page
    has charts of all of it, and every point with the command that runs it again. Only what is stored is read,
    also while the study runs; no point is answered.

    With --points DIR, points that have a plan are planned again, and DIR gets their pages, as simulate and
    pack write them: of all points if they are few, or of those whose keys (each point's own page in the
    report tells its key) begin with a KEY. Files that the study names are sought in the folder of STUDY.
    """
    if output == "-":
        raise BadInput("a page is not written to stdout", hint="name a file: -o report.html")
    if (folder and not output) or (keys and not folder):
        raise BadInput(
            "pages of points are linked from a page", hint="give -o report.html and --points DIR too"
        )
    with stage(f"reading {study}"):
        store = _store(Path(study), store_file)
        found = _read(Path(study), store)
    refuse_overwriting("--output", output, study, store)
    if output and folder:
        found = replace(
            found, pages=_write_pages(found, Path(study).parent, Path(folder), Path(output), keys)
        )
    if output:
        with stage("writing reports"):
            write_atomically(Path(output), render_study(found))
        return
    from rich.console import Console

    print_answer(found, Console())


def _store(path: Path, store_file: str | None) -> Path:
    """Where the rows are: ``path`` itself, or the store in its folder. Raises BadInput."""
    if not _is_store(path):
        return Path(store_file) if store_file else path.with_suffix(STORE)
    if store_file:
        raise BadInput("this is a store itself", where=Place(str(path)), hint="leave out --store")
    return path


def _read(path: Path, store: Path) -> StudyResults:
    header, rows = read_rows(store)
    if path != store and path.read_text(encoding="utf-8", errors="replace") != header.text:
        click.echo(f"note: {path} has changed since it was run; this is of the study as it was", err=True)
    return StudyResults(header.name, rows, header.title, header.file, header.text, header.code, header.points)


def _write_pages(
    found: StudyResults, home: Path, folder: Path, output: Path, keys: tuple[str, ...]
) -> dict[str, str]:
    """Write the pages of the points into ``folder``, and say where each is as seen from ``output``."""
    rows = chosen(found.rows, keys)
    links: dict[str, str] = {}
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(f"cannot make the folder: {error.strerror}", where=Place(str(folder))) from None
    with stage(f"planning {len(rows)} points again") as say:
        for row, page in pages_of(found.text, home / found.file, rows):
            path = folder / f"{row.key[:SHORT]}.html"
            write_atomically(path, page)
            links[row.key] = quote(Path(relpath(path, output.parent)).as_posix())
            say(f"{len(links)} written")
    return links


def _is_store(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(_MAGIC)) == _MAGIC
    except OSError as error:
        hint = "give STUDY.yaml or STUDY.sqlite"
        raise BadInput(f"cannot read: {error.strerror}", where=Place(str(path)), hint=hint) from None
