"""Figures of Plotly as plain values, which pages, notebooks and picture files show alike.

The names ``ink``, ``soft``, ``rule``, ``paper`` and ``accent`` stand for colours of the page, which it has
two of: for light and for dark.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from html import escape
from typing import Any, TypeVar, cast

from chipmodel.records import dataclass
from reports.colours import BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILION

Traces = list[dict[str, Any]]
Axis = Mapping[str, Any]
T = TypeVar("T")
Marks = tuple[tuple[tuple[T, ...], ...], ...]
"""Some values for each mark, by trace and point."""


@dataclass(frozen=True, slots=True)
class Chart:
    """Traces and layout by Plotly's names; ``height`` in pixels, without the legend."""

    traces: Traces
    layout: Mapping[str, Any]
    height: int = 380
    remark: str = ""
    """A sentence for the hint above it."""
    needs: Marks[int] = ()
    """For each mark of a timeline, by trace and point, the marks that it depends on: trace, point, trace,
    point, ...; empty where that is not known."""
    ops: Marks[str] = ()
    """For each mark of a run, by trace and point, its ops, the one that it leads to first; of further traces
    none."""

    @property
    def figure(self) -> dict[str, Any]:
        """What Plotly draws."""
        return {"data": self.traces, "layout": {**COMMON, "height": self.height, **self.layout}}


NO_CHART = Chart([], {})
"""Nothing to draw."""
COMMON: Mapping[str, Any] = {"hovermode": "closest", "dragmode": "zoom", "barmode": "overlay", "bargap": 0}
"""What all charts share."""


LABEL_SIZE = 11
"""Pixels of the names inside of bars and boxes."""


@dataclass(frozen=True, slots=True)
class Style:
    """The looks of one series, which differs from others in shape as well as in colour."""

    colour: str
    dash: str = "solid"
    symbol: str = "circle"
    more: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Further settings of its marks."""


STYLES = (
    Style(BLUE),
    Style(ORANGE, "dash", "square"),
    Style(GREEN, "dot", "diamond"),
    Style(PURPLE, "dashdot", "triangle-up"),
    Style(SKY, "longdash", "cross"),
    Style(VERMILION, "longdashdot", "x"),
)
"""The styles of the first series of a chart; all others have grey lines."""
REST = Style(GREY)


def style_of(number: int) -> Style:
    """The style of a series by its number."""
    return STYLES[number] if number < len(STYLES) else REST


def series(
    name: str,
    mode: str,
    points: Sequence[tuple[Any, Any]],
    texts: Sequence[str] = (),
    style: Style = STYLES[0],
    **more: Any,
) -> dict[str, Any]:
    """Marks, lines or both; ``texts`` say to a reader who points at a mark what it is."""
    marker = {"color": style.colour, "symbol": style.symbol, "size": 8, **style.more}
    line = {"color": style.colour, "dash": style.dash, "width": 2, **more.pop("line", {})}
    drawn = {"line": line} if "lines" in mode else {}
    if "markers" in mode:
        drawn["marker"] = {"line": {"width": 1, "color": "paper"}, **marker, **more.pop("marker", {})}
    return {
        "type": "scatter",
        "mode": mode,
        "name": escape(name),
        "showlegend": bool(name),
        "x": [x for x, _ in points],
        "y": [y for _, y in points],
        **told(texts),
        **drawn,
        **more,
    }


def bars(
    spans: Sequence[tuple[float, float]],
    rows: Sequence[object],
    width: float | Sequence[float],
    marker: Mapping[str, Any],
    names: Sequence[str] | None = None,
    ink: str = "#14181c",
    **more: Any,
) -> dict[str, Any]:
    """A bar over each of ``spans``, its start and length, at its row; ``names`` are inside of the bars that
    are large enough."""
    inside = {
        "text": [escape(name) for name in names or ()],
        "textposition": "inside",
        "insidetextanchor": "middle",
        "textangle": 0,
        "textfont": {"color": ink, "size": LABEL_SIZE},
    }
    return {
        "type": "bar",
        "orientation": "h",
        "y": rows,
        "x": [length for _, length in spans],
        "base": [start for start, _ in spans],
        "width": width,
        "marker": marker,
        **(inside if names is not None else {}),
        **more,
    }


def told(texts: Sequence[str], titled: bool = False) -> dict[str, Any]:
    """What a reader sees who points at a mark: a text of lines, in which nothing is markup. The first line is
    bold where texts are ``titled``."""
    if not texts:
        return {"hoverinfo": "skip"}
    lines = [escape(text).replace("\n", "<br>") for text in texts]
    if titled:
        lines = [f"<b>{line.replace('<br>', '</b><br>', 1)}" for line in lines]
    return {"hovertext": lines, "hovertemplate": "%{hovertext}<extra></extra>"}


def axis(title: str, **more: Any) -> dict[str, Any]:
    """A linear axis with that title."""
    return {"title": {"text": escape(title)}, "zeroline": False, **more}


def log_axis(title: str, ticks: Mapping[float, str] | None = None) -> dict[str, Any]:
    """A logarithmic axis, with labels at ``ticks`` or, without any, at Plotly's own round numbers."""
    return axis(title, type="log", **(labelled(ticks) if ticks else {"tickformat": "~s"}))


def labelled(ticks: Mapping[float, str]) -> dict[str, Any]:
    """The labels of an axis by their places."""
    return {"tickvals": list(ticks), "ticktext": [escape(text) for text in ticks.values()]}


SECONDS = {
    unit * 10**power: f"{10**power:,} {name}"
    for unit, name, most in ((1e-6, "µs", 3), (1e-3, "ms", 3), (1.0, "s", 7))
    for power in range(most)
}
"""Labels of a logarithmic axis of time."""
LIGHT = {"ink": "#1c2127", "soft": "#5b6570", "rule": "#dde1e6", "paper": "#ffffff", "accent": "#0072b2"}
"""Colours of the page on paper."""


def in_light(value: Any) -> Any:
    """``value`` with the colours of a light page."""
    if isinstance(value, Mapping):
        pairs = cast("Mapping[str, Any]", value).items()
        named = {
            key: LIGHT.get(each) for key, each in pairs if key.endswith("color") and isinstance(each, str)
        }
        return {key: named.get(key) or in_light(each) for key, each in pairs}
    if isinstance(value, list):
        return [in_light(each) for each in value]  # pyright: ignore[reportUnknownVariableType]
    return value
