"""The rows that a study has, wherever they come from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chipmodel.answers.study_results import StudyResults
from chipmodel.api.answer import PageAnswer
from chipmodel.api.data_frames import Backend, data_frame
from chipmodel.studies.export import table_of
from chipmodel.studies.store import read_rows
from reports.study.page import render_study


@dataclass(frozen=True, slots=True, repr=False)
class StudyRows(PageAnswer):
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
    header, rows = read_rows(path)
    return StudyResults(header.name, rows, header.title, header.file, header.text, header.code, header.points)
