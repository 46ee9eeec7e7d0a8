"""A study as one HTML file that needs no network: what was asked, the answer, and every point's own page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from chipmodel.files.sizes import format_bytes
from reports.compare.rows import seconds_text
from reports.run.page import Card, plotly_script, script_json
from reports.study.chart import Chart, Mark
from reports.study.data import PEAK, Metric, Standing, Study, failures, swept_values
from reports.study.design import CHIP, MEMORY, Design, Enough, axes, designs, enough, setting_words
from reports.study.design_chart import legend, panels, series_names
from reports.study.strips import gap_strips, profile
from reports.study.table import columns, details, table
from reports.study.time import over_time, searching, trajectories
from reports.study.words import answer, asked, best_words, gap_words
from reports.template import render, static
from reports.words import count, percent, ratio

FIRST_ROWS = 500
"""Rows that are in the page from the start; the script adds more."""
SCRIPTS = ("sorting.js", "study_charts.js", "study.js")


@dataclass(frozen=True, slots=True)
class Sweep:
    """The charts of one swept field."""

    title: str
    ident: str
    panels: tuple[tuple[str, str, Chart], ...]
    """Workload, id, chart."""
    legend: tuple[Mark, ...]
    combined: str
    """What the lines stand for, in a sentence."""
    more: int
    """Workloads without a chart."""


def render_study(study: Study) -> str:
    """The whole page as text: the same for the same rows. Raises BadInput without plotly's script."""
    return render("study.html.j2", _context(study))


def _context(study: Study) -> dict[str, object]:
    from markupsafe import Markup

    index = {row.key: number for number, row in enumerate(study.rows)}
    found = designs(study) if axes(study) else ()
    sweeps = _sweeps(study, found)
    charts = _charts(study, index)
    search = searching(study)
    lines = {s.planner: number for number, s in enumerate(search)}
    questions = trajectories(study, lines)
    data = {
        "charts": {name: _sent(chart) for name, chart in charts.items()}
        | {ident: _sent(chart) for sweep in sweeps for _, ident, chart in sweep.panels},
        "planners": [s.planner for s in search],
        "questions": questions,
        "table": table(study),
        "points": details(study),
    }
    return {
        "study": study,
        "title": study.title or study.name,
        "asked": asked(study) if study.rows else "",
        "answer": answer(study),
        "cards": _cards(study),
        "charts": charts,
        "metrics": study.metrics,
        "standings": _standing_rows(study),
        "standing_heads": STANDING_HEADS,
        "questions": [question["label"] for question in questions],
        "sweeps": sweeps,
        "enough": [_enough_cells(each, study) for each in enough(found)],
        "failures": failures(study),
        "facts": _facts(study),
        "columns": columns(study),
        "rows": study.rows[:FIRST_ROWS],
        "statuses": _statuses(study),
        "data": Markup(script_json(data)),
        "style": Markup("".join(static(name) for name in ("page.css", "study.css"))),
        "script": Markup("".join(static(name) for name in SCRIPTS)),
        "plotly": Markup(plotly_script() if charts or sweeps else ""),
    }


def _sent(chart: Chart) -> dict[str, object]:
    return {**chart.figure, "narrow": chart.narrow}


def _charts(study: Study, index: Mapping[str, int]) -> dict[str, Chart]:
    """Those that have something to show: where every plan is at its bound a sentence says more."""
    charts: dict[str, Chart] = {}
    for metric in study.metrics:
        standings = study.standings(metric)
        if any(gap > 0 for s in standings for gap in s.gaps):
            charts[f"{metric.key}-gaps"] = gap_strips(study, metric, index)
            if len(standings) > 1:
                charts[f"{metric.key}-profile"] = profile(study, metric)
    if PEAK in study.metrics and searching(study):
        charts["time"] = over_time(study)
    return charts


def _cards(study: Study) -> list[Card]:
    rows = study.rows
    asked_for = max(study.points, len(rows))
    cards = [Card("Points", count(len(rows)), f"of {count(asked_for)} asked", ratio(len(rows), asked_for))]
    if not rows:
        return cards
    proven = sum(row.status == "optimal" for row in rows)
    cards.append(
        Card(
            "Proven optimal",
            count(proven),
            f"{percent(proven / len(rows))} of the points",
            proven / len(rows),
        )
    )
    if study.metrics:
        noun = "peak" if PEAK in study.metrics else "run"
        cards.append(Card("Questions settled", best_words(study), f"whose best {noun} no plan can beat"))
    cards.append(Card("Planners", count(len(study.planners)), _on(study)))
    cards.append(
        Card("Failed", count(len(study.failed)), "points with an error" if study.failed else "no errors")
    )
    spent = sum(row.seconds for row in rows)
    cards.append(Card("Time spent", _spent(spent), f"{seconds_text(spent / len(rows))} a point, on average"))
    return cards


