"""A study on the terminal: the answer, and a row for every planner."""

from __future__ import annotations

from chipmodel.answers.study_results import PEAK, StudyMetric, StudyResults, failures
from chipmodel.files.sizes import format_bytes
from reports.study.design import designs, sufficient_memories
from reports.study.effects import STEP_HEADS, field_steps, step_rows
from reports.study.requirements import candidates, design_heads, design_rows
from reports.study.scores import (
    LOSS_HEADS,
    TERMINAL_HEADS,
    loss_cells,
    mergers_lose,
    score_cells,
    table_title,
)
from reports.study.words import answer, scope
from reports.terminal_table import Console, Table, print_line, ruled_table
from reports.words import shortened

SHOWN_ERRORS = 3
"""Errors that are printed."""


def print_answer(study: StudyResults, console: Console) -> None:
    """Print the answer of a study that may have a title."""
    title = study.title or study.name
    parts = ((title, "bold"), " " if title.endswith("?") else ": ", scope(study) if study.rows else "")
    print_line(console, *parts)
    for sentence in answer(study):
        print_line(console, sentence)
    for metric in study.metrics:
        console.print(_planners(study, metric))
        if metric is PEAK and mergers_lose(study.rows):
            console.print(_losses(study))
    if sufficient_memories(designs(study)):
        console.print(_memories(study))
    if study.requirements and candidates(study):
        title = "Designs, those that meet the requirements first, the cheapest before the others"
        console.print(ruled_table(design_heads(study), design_rows(study), title))
    if steps := step_rows(field_steps(study)):
        console.print(ruled_table(STEP_HEADS, steps, "What each step brings, all else equal"))
    for error, points in failures(study)[:SHOWN_ERRORS]:
        names = shortened([f"{row.point.workload} {study.label(row)}" for row in points], 3)
        print_line(console, f"failed: {names}")
        print_line(console, f"  {error.strip().splitlines()[0]}")


def _planners(study: StudyResults, metric: StudyMetric) -> Table:
    """A row for each planner over the common cases, the best first."""
    rows = [
        (score.planner, *(cells[head] for head in TERMINAL_HEADS))
        for score in study.scores(metric)
        for cells in (score_cells(score),)
    ]
    return ruled_table(
        ("planner", *(f">{head}" for head in TERMINAL_HEADS)), rows, table_title(study, metric)
    )


def _losses(study: StudyResults) -> Table:
    """A row for each planner: what its merger costs, and what its packer."""
    rows = [(score.planner, *loss_cells(score).values()) for score in study.scores(PEAK)]
    title = "What mergers lose with any packer, and what packers lose beyond"
    return ruled_table(("planner", *(f">{head}" for head in LOSS_HEADS)), rows, title)


def _memories(study: StudyResults) -> Table:
    rows = [
        (
            *(memory.workload, format_bytes(memory.smallest.bytes)),
            *(f"{of.milliseconds:,.3f}" for of in (memory.smallest, memory.best)),
            format_bytes(memory.least.bytes),
        )
        for memory in sufficient_memories(designs(study))
    ]
    title = "Smallest SharedMemory within 5% of the best latency"
    return ruled_table(("workload", ">smallest", ">ms", ">best ms", ">fits from"), rows, title)
