"""``chipmodel report``: a study's rows as one page, or as tables on the terminal."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from os.path import relpath
from pathlib import Path
from urllib.parse import quote
from zlib import compress, decompress

import click

from chipmodel.cli.file_options import (
    WRITES,
    FileCommand,
    Store,
    WritesInFolder,
    command_files,
    named_inputs,
    store_path,
)
from chipmodel.cli.study_files import READS_STUDY, is_store
from chipmodel.errors import BadInput, Place
from chipmodel.files.atomic_write import write_together
from chipmodel.files.conflicts import NamedFile, refuse_overwriting
from chipmodel.model.study_results import StudyResults
from chipmodel.studies.pages import SHORT, chosen, pages_of
from chipmodel.studies.store import read_rows
from chipmodel.terminal.printing import console, note
from chipmodel.terminal.progress import stage
from reports.study.page import render_study
from reports.study.terminal import print_answer


@dataclass(frozen=True, slots=True)
class _PointPage:
    """The page of a point: some 5 MB, of which compressed a quarter is left."""

    key: str
    path: Path
    page: bytes


@click.command(cls=FileCommand)
@click.argument("study", metavar="STUDY", type=READS_STUDY)
@click.option(
    "--store",
    "store_file",
    metavar="FILE",
    type=Store("study", kept=False),
    help="Where study kept the rows. [STUDY.sqlite]",
)
@click.option("--output", "-o", metavar="FILE", type=WRITES, help="Write one self-contained HTML page.")
@click.option(
    "--points",
    "folder",
    metavar="DIR",
    type=WritesInFolder(),
    help="And a page for the plan of each point, linked from it.",
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
    if (folder and not output) or (keys and not folder):
        raise BadInput(
            "pages of points are linked from a page", hint="give -o report.html and --points DIR too"
        )
    with stage(f"reading {study}"):
        store = _store(Path(study), store_file)
        found = _read(Path(study), store)
    if output:
        pages = _pages(found, Path(study).parent, Path(folder), keys) if folder else ()
        _write(found, Path(output), pages)
        return
    print_answer(found, console())


def _store(path: Path, store_file: str | None) -> Path:
    """Where the rows are: ``path`` itself, or the store in its folder. Raises BadInput."""
    try:
        itself = is_store(path)
    except OSError as error:
        hint = "give STUDY.yaml or STUDY.sqlite"
        raise BadInput(f"cannot read: {error.strerror}", where=Place(str(path)), hint=hint) from None
    if not itself:
        return store_path(str(path), store_file)
    if store_file:
        raise BadInput("this is a store itself", where=Place(str(path)), hint="leave out --store")
    return path


def _read(path: Path, store: Path) -> StudyResults:
    header, rows = read_rows(store)
    if path != store and path.read_text(encoding="utf-8", errors="replace") != header.text:
        note(f"{path} has changed since it was run; this is of the study as it was")
    return StudyResults(header.name, rows, header.title, header.file, header.text, header.code, header.points)


def _pages(found: StudyResults, home: Path, folder: Path, keys: tuple[str, ...]) -> tuple[_PointPage, ...]:
    """The pages of the points, to be written into ``folder``. Raises BadInput."""
    rows = chosen(found.rows, keys)
    paths = {row.key: folder / f"{row.key[:SHORT]}.html" for row in rows}
    _refuse_conflicts(paths)
    pages: list[_PointPage] = []
    with stage(f"planning {len(rows)} points again") as say:
        for row, page in pages_of(found.text, home / found.file, rows):
            pages.append(_PointPage(row.key, paths[row.key], compress(page.encode())))
            say(f"{len(pages)} done")
    return tuple(pages)


def _refuse_conflicts(paths: Mapping[str, Path]) -> None:
    """Raise BadInput where a point's page would overwrite what is read, or another output."""
    context = click.get_current_context()
    files = command_files(context)
    pages = tuple(NamedFile(f"--points: point {key[:SHORT]}", path) for key, path in paths.items())
    for page in pages:
        refuse_overwriting(files.inputs, [page, *files.outputs])
        if page.path.exists():
            refuse_overwriting(tuple(named_inputs(context)), [page])


def _write(found: StudyResults, output: Path, pages: tuple[_PointPage, ...]) -> None:
    """Write the report and the pages that it links to, all or none."""
    links = {page.key: quote(Path(relpath(page.path, output.parent)).as_posix()) for page in pages}
    with stage("writing reports"):
        report_page = render_study(replace(found, pages=links))
        with _made({page.path.parent for page in pages}):
            write_together((*((page.path, decompress(page.page)) for page in pages), (output, report_page)))


@contextmanager
def _made(folders: set[Path]) -> Generator[None]:
    """Make the ``folders`` that are not there, and remove them again if the body fails."""
    new = {each for folder in folders for each in (folder, *folder.parents) if not each.exists()}
    for folder in folders:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise BadInput(f"cannot make the folder: {error.strerror}", where=Place(str(folder))) from None
    try:
        yield
    except BaseException:
        for folder in sorted(new, key=lambda path: -len(path.parts)):
            with suppress(OSError):
                folder.rmdir()
        raise
