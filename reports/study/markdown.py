"""A study as the evaluation section of a paper, in Markdown: question, cases and methods, result, threats."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from chipmodel.answers.study_results import PEAK, StudyMetric, StudyResults, compared_case
from chipmodel.answers.study_row import Row
from reports.markdown import escaped, markdown_table
from reports.page_parts import PageTable
from reports.study.methods import methods, threats
from reports.study.scores import score_table
from reports.study.tables import design_tables, failed
from reports.study.words import answer, scope
from reports.words import count, percent, plural

MOST_APART = 10
"""Cases in the table of those that no planner settles."""


def study_markdown(study: StudyResults, figures: Sequence[str] = (), folder: str = "") -> str:
    """The section as text. ``figures`` are the names of files in ``folder``, a relative link, which are shown
    below the results. A metric by which only one planner is compared has none, where another has more."""
    metrics = [metric for metric in study.metrics if len(study.scores(metric)) > 1] or study.metrics
    hidden = tuple(f"{metric.key}-" for metric in study.metrics if metric not in metrics)
    parts = [
        f"# {escaped(study.title or study.name)}",
        f"{escaped(scope(study))}" if study.rows else "",
        "## Cases and methods",
        *map(escaped, methods(study)),
        "## Result",
        "\n".join(f"* {escaped(sentence)}" for sentence in answer(study)),
        *(part for metric in metrics for part in _metric(study, metric)),
        *(part for table in (*design_tables(study), failed(study)) for part in _table(table)),
        *(f"![{_figure_words(name)}]({folder}{name})" for name in figures if not name.startswith(hidden)),
        *_threats(study),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _metric(study: StudyResults, metric: StudyMetric) -> Iterable[str]:
    yield from _table(score_table(study, metric))
    yield from _unsettled(study, metric)


def _unsettled(study: StudyResults, metric: StudyMetric) -> Iterable[str]:
    """The cases whose best plan is furthest above the bound, with that plan's planner."""
    best: dict[object, tuple[float, Row]] = {}
    for row in study.rows:
        gap, case = metric.gap(row), compared_case(metric, row)
        if gap is not None and (case not in best or gap < best[case][0]):
            best[case] = gap, row
    apart = sorted((pair for pair in best.values() if pair[0] > 0), key=lambda pair: -pair[0])
    yield f"{count(len(best) - len(apart))} of {plural(len(best), 'case')} have a plan at the bound." + (
        " The others that are furthest above it, with their best planner:" if apart else ""
    )
    if apart:
        first = apart[:MOST_APART]
        rows = [(_case_words(row, metric), percent(gap), study.planner(metric, row)) for gap, row in first]
        yield markdown_table(("case", ">gap of the best plan", "planner"), rows)


def _case_words(row: Row, metric: StudyMetric) -> str:
    point = row.point
    settings = point.chip, *(f"{name} {value}" for name, value in point.overrides)
    where = ", ".join(filter(None, (*settings, point.streamer if metric is PEAK else "")))
    return f"{point.workload} ({where})" if where else point.workload


def _table(table: PageTable) -> Iterable[str]:
    if table.rows:
        yield f"### {escaped(table.title)}"
        yield markdown_table(table.heads, table.rows)


def _threats(study: StudyResults) -> Iterable[str]:
    sentences = threats(study)
    if sentences:
        yield "## Threats to validity"
        yield "\n".join(f"* {escaped(sentence)}" for sentence in sentences)


def _figure_words(name: str) -> str:
    return escaped(name.removesuffix(".svg").replace("-", " "))
