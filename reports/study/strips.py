"""How far every plan is from the bound: a strip of marks per planner, and the profile of all planners."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from itertools import chain
from statistics import quantiles

from chipmodel.model.study_row import Row
from reports.run.figures import BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILION
from reports.study.chart import Chart, Mark, axis
from reports.study.data import ANSWERED, JOIN, PEAK, Metric, Standing, Study
from reports.study.scale import HALF, LEAST, NARROW, WIDE, Ticks, gap_ticks, place
from reports.words import count, percent, size

MOST_STRIPS = 40
MOST_MARKS = 4000
"""More would take a browser seconds; then every strip shows an even choice of its marks."""
ROW_HEIGHT, TWO_LINES, FRAME_HEIGHT = 26, 34, 66
"""Pixels: of a row, of one whose name has two lines on a narrow screen, and of what is around them."""
SPREAD = 0.62
"""Of a row's height, over which marks of the same gap lie beside one another."""
GOLDEN = 0.6180339887
"""Multiples of it, modulo 1, are spread evenly however many they are."""
Placed = tuple[int, Row, float]
"""The number of its strip, a row, its gap."""

LINES = (
    Mark("", BLUE, dash="solid", symbol="circle"),
    Mark("", ORANGE, dash="dash", symbol="square"),
    Mark("", GREEN, dash="dot", symbol="diamond"),
    Mark("", PURPLE, dash="dashdot", symbol="triangle-up"),
    Mark("", SKY, dash="longdash", symbol="cross"),
    Mark("", VERMILION, dash="longdashdot", symbol="x"),
)
"""How the first planners are drawn; all others are thin and grey."""


