"""A study as one self-contained HTML file: the answer, charts, all points, and a view of each point."""

from __future__ import annotations

import re
from collections.abc import Mapping

from chipmodel.answers.study_results import StudyResults, failures
from chipmodel.records import dataclass
from reports.chart import Chart
from reports.study.design import (
    CHIP,
    MEMORY,
    Design,
    axes,
    columns_of_designs,
    designs,
)
from reports.study.design_chart import has_front, panels
from reports.study.effects import field_steps, is_flat
from reports.study.methods import methods, threats
from reports.study.scores import score_table
from reports.study.strips import gap_strips, profile
from reports.study.table import columns, details, settings, table
from reports.study.tables import design_tables
from reports.study.words import answer, scope, space_words
from reports.template import PageScript, render

FIRST_ROWS = 500
"""Rows of the table in the HTML; the script adds the others."""


@dataclass(frozen=True, slots=True)
class SweepSection:
    """The charts over one varied field."""

    title: str
    ident: str
    panels: tuple[tuple[str, Chart], ...]
    """Workload and chart."""
    with_front: bool
    """Whether designs on the Pareto front are marked."""
    more: int
    """Workloads without a chart."""

    def panel_id(self, number: int) -> str:
        """The id of a panel's chart."""
        return f"{self.ident}-{number}"


def render_study(study: StudyResults) -> str:
    """The page as text, the same for the same rows."""
    swept = designs(study) if axes(study) else ()
    sweeps, charts = _sweeps(study, swept), _charts(study)
    values: dict[str, object] = {
        "study": study,
        "spaces": space_words(study),
        "title": study.title or study.name,
        "scope": scope(study) if study.rows else "",
        "answer": answer(study),
        "charts": charts,
        "metrics": study.metrics,
        "score_tables": [(metric, score_table(study, metric)) for metric in study.metrics],
        "methods": methods(study),
        "threats": threats(study),
        "sweeps": sweeps,
        "design_tables": design_tables(study),
        "failures": failures(study),
        "facts": _facts(study),
        "columns": columns(study),
        "rows": study.rows[:FIRST_ROWS],
        "statuses": _statuses(study),
    }
    panels_by_id = {
        sweep.panel_id(at): chart for sweep in sweeps for at, (_, chart) in enumerate(sweep.panels)
    }
    figures = {name: chart.figure for name, chart in (charts | panels_by_id).items()}
    data = {"table": table(study), "points": details(study), "charts": figures}
    script = PageScript(("charts.js", "study.js"), data, "inside" if figures else "none")
    return render("study.html.j2", values, ("page.css", "study.css"), script)


def charts_of(study: StudyResults) -> Mapping[str, Chart]:
    """All charts by their names: gaps, performance profiles, and latency over each varied field for each
    workload."""
    charts = _charts(study)
    for sweep in _sweeps(study, designs(study) if axes(study) else ()):
        for workload, chart in sweep.panels:
            name = re.sub(r"[^\w.=-]+", "_", f"latency-{sweep.title}-{workload}")
            charts[name] = chart
    return charts


def _charts(study: StudyResults) -> dict[str, Chart]:
    """The charts of gaps and profiles by name. A metric by which every plan is at its bound has
    none: the page has a sentence instead."""
    index = {row.key: number for number, row in enumerate(study.rows)}
    charts: dict[str, Chart] = {}
    for metric in study.metrics:
        scores = study.scores(metric)
        if any(gap > 0 for s in scores for gap in s.gaps):
            charts[f"{metric.key}-gaps"] = gap_strips(study, metric, index)
            if len(scores) > 1:
                charts[f"{metric.key}-profile"] = profile(study, metric)
    return charts


def _sweeps(study: StudyResults, swept: tuple[Design, ...]) -> list[SweepSection]:
    """The charts of latency over each varied field."""
    sweeps: list[SweepSection] = []
    timed = len({design.workload for design in swept if design.row})
    steps = field_steps(study, swept)
    for number, name in enumerate((*axes(study), *columns_of_designs(study))):
        if name == CHIP and len(axes(study)) > 1 and MEMORY in axes(study):
            continue
        if name != MEMORY and is_flat(name, steps):
            continue
        drawn = panels(study, name, swept)
        if drawn:
            title = {MEMORY: "SharedMemory", CHIP: "the chip"}.get(name, name)
            more = timed - len(drawn)
            sweeps.append(SweepSection(title, f"sweep-{number}", drawn, has_front(study, name), more))
    return sweeps


def _statuses(study: StudyResults) -> list[tuple[str, int]]:
    names = [row.status for row in study.rows]
    return sorted(((name, names.count(name)) for name in set(names)), key=lambda item: (-item[1], item[0]))


def _facts(study: StudyResults) -> list[tuple[str, str]]:
    facts = [("study", study.name), ("file", study.file), ("code", study.code)]
    texts = {each.label: dict.fromkeys(map(each.text, study.rows)) for each in settings(study)}
    facts += [(label, ", ".join(filter(None, values))) for label, values in texts.items()]
    return [(label, text) for label, text in facts if text]
