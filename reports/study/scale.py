"""A scale for gaps: 0 has its place on it, small gaps are apart, and a gap of ten times still fits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import copysign, log10

from reports.words import percent

UNIT = 0.01
"""Below it the scale is nearly linear, above it nearly logarithmic."""
LEAST, MOST = 0.01, 1000.0
"""Of the range that is shown: an axis never ends before 1%."""
WIDE, HALF, NARROW = 0.06, 0.11, 0.22
"""Shares of the axis that lie between two labels at least."""
_GAPS = (0.0, *(mantissa * 10.0**power for mantissa in (1, 5, 2) for power in (0, -1, -2, 1, 2, 3, -3)))
"""Labels in the order in which they are wanted."""


@dataclass(frozen=True, slots=True)
class Ticks:
    """Where an axis has labels, and what they say."""

    places: tuple[float, ...]
    texts: tuple[str, ...]

    def axis(self) -> dict[str, object]:
        """As plotly takes them."""
        return {"tickvals": [round(place, 4) for place in self.places], "ticktext": list(self.texts)}


def place(gap: float) -> float:
    """Where a gap lies on the scale; bounds below the best one have negative gaps."""
    return copysign(log10(1 + min(abs(gap), MOST) / UNIT), gap)


def gap_ticks(most: float, apart: float, least: float = 0.0) -> Ticks:
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
) -> Ticks:
    """Of the values ``wanted``, the first first, those whose labels do not run into one another."""
    room = apart * (ends[1] - ends[0])
    kept: list[float] = []
    for value in wanted:
        if all(abs(place(value) - place(other)) >= room for other in kept):
            kept.append(value)
    kept.sort(key=place)
    return Ticks(tuple(map(place, kept)), tuple(map(text, kept)))


def outside_in(values: Sequence[float]) -> list[float]:
    """The ends first, then the middle, and so on: an order in which labels are wanted."""
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