def gap_strips(study: Study, metric: Metric, index: Mapping[str, int]) -> Chart:
    """A row per planner, the best at the top, and a mark per plan; ``index`` gives each key its number."""
    standings = [s for s in study.standings(metric) if s.gaps][:MOST_STRIPS]
    every = max(1, -(-sum(len(s.gaps) for s in standings) // MOST_MARKS))
    marks = [
        (level, row, gap)
        for level, standing in enumerate(reversed(standings))
        for row, gap in _kept(_placed(study, metric, standing), every)
    ]
    most = max((gap for _, _, gap in marks), default=0.0)
    groups = _groups(metric, marks)
    kinds = [(mark, found) for mark, found in groups if found]
    traces = [_marks(study, metric, mark, found, index) for mark, found in kinds]
    traces += [_halves(standings), _medians(standings)]
    left_out = len([s for s in study.standings(metric) if s.gaps]) - len(standings)
    remarks = [f"The {left_out} planners with the largest median gaps are left out."] if left_out else []
    remarks += [f"One in {every} marks is drawn."] if every > 1 else []
    return Chart(
        {"data": traces, "layout": _strip_layout(most, standings)},
        (
            *(mark for mark, _ in kinds),
            Mark("middle half", GREY, dash="solid"),
            Mark("median", VERMILION, symbol="tick"),
        ),
        FRAME_HEIGHT + _row_height(standings) * max(3, len(standings)),
        {"xaxis": axis(gap_ticks(most, NARROW)), "yaxis": _names(standings, "<br>")},
        " ".join(remarks),
    )


def _row_height(standings: Sequence[Standing]) -> int:
    return TWO_LINES if any(JOIN in standing.planner for standing in standings) else ROW_HEIGHT


def _groups(metric: Metric, marks: Sequence[Placed]) -> tuple[tuple[Mark, list[Placed]], ...]:
    """What nobody can beat, and the rest."""
    if metric is PEAK:
        words, best = ("proven smallest", "not proven"), [m for m in marks if m[1].status in ANSWERED]
    else:
        words, best = ("at the bound", "above the bound"), [m for m in marks if m[2] <= 0]
    met = {id(mark) for mark in best}
    rest = [mark for mark in marks if id(mark) not in met]
    return (Mark(words[0], BLUE, symbol="circle"), best), (Mark(words[1], BLUE, symbol="circle-open"), rest)


def _placed(study: Study, metric: Metric, standing: Standing) -> list[tuple[Row, float]]:
    found = [(row, gap) for row in standing.rows if (gap := study.gap(metric, row)) is not None]
    return sorted(found, key=lambda pair: pair[1])


def _kept(pairs: Sequence[tuple[Row, float]], every: int) -> list[tuple[Row, float]]:
    """An even choice, with the largest in it."""
    return list(reversed(list(reversed(pairs))[::every]))


def _marks(
    study: Study, metric: Metric, mark: Mark, found: Sequence[Placed], index: Mapping[str, int]
) -> dict[str, object]:
    shift = ((number * GOLDEN) % 1 - 0.5 for number in range(len(found)))
    return {
        "type": "scatter",
        "mode": "markers",
        "name": mark.label,
        "x": [round(place(gap), 4) for _, _, gap in found],
        "y": [round(level + SPREAD * by, 3) for (level, _, _), by in zip(found, shift, strict=True)],
        "marker": {"color": mark.colour, "symbol": mark.symbol, "size": 8, "line": {"width": 1.5}},
        "customdata": [index[row.key] for _, row, _ in found],
        "text": [mark_text(study, metric, row) for _, row, _ in found],
        "hovertemplate": "%{text}<extra></extra>",
    }


def mark_text(study: Study, metric: Metric, row: Row) -> str:
    """What a mark says on hover; names are escaped, because plotly reads tags."""
    value, bound, gap = metric.value(row), study.bound(metric, row), study.gap(metric, row)
    if value is None or bound is None or gap is None:
        return ""
    where = [point for point in (row.point.chip, *(f"{n} {v}" for n, v in row.point.overrides)) if point]
    lines = [
        f"<b>{escape(row.point.workload)}</b>",
        *([escape(", ".join(where))] if where else []),
        f"{escape(study.label(row))}: {row.status}",
        f"{metric.noun} {_amount(metric, value)}",
        f"bound {_amount(metric, bound)}, gap {percent(gap)}",
    ]
    return "<br>".join(lines)


def _amount(metric: Metric, value: int) -> str:
    if metric.unit != "B":
        return f"{count(value)} {metric.unit}" if metric.unit != metric.noun else count(value)
    return f"{count(value)} B" + (f" ({size(value)})" if value >= 1024 else "")


def _halves(standings: Sequence[Standing]) -> dict[str, object]:
    """A thin bar over the middle half of the gaps of every planner with enough of them."""
    xs: list[float | None] = []
    ys: list[float | None] = []
    for level, standing in enumerate(reversed(standings)):
        if len(standing.gaps) >= 4:
            low, _, high = quantiles(standing.gaps, n=4, method="inclusive")
            xs += [round(place(low), 4), round(place(high), 4), None]
            ys += [level, level, None]
    line = {"color": GREY, "width": 4}
    return {
        "type": "scatter",
        "mode": "lines",
        "x": xs,
        "y": ys,
        "line": line,
        "opacity": 0.7,
        "hoverinfo": "skip",
    }


def _medians(standings: Sequence[Standing]) -> dict[str, object]:
    known = [(level, s) for level, s in enumerate(reversed(standings)) if s.median <= s.worst]
    return {
        "type": "scatter",
        "mode": "markers",
        "x": [round(place(s.median), 4) for _, s in known],
        "y": [level for level, _ in known],
        "marker": {
            "color": VERMILION,
            "symbol": "line-ns",
            "size": 18,
            "line": {"color": VERMILION, "width": 3},
        },
        "text": [
            f"<b>{escape(s.planner)}</b><br>median gap {percent(s.median)} of {count(s.counted)} points"
            for _, s in known
        ],
        "hovertemplate": "%{text}<extra></extra>",
    }


def _strip_layout(most: float, standings: Sequence[Standing]) -> dict[str, object]:
    x: dict[str, object] = {
        "title": {"text": "above the bound"},
        "range": _range(most),
        **axis(gap_ticks(most, WIDE)),
    }
    y: dict[str, object] = {
        "range": [-0.6, len(standings) - 0.4],
        **_names(standings, JOIN),
        "fixedrange": True,
    }
    return {"xaxis": x, "yaxis": y, "hovermode": "closest"}


def _range(most: float) -> list[float]:
    """From a little below 0 to a little above the largest gap, so that no mark is cut."""
    width = place(max(most, LEAST))
    return [-0.03 * width, 1.04 * width]


def _names(standings: Sequence[Standing], join: str) -> dict[str, object]:
    names = [escape(s.planner).replace(JOIN, join) for s in reversed(standings)]
    return {"tickvals": list(range(len(names))), "ticktext": names}


def profile(study: Study, metric: Metric) -> Chart:
    """The share of its points for which a planner is within a gap, over the gap."""
    standings = study.standings(metric)
    most = max((s.worst for s in standings if s.gaps), default=0.0)
    styles = [LINES[k] if k < len(LINES) else Mark("", GREY) for k in range(len(standings))]
    traces = [_profile_line(s, style, most) for s, style in zip(standings, styles, strict=True)]
    named = [style.named(s.planner) for s, style in zip(standings[: len(LINES)], styles, strict=False)]
    rest = len(standings) - len(named)
    legend = (
        *named,
        *([Mark(f"{rest} other{'s' * (rest != 1)}", GREY, dash="solid", traces=rest)] if rest else []),
    )
    x = {"title": {"text": "within so much of the bound"}, "range": _range(most)}
    y = {"title": {"text": "share of points"}, "range": [-0.015, 1.03], **Ticks(*_SHARES).axis()}
    return Chart(
        {
            "data": traces,
            "layout": {"xaxis": {**x, **axis(gap_ticks(most, HALF))}, "yaxis": y, "hovermode": "closest"},
        },
        legend,
        min(560, 300 + 14 * len(standings)),
        {"xaxis": axis(gap_ticks(most, NARROW))},
        "",
    )


_SHARES = ((0.0, 0.25, 0.5, 0.75, 1.0), ("0%", "25%", "50%", "75%", "100%"))


def _profile_line(standing: Standing, style: Mark, most: float) -> dict[str, object]:
    gaps = [
        gap
        for gap, after in zip(standing.gaps, chain(standing.gaps[1:], [None]), strict=True)
        if gap != after
    ]
    steps: Iterable[float] = dict.fromkeys([0.0, *(max(gap, 0.0) for gap in gaps), most])
    known = [(gap, standing.within(gap)) for gap in steps]
    thin = style.colour == GREY
    return {
        "type": "scatter",
        "mode": "lines" if thin else "lines+markers",
        "name": standing.planner,
        "x": [round(place(gap), 4) for gap, _ in known],
        "y": [round(share, 4) for _, share in known],
        "line": {"shape": "hv", "width": 1 if thin else 2, "color": style.colour, "dash": style.dash},
        "marker": {"symbol": style.symbol, "size": 7, "color": style.colour, "maxdisplayed": 12},
        "opacity": 0.55 if thin else 1,
        "text": [
            f"<b>{escape(standing.planner)}</b><br>{percent(share)} of {count(standing.counted)} points "
            f"within {percent(gap)} of the bound"
            for gap, share in known
        ],
        "hovertemplate": "%{text}<extra></extra>",
    }
