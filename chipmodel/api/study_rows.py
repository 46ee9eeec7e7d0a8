"""The rows that a study has, wherever they come from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from chipmodel.answers.study_results import KEY_DIGITS, StudyResults
from chipmodel.answers.study_row import Row
from chipmodel.api.answer import Answer, Backend, data_frame
from chipmodel.errors import RowsLeftOut, warn_caller
from chipmodel.files.suggestions import listed
from chipmodel.records import dataclass
from chipmodel.studies.design_question import read_stored
from chipmodel.studies.export import table_of
from chipmodel.studies.store import StudyHeader, read_rows
from reports.study.page import render_study

SHOWN_KEYS = 4
"""Keys of rows that a warning names."""


@dataclass(frozen=True, slots=True, repr=False)
class StudyRows(Answer):
    """Rows of a study. ``results`` has every column of every row."""

    results: StudyResults

    def rows(self) -> Sequence[Mapping[str, Any]]:
        """A point a row, without what differs from run to run."""
        return self._rows(times=False)

    def to_dataframe(self, backend: Backend = "pandas", *, times: bool = False) -> Any:
        """The rows as a table, with ``times`` also how long each took."""
        return data_frame(self._rows(times), backend)

    def _rows(self, times: bool) -> Sequence[Mapping[str, Any]]:
        header, lines = table_of(self.results.rows, times)
        return [dict(zip(header, line, strict=True)) for line in lines]

    def to_html(self) -> str:
        """The page with charts of all gaps."""
        return render_study(self.results)


def stored_results(path: Path) -> StudyResults:
    """What the store at ``path`` holds. Raises BadInput where it is none."""
    return results_of(path, *read_rows(path))


def results_of(path: Path, header: StudyHeader, rows: tuple[Row, ...]) -> StudyResults:
    """What ``rows`` of the store at ``path`` say of the study of ``header``. Raises BadInput."""
    designs = read_stored(header.designs, path)
    unknown = [
        row for row in rows if row.point.chip and not designs.knows((row.point.chip, row.point.overrides))
    ]
    if unknown:
        keys = listed([row.key[:KEY_DIGITS] for row in unknown], SHOWN_KEYS)
        what = f"{path}: left out rows {keys}: the store says nothing of what their designs cost"
        warn_caller(RowsLeftOut(f"{what}; another program changed it: run the study again"))
        rows = tuple(row for row in rows if row not in unknown)
    if designs.columns:
        rows = tuple(replace(row, costs=designs.costs((row.point.chip, row.point.overrides))) for row in rows)
    return StudyResults(
        name=header.name,
        rows=rows,
        title=header.title,
        file=header.file,
        text=header.text,
        code=header.code,
        points=header.points,
        requirements=designs.requirements,
    )
