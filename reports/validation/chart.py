"""The scatter chart of predicted against measured, in SVG coordinates: both axes logarithmic and alike."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import floor, log10
from typing import Any

from reports.plot_area import PlotArea, log_share
from reports.validation.terminal import inputs

Values = Mapping[str, Any]
NEAR = 0.1
"""The relative error within which the band is drawn."""
MOST_TICKS = 8
"""Ticks of an axis; with more of them, only powers of ten have one."""
MARGIN = 1.25
"""The factor by which the axes reach beyond the smallest and the largest value."""


@dataclass(frozen=True, slots=True)
class ScatterMark:
    """A measured row: ``measured`` to the right, ``predicted`` upwards."""

    x: float
    y: float
    title: str


@dataclass(frozen=True, slots=True)
class ScatterSeries:
    """The rows as one chip predicts them. ``kind`` is the class in the style sheet."""

    name: str
    kind: str
    marks: tuple[ScatterMark, ...]


@dataclass(frozen=True, slots=True)
class ScatterChart:
    """A square chart in ``area``; ``ends`` are the least and the most of both axes."""

    area: PlotArea
    ends: tuple[float, float]

    def x(self, value: float) -> float:
        """The horizontal position of a measured value."""
        return self.area.across(log_share(value, self.ends))

    def y(self, value: float) -> float:
        """The vertical position of a predicted value."""
        return self.area.up(log_share(value, self.ends))

    def ticks(self) -> list[tuple[float, float, str]]:
        """Positions on both axes and labels: 1, 2 and 5 times powers of ten, or these alone."""
        least, most = self.ends
        powers = range(floor(log10(least)), floor(log10(most)) + 1)
        fine = [digit * 10.0**power for power in powers for digit in (1, 2, 5)]
        coarse = [10.0**power for power in powers]
        inside = [[v for v in values if least <= v <= most] for values in (fine, coarse)]
        values = inside[0] if len(inside[0]) <= MOST_TICKS else inside[1]
        return [(self.x(value), self.y(value), f"{value:,g}") for value in values]

    def diagonal(self) -> str:
        """The line on which predictions are exact."""
        least, most = self.ends
        return f"{self.x(least)},{self.y(least)} {self.x(most)},{self.y(most)}"

    def band(self) -> str:
        """The outline of predictions within ``NEAR`` of what was measured."""
        least, most = self.ends
        up, down = 1 + NEAR, 1 - NEAR
        corners = [(least, least * up), (most / up, most), (most, most), (most, most * down)]
        corners += [(least / down, least), (least, least)]
        return " ".join(f"{self.x(a)},{self.y(b)}" for a, b in corners)


def charts(series: Mapping[str, Sequence[Values]]) -> list[tuple[ScatterChart, list[ScatterSeries]]]:
    """A chart for wide screens and one for narrow ones, with the rows of each name; those that were measured
    or predicted at 0 have no place on logarithmic axes. Empty without any row."""
    shown = {name: [row for row in rows if _positive(row)] for name, rows in series.items()}
    values = [float(row[key]) for rows in shown.values() for row in rows for key in ("measured", "predicted")]
    if not values:
        return []
    ends = min(values) / MARGIN, max(values) * MARGIN
    areas = (PlotArea("wide", 640, 600), PlotArea("narrow", 370, 370))
    drawn = [ScatterChart(area, ends) for area in areas]
    return [(chart, list(_series(chart, shown))) for chart in drawn]


def _positive(row: Values) -> bool:
    return min(float(row["measured"]), float(row["predicted"])) > 0


def _series(chart: ScatterChart, shown: Mapping[str, Sequence[Values]]) -> Iterable[ScatterSeries]:
    for number, (name, rows) in enumerate(shown.items()):
        kind = "plain" if number == len(shown) - 1 else "alone" if number == 0 else "hollow"
        marks = tuple(
            ScatterMark(chart.x(row["measured"]), chart.y(row["predicted"]), _title(name, row))
            for row in rows
        )
        yield ScatterSeries(name, kind, marks)


def _title(name: str, row: Values) -> str:
    described = value_text(next((row[key] for key in inputs(row)), ""))
    numbers = f"{name} {value_text(row['predicted'])}, measured {value_text(row['measured'])}"
    return f"line {row['line']}, {described}: {numbers} ({error_text(row)})"


def value_text(value: object) -> str:
    """A number with six digits, or a text."""
    return f"{value:,.6g}" if isinstance(value, int | float) else str(value)


def error_text(row: Values) -> str:
    """The relative error, with its sign."""
    return f"{float(row['relative_error']):+.1%}"
