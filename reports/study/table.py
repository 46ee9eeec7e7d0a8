"""The rows of a study as a sortable table, and the figures of each for its own view."""

from __future__ import annotations

from shlex import quote

from chipmodel.answers.study_columns import cell_of, columns_of, settings_of
from chipmodel.answers.study_results import KEY_DIGITS, StudyResults, case
from chipmodel.answers.study_row import Row
from chipmodel.files.csv_table import Cell
from chipmodel.records import dataclass
from reports.words import count, exact_size, percent, seconds_text

ANSWERED = (
    *("status", "peak_bytes", "peak_lower_bound_bytes", "peak_gap", "total_cycles", "lower_bound_cycles"),
    *("cycle_gap", "milliseconds", "microjoules", "seconds"),
)
"""The results in the table of points."""


@dataclass(frozen=True, slots=True)
class StudyColumn:
    """A column of ``study --export`` on the page."""

    key: str
    numeric: bool

    @property
    def label(self) -> str:
        """The name in words; fields of a chip keep theirs."""
        return self.key if "." in self.key else self.key.replace("_", " ")

    def value(self, row: Row) -> Cell:
        """What to sort by, None last."""
        return cell_of(row, self.key)

    def text(self, row: Row) -> str:
        """The text of its cell."""
        value = self.value(row)
        if value is None or isinstance(value, str):
            return value or ""
        if self.key.endswith("_gap"):
            return percent(value)
        if self.key == "seconds" or self.key.endswith("_seconds"):
            return seconds_text(value)
        return count(value) if isinstance(value, int) else f"{value:,.6g}"


def settings(study: StudyResults) -> list[StudyColumn]:
    """The columns of what was asked."""
    return [_column(study, name) for name in settings_of(study.rows)]


def columns(study: StudyResults) -> list[StudyColumn]:
    """The workload, the settings that vary between points, and the results that any row has."""
    workload, *others = settings(study)
    varied = [each for each in others if len({each.value(row) for row in study.rows} - {None}) > 1]
    results = [_column(study, name) for name in ANSWERED]
    known = [each for each in results if any(each.value(row) is not None for row in study.rows)]
    return [workload, *varied, *known]


def _column(study: StudyResults, name: str) -> StudyColumn:
    return StudyColumn(name, any(isinstance(cell_of(row, name), int | float) for row in study.rows))


def table(study: StudyResults) -> dict[str, object]:
    """All cells for the script: texts by row, numeric values by column."""
    made = columns(study)
    return {
        "columns": [[column.key, column.label, column.numeric] for column in made],
        "cells": [[column.text(row) for column in made] for row in study.rows],
        "values": [[column.value(row) for row in study.rows] if column.numeric else None for column in made],
    }


def details(study: StudyResults) -> list[dict[str, object]]:
    """What the view of each row shows: every column in which it has something."""
    cases: dict[tuple[object, ...], int] = {}
    every = [StudyColumn(name, False) for name in columns_of(study.rows) if name != "error"]
    return [
        {
            "key": row.key,
            "case": cases.setdefault(case(row), len(cases)),
            "facts": [[column.label, text] for column in every if (text := column.text(row))],
            "command": f"chipmodel study {quote(study.file or study.name)} --only {row.key[:KEY_DIGITS]}",
            **({"error": row.error} if row.error else {}),
            **({"page": page} if (page := study.pages.get(row.key)) else {}),
            **({"steps": steps} if (steps := _steps(row)) else {}),
        }
        for row in study.rows
    ]


def _steps(row: Row) -> list[list[str]]:
    """The planner's intermediate results: time, best peak and bound."""
    return [
        [
            seconds_text(step.seconds),
            "no plan" if step.peak_bytes is None else exact_size(step.peak_bytes),
            exact_size(step.lower_bound_bytes),
        ]
        for step in row.trajectory
    ]
