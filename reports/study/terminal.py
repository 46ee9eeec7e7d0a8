"""A study on the terminal: the answer, and a row for every planner."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chipmodel.answers.study_results import PlannerScore, StudyResults, failures
from chipmodel.files.sizes import format_bytes
from reports.study.design import designs, sufficient_memories
from reports.study.words import answer, gap_words, scope
from reports.terminal_table import ruled_table
from reports.words import count, seconds_text, shortened

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

SHOWN_ERRORS = 3
"""Errors that are printed."""


def print_answer(study: StudyResults, console: Console) -> None:
    """Print the answer of a study that may have a title."""
    from rich.text import Text

    title = study.title or study.name
    parts = ((title, "bold"), " " if title.endswith("?") else ": ", scope(study) if study.rows else "")
    console.print(Text.assemble(*parts), highlight=False)
    for sentence in answer(study):
        console.print(Text(sentence), highlight=False)
    if study.metrics:
        console.print(_planners(study))
    if sufficient_memories(designs(study)):
        console.print(_memories(study))
    for error, found in failures(study)[:SHOWN_ERRORS]:
        names = shortened([f"{row.point.workload} {study.label(row)}" for row in found], 3)
        console.print(Text(f"failed: {names}"), highlight=False)
        console.print(Text(f"  {error.strip().splitlines()[0]}"), highlight=False)


def _planners(study: StudyResults) -> Table:
    """A row for each planner, in the order of the first metric."""
    main = study.metrics[0]
    others = [{s.planner: s for s in study.scores(m)} for m in study.metrics[1:]]
    heads = [">proven", f">{main.noun} gap", ">worst", *(f">{m.noun} gap" for m in study.metrics[1:])]
    rows = [
        (
            *(score.planner, _proven(score), _gap(score), gap_words(score.worst)),
            *(_gap(found.get(score.planner)) for found in others),
            seconds_text(score.seconds),
        )
        for score in study.scores(main)
    ]
    return ruled_table(("planner", *heads, ">time"), rows)


def _proven(score: PlannerScore) -> str:
    return f"{count(score.proven)} of {count(len(score.rows))}"


def _gap(score: PlannerScore | None) -> str:
    return "" if score is None else gap_words(score.median)


def _memories(study: StudyResults) -> Table:
    rows = [
        (
            *(each.workload, format_bytes(each.smallest.bytes)),
            *(f"{of.milliseconds:,.3f}" for of in (each.smallest, each.best)),
            format_bytes(each.least.bytes),
        )
        for each in sufficient_memories(designs(study))
    ]
    title = "Smallest SharedMemory within 5% of the best latency"
    return ruled_table(("workload", ">smallest", ">ms", ">best ms", ">fits from"), rows, title)
