"""The gap of the best plan so far over time, of planners that search."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from math import inf, log10
from statistics import median

from chipmodel.answers.study_results import PEAK, StudyResults
from chipmodel.answers.study_row import Improved, Row
from chipmodel.answers.study_statistics import PlannerScore
from reports.study.chart import SeriesStyle, StudyChart, axis, line_styles, lines_legend, trace
from reports.study.scale import APART, AxisLabels, gap_ticks, outside_in, place, spread
from reports.words import count, percent, seconds_text

LEAST_SECONDS = 1e-4
"""The start of the logarithmic axis; earlier plans are drawn here."""
MOST_STEPS = 160
"""Points of a median's line."""


def searching(study: StudyResults) -> tuple[PlannerScore, ...]:
    """The planners that reported intermediate plans, in the order of the page."""
    found = study.scores(PEAK)
    return tuple(s for s in found if any(_steps(row) for row in s.rows))


def over_time(study: StudyResults) -> StudyChart:
    """The median gap over the points of each planner. A point without a plan yet has an infinite gap, so a
    line begins when half of the points have one."""
    scores = searching(study)
    curves = [_curve(study, score) for score in scores]
    known = [gap for curve in curves for _, gap in curve]
    span = _span([seconds for curve in curves for seconds, _ in curve])
    most = max(known, default=0.0)
    styles = line_styles(len(curves))
    traces = [_trace(s, style, curve) for s, style, curve in zip(scores, styles, curves, strict=True)]
    return StudyChart(
        {"data": traces, "layout": _layout(span, most)},
        lines_legend([s.planner for s in scores]),
        360,
    )


def _steps(row: Row) -> list[Improved]:
    return [step for step in row.trajectory if step.peak_bytes is not None]


def _curve(study: StudyResults, score: PlannerScore) -> list[tuple[float, float]]:
    """Seconds and the median gap from then on, at each change."""
    runs = [run for row in score.rows if (run := _run(study, row))]
    if not runs:
        return []
    times = _thinned(sorted({seconds for run in runs for seconds, _ in run}))
    curve: list[tuple[float, float]] = []
    for time in times:
        gap = median(_at(run, time) for run in runs)
        if gap < inf and (not curve or gap != curve[-1][1]):
            curve.append((time, gap))
    end = max(row.packer_seconds or row.seconds for row in score.rows)
    return [*curve, (max(end, curve[-1][0]), curve[-1][1])] if curve else []


def _run(study: StudyResults, row: Row) -> list[tuple[float, float]]:
    bound = PEAK.bound(row)
    if not bound:
        return []
    return [(max(s.seconds, LEAST_SECONDS), s.peak_bytes / bound - 1) for s in _steps(row) if s.peak_bytes]


def _at(run: list[tuple[float, float]], time: float) -> float:
    found = bisect_right(run, time, key=lambda step: step[0])
    return run[found - 1][1] if found else inf


def _thinned(times: list[float]) -> list[float]:
    every = max(1, -(-len(times) // MOST_STEPS))
    return [*times[::every], *([times[-1]] if every > 1 else [])]


def _trace(
    score: PlannerScore, style: SeriesStyle, curve: Sequence[tuple[float, float]]
) -> dict[str, object]:
    number = count(sum(bool(_steps(row)) for row in score.rows))
    return trace(
        "lines+markers" if style.symbol else "lines",
        [round(seconds, 6) for seconds, _ in curve],
        [round(place(gap), 4) for _, gap in curve],
        [
            f"{score.planner}\nmedian gap {percent(gap)} after {seconds_text(seconds)}, {number} points"
            for seconds, gap in curve
        ],
        name=score.planner,
        line={"shape": "hv", "width": 2, "color": style.colour, "dash": style.dash or "solid"},
        marker={"symbol": style.symbol or "circle", "size": 7, "color": style.colour, "maxdisplayed": 12},
    )


def _span(seconds: Sequence[float]) -> tuple[float, float]:
    """From the first plan to the last answer, at least a power of ten."""
    first = min(seconds, default=LEAST_SECONDS)
    return first, max([first * 10, *seconds])


def _layout(span: tuple[float, float], most: float) -> dict[str, object]:
    ends = log10(span[0]) - 0.05, log10(span[1]) + 0.05
    powers = [10.0**power for power in range(-4, 8) if ends[0] <= power <= ends[1]]
    seconds = spread(outside_in(powers), log10, _power_text, ends, APART)
    return {
        "xaxis": {
            "type": "log",
            "title": {"text": "time of the planner"},
            "range": list(ends),
            **axis(AxisLabels(tuple(10.0**at for at in seconds.places), seconds.texts)),
        },
        "yaxis": {
            "title": {"text": "best plan so far, gap to the bound"},
            "range": [-0.06, place(max(most, 0.01)) * 1.06],
            **axis(gap_ticks(most)),
        },
    }


def _power_text(seconds: float) -> str:
    if seconds < 0.9:
        return f"{seconds * 1000:g} ms"
    return f"{seconds:,.0f} s"
