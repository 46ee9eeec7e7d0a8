"""The gaps of all plans: a strip of marks for each planner, and performance profiles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from chipmodel.answers.study_results import StudyMetric, StudyResults
from chipmodel.answers.study_row import Row
from chipmodel.answers.study_statistics import PlannerScore
from reports.chart import REST, Chart, Style, axis, labelled, series, style_of
from reports.colours import BLUE, VERMILION
from reports.study.scale import LEAST, gap_ticks, place
from reports.words import count, exact_size, percent

MOST_STRIPS = 40
"""Planners that are drawn."""
MOST_MARKS = 4000
"""Marks that are drawn: more would take a browser seconds. Of more, every strip shows an even sample."""
ROW_HEIGHT, FRAME_HEIGHT = 26, 110
"""Pixels of a row, and of the frame around the rows."""
SPREAD = 0.62
"""The share of a row's height over which marks are spread, so that equal gaps do not hide each other."""
GOLDEN = 0.6180339887
"""The golden ratio: its multiples modulo 1 are spread evenly, however many they are."""
Placed = tuple[int, Row, float]
"""The number of the strip, the row, its gap."""


def gap_strips(study: StudyResults, metric: StudyMetric, index: Mapping[str, int]) -> Chart:
    """A strip for each planner, the best on top, with a mark for each plan; ``index`` numbers the keys."""
    scores = [s for s in study.scores(metric) if s.gaps][:MOST_STRIPS]
    placed = [_placed(metric, score) for score in reversed(scores)]
    every = max(1, -(-sum(map(len, placed)) // MOST_MARKS))
    marks = [(level, row, gap) for level, each in enumerate(placed) for row, gap in _kept(each, every)]
    most = max((gap for _, _, gap in marks), default=0.0)
    best, others = [m for m in marks if m[2] <= 0], [m for m in marks if m[2] > 0]
    groups = (("at the bound", "circle", best), ("above the bound", "circle-open", others))
    traces = [_marks(study, metric, *group, index) for group in groups if group[2]]
    traces += [_halves(scores), _medians(scores)]
    left_out = len([s for s in study.scores(metric) if s.gaps]) - len(scores)
    remarks = [f"The {left_out} planners with the largest median gaps are not shown."] if left_out else []
    remarks += [f"One of every {every} marks is drawn."] if every > 1 else []
    height = FRAME_HEIGHT + ROW_HEIGHT * max(3, len(scores))
    return Chart(traces, _strip_layout(most, scores), height, " ".join(remarks))


def _placed(metric: StudyMetric, score: PlannerScore) -> list[tuple[Row, float]]:
    """The rows of a planner, of which several may be one case: the same buffers in more memory."""
    gaps = [(row, gap) for row in score.rows if (gap := metric.gap(row)) is not None]
    return sorted(gaps, key=lambda pair: pair[1])


def _kept(pairs: Sequence[tuple[Row, float]], every: int) -> list[tuple[Row, float]]:
    """An even sample that contains the largest gap."""
    return list(reversed(list(reversed(pairs))[::every]))


def _marks(
    study: StudyResults,
    metric: StudyMetric,
    name: str,
    symbol: str,
    placed: Sequence[Placed],
    index: Mapping[str, int],
) -> dict[str, Any]:
    shift = ((number * GOLDEN) % 1 - 0.5 for number in range(len(placed)))
    return series(
        name,
        "markers",
        [
            (round(place(gap), 4), round(level + SPREAD * by, 3))
            for (level, _, gap), by in zip(placed, shift, strict=True)
        ],
        [mark_text(study, metric, row) for _, row, _ in placed],
        Style(BLUE, symbol=symbol, more={"line": {"width": 1.5}}),
        customdata=[index[row.key] for _, row, _ in placed],
    )


def mark_text(study: StudyResults, metric: StudyMetric, row: Row) -> str:
    """What a mark says to a reader who points at it."""
    value, bound, gap = metric.value(row), metric.bound(row), metric.gap(row)
    if value is None or bound is None or gap is None:
        return ""
    where = [point for point in (row.point.chip, *(f"{n} {v}" for n, v in row.point.overrides)) if point]
    lines = [
        row.point.workload,
        *([", ".join(where)] if where else []),
        f"{study.label(row)}: {row.status}",
        f"{metric.noun} {_amount(metric, value)}",
        f"bound {_amount(metric, bound)}, gap {percent(gap)}",
    ]
    return "\n".join(lines)


def _amount(metric: StudyMetric, value: int) -> str:
    if metric.unit != "B":
        return f"{count(value)} {metric.unit}" if metric.unit != metric.noun else count(value)
    return exact_size(value)


def _halves(scores: Sequence[PlannerScore]) -> dict[str, Any]:
    """A thin bar over the middle half of the gaps of every planner with at least four."""
    points: list[tuple[float | None, float | None]] = []
    for level, score in enumerate(reversed(scores)):
        if len(score.gaps) >= 4:
            points += [*((round(place(each), 4), level) for each in score.quartiles), (None, None)]
    return series("middle half", "lines", points, (), REST, line={"width": 4}, opacity=0.7)


def _medians(scores: Sequence[PlannerScore]) -> dict[str, Any]:
    known = list(enumerate(reversed(scores)))
    marker = {"size": 18, "line": {"color": VERMILION, "width": 3}}
    return series(
        "median",
        "markers",
        [(round(place(s.median), 4), level) for level, s in known],
        [f"{s.planner}\nmedian gap {percent(s.median)} of {count(len(s.gaps))} cases" for _, s in known],
        Style(VERMILION, symbol="line-ns", more=marker),
    )


def _strip_layout(most: float, scores: Sequence[PlannerScore]) -> dict[str, Any]:
    names = {float(level): score.planner for level, score in enumerate(reversed(scores))}
    return {
        "xaxis": axis("gap to the bound", range=_range(most), **labelled(gap_ticks(most))),
        "yaxis": axis("", range=[-0.6, len(scores) - 0.4], **labelled(names)),
        "showlegend": True,
    }


def _range(most: float) -> list[float]:
    """From a little below 0 to a little above the largest gap, so that no mark is cut off."""
    width = place(max(most, LEAST))
    return [-0.03 * width, 1.04 * width]


def profile(study: StudyResults, metric: StudyMetric) -> Chart:
    """The performance profile: the share of points for which a planner's gap is at most a value."""
    scores = study.scores(metric)
    most = max((s.worst for s in scores if s.gaps), default=0.0)
    traces = [_profile_line(score, style_of(number), most) for number, score in enumerate(scores)]
    layout = {
        "xaxis": axis("gap to the bound, at most", range=_range(most), **labelled(gap_ticks(most))),
        "yaxis": axis("share of cases", range=[-0.015, 1.03], tickformat=".0%"),
        "showlegend": True,
    }
    return Chart(traces, layout, min(560, 300 + 14 * len(scores)))


def _profile_line(score: PlannerScore, style: Style, most: float) -> dict[str, Any]:
    """A line in steps; thin for planners that have no style of their own."""
    known = [
        (gap, score.within(gap)) for gap in dict.fromkeys([0.0, *(max(g, 0.0) for g in score.gaps), most])
    ]
    of = f"of {count(len(score.gaps))} cases"
    thin = style is REST
    more = {"line": {"shape": "hv", "width": 1 if thin else 2}, "opacity": 0.55 if thin else 1}
    return series(
        score.planner,
        "lines" if thin else "lines+markers",
        [(round(place(gap), 4), round(share, 4)) for gap, share in known],
        [
            f"{score.planner}\n{percent(share)} {of} within {percent(gap)} of the bound"
            for gap, share in known
        ],
        style,
        **more,
        **({} if thin else {"marker": {"maxdisplayed": 12}}),
    )
