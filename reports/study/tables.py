"""The tables of a study, for the terminal, the page and the evaluation section alike."""

from __future__ import annotations

from chipmodel.answers.study_results import StudyResults, failures
from chipmodel.files.sizes import format_bytes
from reports.page_parts import PageTable, TablePage
from reports.study.design import (
    CHIP,
    MEMORY,
    SufficientMemory,
    axes,
    designs,
    setting_words,
    sufficient_memories,
)
from reports.study.effects import STEP_HEADS, field_steps, step_rows
from reports.study.requirements import design_heads, design_rows
from reports.study.scores import score_table
from reports.study.words import answer, scope
from reports.words import count, shortened

SHOWN_ERRORS = 3
"""Errors that are printed."""


def page(study: StudyResults) -> TablePage:
    """What a terminal shows: the answer of a study that may have a title, and its tables."""
    said = (scope(study) if study.rows else "", *answer(study))
    tables = (*(score_table(study, metric) for metric in study.metrics), *design_tables(study), failed(study))
    return TablePage("report", study.title or study.name, "", said, tables)


def design_tables(study: StudyResults) -> list[PageTable]:
    """The tables of a study that varies chips or their fields, without rows where there is nothing to say."""
    memories = sufficient_memories(designs(study))
    cost = study.rows[0].costs[0][0] if study.rows and study.rows[0].costs else ""
    cheap = cost or "SharedMemory, then the least of the other numbers"
    return [
        PageTable(
            "enough",
            "Smallest SharedMemory within 5% of the best latency",
            ("workload", ">smallest", ">ms", ">best ms", ">fits from", "with"),
            [_memory_cells(study, each) for each in memories],
            "With the best planner and the best other settings.",
            wide=("with",),
        ),
        PageTable(
            "designs",
            "Designs against the requirements",
            design_heads(study),
            design_rows(study) if study.requirements and axes(study) else [],
            "Designs that meet the requirements with every network come first, the cheapest before the "
            f"others: the one with the least {cheap}. Each has the network that is nearest to the limit, or "
            "furthest above it, with its best plan.",
        ),
        PageTable(
            "steps",
            "What each step of a field brings, all else equal",
            STEP_HEADS,
            step_rows(field_steps(study)),
            "Change of latency between designs that differ in one field only, with the best plan of each. A "
            "field that changes no latency by more than 5% has no chart below.",
        ),
    ]


def _memory_cells(study: StudyResults, each: SufficientMemory) -> tuple[str, ...]:
    smallest, best, least = each.smallest, each.best, each.least
    named = each.workload.endswith(f" on {smallest.value(CHIP)}")
    planner = study.label(smallest.rows[0]) if len(study.planners) > 1 else ""
    settings = setting_words(smallest, MEMORY, *([CHIP] if named else []))
    times = (f"{of.milliseconds:,.3f}" for of in (smallest, best))
    settled = ", ".join(filter(None, (settings, planner)))
    return each.workload, format_bytes(smallest.bytes), *times, format_bytes(least.bytes), settled


def failed(study: StudyResults) -> PageTable:
    """The errors, with how many points each has and the first of them."""
    rows = [
        (
            error.strip().splitlines()[0],
            count(len(points)),
            shortened([f"{row.point.workload} {study.label(row)}" for row in points], 3),
        )
        for error, points in failures(study)
    ]
    return PageTable("failed", "Failed points", ("error", ">points", "which"), rows, most=SHOWN_ERRORS)
