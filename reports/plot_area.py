"""The plot area of a chart that is drawn as SVG, and logarithmic positions in it."""

from __future__ import annotations

from dataclasses import dataclass
from math import log

LEFT, RIGHT, TOP, BOTTOM = 64, 20, 26, 52
"""Margins of a chart in pixels: room for labels below it and to its left."""
FEWEST = 3
"""Labels of an axis, if there are so many round numbers."""
MANTISSAS = ((1,), (1, 2, 5), (1, 1.5, 2, 3, 4, 5, 6, 8), tuple(n / 10 for n in range(10, 100, 2)))
"""Series of round numbers between powers of ten, the coarsest first."""


@dataclass(frozen=True, slots=True)
class PlotArea:
    """A chart for one width of screen, in pixels, ``left`` and ``right`` being its margins. ``kind`` is the
    class in the style sheet."""

    kind: str
    width: int
    height: int
    left: int = LEFT
    right: int = RIGHT

    @property
    def edges(self) -> tuple[int, int, int, int]:
        """Left, right, top and bottom of the plot area."""
        return self.left, self.width - self.right, TOP, self.height - BOTTOM

    def across(self, share: float) -> float:
        """The horizontal position of a share of the width; those below 0 or above 1 are at the edges."""
        left, right, _, _ = self.edges
        return round(left + _inside(share) * (right - left), 1)

    def up(self, share: float) -> float:
        """The vertical position of a share of the height, from the bottom."""
        _, _, top, bottom = self.edges
        return round(bottom - _inside(share) * (bottom - top), 1)


def log_share(value: float, ends: tuple[float, float]) -> float:
    """Where ``value`` lies between the two ends of a logarithmic axis: 0 to 1; less or more beyond them."""
    least, most = ends
    return log(value / least) / log(most / least)


def round_numbers(least: int, most: int) -> tuple[int, ...]:
    """Round whole numbers from ``least`` to ``most`` for the labels of a logarithmic axis: the fewest of some
    series that are ``FEWEST`` or more, or else all that there are."""
    found: tuple[int, ...] = ()
    for mantissas in MANTISSAS:
        powers = (10**power for power in range(len(str(most))))
        each = (
            round(mantissa * power) for power in powers for mantissa in mantissas if mantissa * power >= 1
        )
        found = tuple(sorted({number for number in each if least <= number <= most}))
        if len(found) >= FEWEST:
            break
    return found


def _inside(share: float) -> float:
    return min(1.0, max(0.0, share))
