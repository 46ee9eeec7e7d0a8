"""A scale for gaps: linear around 0 and logarithmic above, so that 0, small gaps and huge gaps all fit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import copysign, log10

from reports.words import percent

UNIT = 0.01
"""The gap below which the scale is nearly linear, and above which it is nearly logarithmic."""
LEAST, MOST = 0.01, 1000.0
"""An axis ends at a gap of at least ``LEAST``; gaps above ``MOST`` are drawn there."""
WIDE, HALF, NARROW = 0.06, 0.11, 0.22
"""Least distances between two labels, as shares of the axis: on wide, half-wide and narrow charts."""
_GAPS = (0.0, *(mantissa * 10.0**power for mantissa in (1, 5, 2) for power in (0, -1, -2, 1, 2, 3, -3)))
"""Gaps for labels, the most important first."""


@dataclass(frozen=True, slots=True)
class AxisLabels:
    """Positions and texts of an axis's labels."""

    places: tuple[float, ...]
    texts: tuple[str, ...]

    def axis(self) -> dict[str, object]:
        """The labels in plotly's terms."""
        return {"tickvals": [round(place, 4) for place in self.places], "ticktext": list(self.texts)}


def place(gap: float) -> float:
    """The position of a gap on the scale; bounds below the best one have negative gaps."""
    return copysign(log10(1 + min(abs(gap), MOST) / UNIT), gap)


def gap_ticks(most: float, apart: float, least: float = 0.0) -> AxisLabels:
    """Labels from ``least`` to ``most``, which are gaps."""
    low, high = place(least), place(max(most, LEAST))
    wanted = [gap * sign for gap in _GAPS for sign in (1, -1) if gap or sign > 0]
    return spread([g for g in wanted if low <= place(g) <= high], place, _text, (low, high), apart)


def spread(
    wanted: Iterable[float],
    place: Callable[[float], float],
    text: Callable[[float], str],
    ends: tuple[float, float],
    apart: float,
) -> AxisLabels:
    """Labels at those of the values ``wanted``, in order of importance, that are at least ``apart`` from the
    labels chosen before."""
    distance = apart * (ends[1] - ends[0])
    kept: list[float] = []
    for value in wanted:
        if all(abs(place(value) - place(other)) >= distance for other in kept):
            kept.append(value)
    kept.sort(key=place)
    return AxisLabels(tuple(map(place, kept)), tuple(map(text, kept)))


def outside_in(values: Sequence[float]) -> list[float]:
    """Order values by importance for labels: the ends, then the middle, then the middles of both halves,
    ..."""
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
