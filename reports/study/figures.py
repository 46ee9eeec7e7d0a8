"""The charts of a study as SVG, on its page and as files for papers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, zip_longest
from math import ceil, floor, log10
from typing import Any, cast

from reports.study.chart import SeriesStyle, StudyChart
from reports.svg_chart import ChartAxis, Point, stepped
from reports.template import render_part

WIDTH, RIGHT, TOP, BOTTOM = 640, 14, 10, 44
"""The width of a figure and its margins, in pixels."""
LETTER, LINE = 6.4, 18
"""The width of a letter and the height of a line of text, in pixels (assumed, of 12 px sans-serif)."""
SAMPLE = 34
"""Pixels of a line or mark in the legend."""
LABELS = 5
"""Labels of an axis without labels of its own, about."""
DASHES = {"dash": "6 4", "dot": "2 3", "dashdot": "6 3 2 3", "longdash": "10 4", "longdashdot": "10 3 2 3"}
SHAPES = {
    "circle": "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z",
    "square": "M-3.5-3.5h7v7h-7z",
    "diamond": "M0-5L5 0 0 5-5 0z",
    "triangle-up": "M0-4.5L4.5 3.5h-9z",
    "cross": "M-1.5-4.5h3v3h3v3h-3v3h-3v-3h-3v-3h3z",
    "x": "M-3.5-3.5l7 7m0-7l-7 7",
    "tick": "M0-4v8",
    "line-ns": "M0-4v8",
}
"""Marks around 0, 8 pixels high, by Plotly's names."""
STROKED = ("x", "tick", "line-ns")
"""Marks without an area."""


@dataclass(frozen=True, slots=True)
class FigureLine:
    """A line in pixels."""

    corners: str
    colour: str
    width: float
    dash: str
    opacity: float


@dataclass(frozen=True, slots=True)
class FigureMark:
    """A mark at a place in pixels."""

    x: float
    y: float
    shape: str
    scale: float
    fill: str
    stroke: str
    width: float
    title: str = ""
    """What a reader sees who points at it."""
    row: int | None = None
    """The number of its point in the study."""


@dataclass(frozen=True, slots=True)
class LegendEntry:
    """A sample, drawn from ``x`` on, and its text."""

    x: float
    y: float
    line: FigureLine | None
    mark: FigureMark | None
    text: str


@dataclass(frozen=True, slots=True)
class _Plot:
    """Axes within a figure; sizes in pixels."""

    x: ChartAxis
    y: ChartAxis
    left: float
    height: int

    @property
    def right(self) -> int:
        return WIDTH - RIGHT

    @property
    def bottom(self) -> int:
        return self.height - BOTTOM

    def across(self, value: float) -> float:
        return round(self.left + self.x.share(value) * (self.right - self.left), 1)

    def up(self, value: float) -> float:
        return round(self.bottom - self.y.share(value) * (self.bottom - TOP), 1)


