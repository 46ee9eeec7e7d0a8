"""A chart of a study: traces and axes by Plotly's names, which ``figures`` draws as SVG, and a legend."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from reports.colours import BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILION
from reports.study.scale import AxisLabels
from reports.words import plural


@dataclass(frozen=True, slots=True)
class SeriesStyle:
    """The name and the looks of one kind of marks or lines, which differ in shape as well as in colour."""

    label: str
    colour: str
    dash: str = ""
    """Plotly's name of the line's dashes; empty for marks alone."""
    symbol: str = ""

    def named(self, label: str) -> SeriesStyle:
        """The same style for a line with a name."""
        return replace(self, label=label, dash=self.dash or "solid")


@dataclass(frozen=True, slots=True)
class StudyChart:
    """Traces and axes of one chart, with its legend."""

    figure: Mapping[str, object]
    legend: tuple[SeriesStyle, ...]
    height: int
    """In pixels, without the legend."""
    remark: str = ""


def axis(ticks: AxisLabels) -> dict[str, object]:
    """The settings of an axis with these labels."""
    return {"tickvals": [round(place, 4) for place in ticks.places], "ticktext": list(ticks.texts)}


def trace(
    mode: str, x: Sequence[float | None], y: Sequence[object], texts: Sequence[str] = (), **more: object
) -> dict[str, object]:
    """Points, perhaps with a text for each, which a reader sees who points at its mark."""
    return {"mode": mode, "x": x, "y": y, "text": texts, **more}


LINES = (
    SeriesStyle("", BLUE, dash="solid", symbol="circle"),
    SeriesStyle("", ORANGE, dash="dash", symbol="square"),
    SeriesStyle("", GREEN, dash="dot", symbol="diamond"),
    SeriesStyle("", PURPLE, dash="dashdot", symbol="triangle-up"),
    SeriesStyle("", SKY, dash="longdash", symbol="cross"),
    SeriesStyle("", VERMILION, dash="longdashdot", symbol="x"),
)
"""The styles of the first planners; all others have grey lines."""


def line_styles(number: int) -> list[SeriesStyle]:
    """Styles for that many lines, in their order."""
    return [LINES[k] if k < len(LINES) else SeriesStyle("", GREY, dash="solid") for k in range(number)]


def lines_legend(names: Sequence[str]) -> tuple[SeriesStyle, ...]:
    """The legend of lines in ``line_styles``: the first by name, all others together."""
    named = [style.named(name) for style, name in zip(LINES, names, strict=False)]
    rest = len(names) - len(named)
    if not rest:
        return tuple(named)
    return (*named, SeriesStyle(plural(rest, "other"), GREY, dash="solid"))
