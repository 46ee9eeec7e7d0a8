"""A chart of the study page: a plotly figure, its legend, and its layout on a narrow screen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from reports.colours import BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILION
from reports.plotly import hover, scatter
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
    traces: int = 1
    """How many consecutive traces of the figure the entry stands for."""

    def named(self, label: str) -> SeriesStyle:
        """The same style for a line with a name."""
        return replace(self, label=label, dash=self.dash or "solid")


@dataclass(frozen=True, slots=True)
class StudyChart:
    """A plotly figure. The page sets the colours of texts, grid lines and background."""

    figure: Mapping[str, object]
    legend: tuple[SeriesStyle, ...]
    height: int
    """In pixels."""
    narrow: Mapping[str, object] = field(default_factory=dict[str, object])
    """Replacements in the layout for a narrow screen."""
    remark: str = ""


def axis(ticks: AxisLabels) -> dict[str, object]:
    """Plotly's settings for an axis with these labels."""
    return {"tickmode": "array", "tickangle": 0, **ticks.axis()}


def trace(
    mode: str, x: Sequence[float], y: Sequence[object], texts: Sequence[str], **more: object
) -> dict[str, object]:
    """Points with a text for each, which a reader sees who points at it."""
    return scatter(mode, x, y, hover("%{text}"), text=texts, **more)


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
    return (*named, SeriesStyle(plural(rest, "other"), GREY, dash="solid", traces=rest))
