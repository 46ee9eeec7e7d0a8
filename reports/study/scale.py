"""A scale for gaps: linear near 0 and logarithmic above, so that 0, small gaps and huge gaps all fit."""

from __future__ import annotations

from math import log10

from reports.words import percent

UNIT = 0.01
"""The gap below which the scale is nearly linear, and above which it is nearly logarithmic."""
LEAST, MOST = 0.01, 1000.0
"""An axis ends at a gap of at least ``LEAST``; gaps above ``MOST`` are drawn there."""
APART = 0.11
"""Least distance between two labels, as a share of the axis."""
_GAPS = (0.0, *(mantissa * 10.0**power for mantissa in (1, 5, 2) for power in (0, -1, -2, 1, 2, 3, -3)))
"""Gaps for labels, the most important first."""


def place(gap: float) -> float:
    """The position of a gap on the scale."""
    return log10(1 + min(gap, MOST) / UNIT)


def gap_ticks(most: float) -> dict[float, str]:
    """Labels from 0 to ``most``, a gap, by their places: the important ones, as far as there is room."""
    high = place(max(most, LEAST))
    kept: list[float] = []
    for gap in _GAPS:
        if place(gap) <= high and all(abs(place(gap) - place(other)) >= APART * high for other in kept):
            kept.append(gap)
    return {round(place(gap), 4): _text(gap) for gap in sorted(kept)}


def _text(gap: float) -> str:
    if gap == 0:
        return "0%"
    return f"{gap * 100:,.10g}%" if abs(gap) < 10 else percent(gap).replace(".0%", "%")