def figure_svg(chart: StudyChart, legend: Sequence[SeriesStyle]) -> str:
    """One chart with its legend below. A style sheet may change the colours of what is no mark or line."""
    figure = cast("Mapping[str, Any]", chart.figure)
    traces = cast("Sequence[Mapping[str, Any]]", figure["data"])
    layout = cast("Mapping[str, Mapping[str, Any]]", figure["layout"])
    x, y = (_axis(layout[f"{name}axis"], [t[name] for t in traces]) for name in "xy")
    left = LINE + 8 + LETTER * max((len(text) for _, text in y.labels), default=0)
    plot = _Plot(x, y, round(left), chart.height)
    entries = list(_legend(legend, plot))
    values: dict[str, object] = {
        "plot": plot,
        "width": WIDTH,
        "top": TOP,
        "height": max((round(e.y) for e in entries), default=plot.height - LINE // 2) + LINE // 2,
        "lines": [line for trace in traces for line in _lines(trace, plot)],
        "marks": [mark for trace in traces for mark in _marks(trace, plot)],
        "legend": entries,
    }
    return render_part("figure.svg.j2", values)


def _axis(asked: Mapping[str, Any], values: Sequence[Sequence[float | None]]) -> ChartAxis:
    """Plotly's axis; where it has no ends, from 0 to the largest of ``values``."""
    log = asked.get("type") == "log"
    title = asked.get("title", {}).get("text", "")
    labels = tuple(zip(asked.get("tickvals", ()), asked.get("ticktext", ()), strict=True))
    if "range" in asked:
        low, high = asked["range"]
        return ChartAxis(title, (10**low, 10**high) if log else (low, high), labels, log)
    most = max((value for each in values for value in each if value is not None), default=1.0)
    step = _step(most / LABELS)
    numbers = [step * k for k in range(floor(most * 1.05 / step) + 1)]
    return ChartAxis(title, (0.0, most * 1.05), tuple((n, f"{n:,.6g}") for n in numbers), False)


def _step(least: float) -> float:
    """The smallest of 1, 2 and 5 times a power of ten that is at least that."""
    power = 10.0 ** floor(log10(least)) if least > 0 else 1.0
    return next(each * power for each in (1, 2, 5, 10) if each * power >= least)


def _lines(trace: Mapping[str, Any], plot: _Plot) -> Iterator[FigureLine]:
    if "lines" not in trace["mode"]:
        return
    style = trace.get("line", {})
    points: list[tuple[Any, Any]] = list(zip(trace["x"], trace["y"], strict=True))
    for gap, part in groupby(points, lambda point: None in point):
        if not gap:
            corners = _corners(tuple(part), style.get("shape") == "hv", plot)
            dash = DASHES.get(style.get("dash", ""), "")
            yield FigureLine(corners, style["color"], style.get("width", 2), dash, trace.get("opacity", 1))


def _corners(points: tuple[Point, ...], steps: bool, plot: _Plot) -> str:
    return " ".join(f"{plot.across(x)},{plot.up(y)}" for x, y in (stepped(points) if steps else points))


def _marks(trace: Mapping[str, Any], plot: _Plot) -> Iterator[FigureMark]:
    if "markers" not in trace["mode"]:
        return
    style, width = trace["marker"], trace["marker"].get("line", {}).get("width", 1)
    told = zip_longest(trace["x"], trace["y"], trace["text"], trace.get("customdata", ()))
    points = [point for point in told if None not in point[:2]]
    every = ceil(len(points) / style["maxdisplayed"]) if style.get("maxdisplayed") and points else 1
    for x, y, text, row in points[::every]:
        made = _mark(plot.across(x), plot.up(y), style["symbol"], style["color"], style["size"] / 8, width)
        yield replace(made, title=text or "", row=row)


def _mark(x: float, y: float, symbol: str, colour: str, scale: float, width: float) -> FigureMark:
    plain = symbol.removesuffix("-open")
    hollow = plain != symbol or plain in STROKED
    shape = SHAPES.get(plain, SHAPES["circle"])
    return FigureMark(x, y, shape, scale, "none" if hollow else colour, colour, round(width / scale, 2))


def _legend(styles: Sequence[SeriesStyle], plot: _Plot) -> Iterator[LegendEntry]:
    x, y = plot.left, float(plot.height + LINE // 2)
    for style in styles:
        width = SAMPLE + LETTER * (len(style.label) + 2)
        if x + width > plot.right and x > plot.left:
            x, y = plot.left, y + LINE
        corners = f"{x},{y} {x + SAMPLE - 8},{y}"
        line = FigureLine(corners, style.colour, 2, DASHES.get(style.dash, ""), 1) if style.dash else None
        middle = x + (SAMPLE - 8) / 2
        mark = _mark(middle, y, style.symbol, style.colour, 1, 1.5) if style.symbol else None
        yield LegendEntry(round(x, 1), y, line, mark, style.label)
        x = round(x + width, 1)
