"""A scale for gaps: linear near 0 and logarithmic above, so that 0, small gaps and huge gaps all fit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import log10

from chipmodel.records import dataclass
from reports.chart import labelled
from reports.words import percent

UNIT = 0.01
"""The gap below which the scale is nearly linear, and above which it is nearly logarithmic."""
LEAST, MOST = 0.01, 1000.0
"""An axis ends at a gap of at least ``LEAST``; gaps above ``MOST`` are drawn there."""
APART = 0.11
"""Least distance between two labels, as a share of the axis."""
_GAPS = (0.0, *(mantissa * 10.0**power for mantissa in (1, 5, 2) for power in (0, -1, -2, 1, 2, 3, -3)))
"""Gaps for labels, the most important first."""


@dataclass(frozen=True, slots=True)
class AxisLabels:
    """Positions and texts of an axis's labels."""

    places: tuple[float, ...]
    texts: tuple[str, ...]

    def on_axis(self) -> dict[str, object]:
        """The settings of an axis with them."""
        return labelled({round(at, 4): text for at, text in zip(self.places, self.texts, strict=True)})


def place(gap: float) -> float:
    """The position of a gap on the scale."""
    return log10(1 + min(gap, MOST) / UNIT)


def gap_ticks(most: float) -> AxisLabels:
    """Labels from 0 to ``most``, a gap."""
    high = place(max(most, LEAST))
    return spread([gap for gap in _GAPS if place(gap) <= high], place, _text, (0.0, high), APART)


def spread(
    wanted: Iterable[float],
    place: Callable[[float], float],
    text: Callable[[float], str],
    ends: tuple[float, float],
    apart: float,
) -> AxisLabels:
    """Labels at those of ``wanted``, in order of importance, that are ``apart`` from those before."""
    distance = apart * (ends[1] - ends[0])
    kept: list[float] = []
    for value in wanted:
        if all(abs(place(value) - place(other)) >= distance for other in kept):
            kept.append(value)
    kept.sort(key=place)
    return AxisLabels(tuple(map(place, kept)), tuple(map(text, kept)))


def outside_in(values: Sequence[float]) -> list[float]:
    """Order values by importance for labels: the ends, the middle, then the middles of both halves, ..."""
    if len(values) <= 2:
        return list(values)
    order, spans = [values[0], values[-1]], [(0, len(values) - 1)]
    while spans:
        start, stop = spans.pop(0)
        if stop - start > 1:
            middle = (start + stop) // 2
            order.append(values[middle])
            spans += [(start, middle), (middle, stop)]
    return order


def _text(gap: float) -> str:
    if gap == 0:
        return "0%"
    return f"{gap * 100:,.10g}%" if abs(gap) < 10 else percent(gap).replace(".0%", "%")