def _on(study: Study) -> str:
    number = len({row.point.workload for row in study.rows})
    return f"on {count(number)} workload{'' if number == 1 else 's'}"


def _spent(seconds: float) -> str:
    if seconds < 120:
        return seconds_text(seconds)
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


STANDING_HEADS = ("median gap", "worst", "at bound", "no plan", "points", "time")


def standing_cells(standing: Standing) -> tuple[str, ...]:
    """A planner's figures under ``STANDING_HEADS``, as the page prints them."""
    return (
        gap_words(standing.median),
        gap_words(standing.worst),
        count(standing.at_bound),
        count(standing.without) if standing.without else "",
        count(len(standing.rows)),
        seconds_text(standing.seconds),
    )


def _standing_rows(study: Study) -> list[tuple[Metric, list[tuple[str, int, tuple[str, ...]]]]]:
    return [
        (m, [(s.planner, s.proven, standing_cells(s)) for s in study.standings(m)]) for m in study.metrics
    ]


def _sweeps(study: Study, found: tuple[Design, ...]) -> list[Sweep]:
    sweeps: list[Sweep] = []
    timed = len({design.workload for design in found if design.row})
    for number, name in enumerate(axes(study)):
        if name == CHIP and len(axes(study)) > 1 and MEMORY in axes(study):
            continue
        drawn = panels(study, name, found)
        if drawn:
            names = series_names(study, name, found)
            ids = tuple((workload, f"sweep-{number}-{k}", chart) for k, (workload, chart) in enumerate(drawn))
            title = {MEMORY: "SharedMemory", CHIP: "the chip"}.get(name, name)
            marks, words = legend(names, name == MEMORY), _combined(study, names)
            sweeps.append(Sweep(title, f"sweep-{number}", ids, marks, words, timed - len(ids)))
    return sweeps


def _combined(study: Study, names: tuple[str, ...]) -> str:
    several = len(study.planners) > 1
    if names == ("",):
        rest = "of all other settings" if len(axes(study)) > 1 else ""
        what = " and ".join(filter(None, (rest, "of all planners" if several else "")))
        return f"Each value has the best {what}." if what else ""
    by_planner = any(planner in name for name in names for planner in study.planners)
    return "Each point has its best planner." if several and not by_planner else ""


def _enough_cells(each: Enough, study: Study) -> dict[str, object]:
    named = each.workload.endswith(f" on {each.smallest.value(CHIP)}")
    return {
        "workload": each.workload,
        "smallest": format_bytes(each.smallest.bytes),
        "smallest_ms": f"{each.smallest.milliseconds:,.3f}",
        "above": "the best" if each.above == 0 else percent(each.above),
        "best": format_bytes(each.best.bytes),
        "best_ms": f"{each.best.milliseconds:,.3f}",
        "settings": setting_words(each.smallest, MEMORY, *([CHIP] if named else [])),
        "least": format_bytes(each.least.bytes),
        "planner": "" if each.smallest.row is None else study.label(each.smallest.row),
        "key": "" if each.smallest.row is None else each.smallest.row.key,
    }


def _statuses(study: Study) -> list[tuple[str, int]]:
    names = [row.status for row in study.rows]
    return sorted(((name, names.count(name)) for name in set(names)), key=lambda item: (-item[1], item[0]))


def _facts(study: Study) -> list[tuple[str, str]]:
    points = [row.point for row in study.rows]
    facts = [("Study", study.name), ("File", study.file), ("Code", study.code)]
    for label, name in (
        ("Chips", "chip"),
        ("Packers", "packer"),
        ("Mergers", "merge"),
        ("Streamers", "streamer"),
    ):
        facts.append((label, ", ".join(dict.fromkeys(v for p in points if (v := str(getattr(p, name)))))))
    facts.append(("Seeds", ", ".join(map(str, dict.fromkeys(p.seed for p in points)))))
    facts += [(name, ", ".join(values)) for name, values in swept_values(study).items()]
    facts.append(("Workloads", ", ".join(dict.fromkeys(p.workload for p in points))))
    return [(label, text) for label, text in facts if text]
