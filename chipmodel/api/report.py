"""The report of a study: its rows as one page, and a page for each point."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from os.path import relpath
from pathlib import Path
from typing import Any
from urllib.parse import quote

from chipmodel.answers.study_results import KEY_DIGITS
from chipmodel.api.arguments import checked
from chipmodel.api.effort import Progress, observing
from chipmodel.api.study_rows import StudyRows, stored_results
from chipmodel.errors import BadInput, Place
from chipmodel.files.atomic_write import make_folder, write_together
from chipmodel.files.csv_table import csv_text
from chipmodel.records import dataclass
from chipmodel.studies.lock import lock_text
from chipmodel.studies.pages import chosen, pages_of
from chipmodel.studies.store import read_rows
from chipmodel.studies.store_place import is_store, store_path
from chipmodel.terminal.progress import stage
from reports.pictures import figure_of, picture_files
from reports.study.markdown import study_markdown
from reports.study.page import charts_of, render_study
from reports.study.scores import statistics_table
from reports.study.words import answer, scope
from reports.template import PLOTLY_FILE, plotly_script


@dataclass(frozen=True, slots=True, repr=False)
class StudyReport(StudyRows):
    """The findings of a study so far."""

    folder: Path
    """The folder that the study was run in; files that it names are sought there."""
    changed: bool
    """Whether the study's file is another now than when it was run."""
    store: Path
    """The file of the rows."""

    def headline(self) -> str:
        """The question, and the answer in a few sentences."""
        study = self.results
        return " ".join((f"{study.title or study.name}:", scope(study), *answer(study)))

    def to_dict(self) -> dict[str, Any]:
        """The sentences of the answer, and all rows."""
        study = self.results
        return {
            "study": study.name,
            "title": study.title,
            "points": study.points,
            "answer": [scope(study), *answer(study)],
            "rows": [dict(row) for row in self.rows()],
        }

    def statistics_csv(self) -> bytes:
        """A line for each planner and metric, over the cases that all planners answered."""
        return csv_text(*statistics_table(self.results)).encode()

    def figures(self) -> Mapping[str, Any]:
        """The charts of the page by their names, each a ``plotly.graph_objects.Figure``."""
        return {name: figure_of(chart) for name, chart in charts_of(self.results).items()}

    def write_figures(self, folder: str | Path) -> None:
        """Write the charts as SVG and PDF into ``folder``, which is made if it is not there, all or none.

        Raises BadInput where Kaleido or a browser for it is missing.
        """
        with stage("writing figures"):
            pictures = picture_files(charts_of(self.results))
            make_folder(Path(folder))
            write_together([(Path(folder) / name, content) for name, content in pictures.items()])

    def to_markdown(self, figures: str = "") -> str:
        """The evaluation section of a paper: question, cases and methods, result, threats to validity; with
        links to ``figures``, the folder of ``write_figures``, if one is given."""
        names = tuple(f"{name}.svg" for name in charts_of(self.results)) if figures else ()
        return study_markdown(self.results, names, quote(f"{figures}/".removeprefix("./")))

    def lock_text(self) -> str:
        """Digests of all rows and what they come from, for ``chipmodel study --verify-lock``."""
        header, rows = read_rows(self.store)
        return lock_text(header.name, header.code, rows)

    def page_files(self, folder: str | Path, points: Sequence[str] = ()) -> Mapping[str, Path]:
        """The files that ``write`` makes for points, by their keys: of those that begin with one of
        ``points``, or of all. Raises BadInput for a point without a plan, and for too many."""
        rows = chosen(self.results.rows, points)
        return {row.key: Path(folder) / f"{row.key[:KEY_DIGITS]}.html" for row in rows}

    def write(
        self,
        page: str | Path,
        folder: str | Path | None = None,
        points: Sequence[str] = (),
        *,
        progress: Progress | None = None,
    ) -> None:
        """Write the page and, into ``folder``, a page that it links for the plan of each point, all or none.

        The points are planned again. Raises BadInput for points of other files or older code.
        """
        with observing(progress):
            made = [] if folder is None else self._pages(self.page_files(folder, points))
            _write(self, Path(page), made)

    def _pages(self, files: Mapping[str, Path]) -> list[_PointPage]:
        study = self.results
        rows = [row for row in study.rows if row.key in files]
        pages: list[_PointPage] = []
        with stage(f"planning {len(rows)} points again") as say:
            for row, page in pages_of(study.text, self.folder / study.file, rows):
                pages.append(_PointPage(row.key, files[row.key], page))
                say(f"{len(pages)} done")
        return pages


@dataclass(frozen=True, slots=True)
class _PointPage:
    key: str
    path: Path
    page: str


@checked
def report(study: str | Path, store: str | Path | None = None) -> StudyReport:
    """Return what a study has found so far.

    Nothing is answered, so a study that runs may be read as well.

    Parameters
    ----------
    study
        The study's file, or its store.
    store
        The store of a study that is given by its file; by default beside it.

    Raises
    ------
    BadInput
        If the study or store cannot be read.
    """
    with stage(f"reading {study}"):
        path = Path(study)
        kept = _store(path, store)
        results = stored_results(kept)
        changed = path != kept and path.read_text(encoding="utf-8", errors="replace") != results.text
        return StudyReport(results, path.parent, changed, kept)


def _store(path: Path, store: str | Path | None) -> Path:
    """Where the rows are: ``path`` itself, or the store in its folder. Raises BadInput."""
    try:
        itself = is_store(path)
    except OSError as error:
        hint = "give STUDY.yaml or STUDY.sqlite"
        raise BadInput(f"cannot read: {error.strerror}", where=Place(str(path)), hint=hint) from None
    if not itself:
        return store_path(path, store)
    if store:
        raise BadInput("this is a store itself", where=Place(str(path)), hint="leave out --store")
    return path


def _write(report: StudyReport, output: Path, pages: Sequence[_PointPage]) -> None:
    """Write the report and the pages that it links to, all or none."""
    links = {page.key: quote(Path(relpath(page.path, output.parent)).as_posix()) for page in pages}
    with stage("writing reports"):
        report_page = render_study(replace(report.results, pages=links))
        shared = {page.path.with_name(PLOTLY_FILE) for page in pages if PLOTLY_FILE in page.page}
        for folder in {page.path.parent for page in pages}:
            make_folder(folder)
        write_together(
            (
                *((page.path, page.page) for page in pages),
                *((script, plotly_script()) for script in shared),
                (output, report_page),
            )
        )
