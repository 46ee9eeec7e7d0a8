"""A chart of the study page: a plotly figure, its legend, and its layout on a narrow screen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from reports.study.scale import AxisLabels


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
