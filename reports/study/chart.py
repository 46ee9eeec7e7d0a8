"""A chart of the study page: a plotly figure, its legend, and what a narrow screen changes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from reports.study.scale import Ticks


@dataclass(frozen=True, slots=True)
class Mark:
    """How one kind of marks or lines is drawn and called; apart by shape as well as by colour."""

    label: str
    colour: str
    dash: str = ""
    """Of a line, in plotly's words; empty for marks alone."""
    symbol: str = ""
    traces: int = 1
    """Of the figure that it stands for, in their order."""

    def named(self, label: str) -> Mark:
        """The same for something with a name."""
        return replace(self, label=label, dash=self.dash or "solid")


@dataclass(frozen=True, slots=True)
class Chart:
    """A figure for plotly. Its colours of text, rules and paper are the page's."""

    figure: Mapping[str, object]
    legend: tuple[Mark, ...]
    height: int
    """In pixels."""
    narrow: Mapping[str, object] = field(default_factory=dict[str, object])
    """What replaces parts of the layout on a narrow screen."""
    remark: str = ""


def axis(ticks: Ticks) -> dict[str, object]:
    """What places the labels of an axis."""
    return {"tickmode": "array", "tickangle": 0, **ticks.axis()}
