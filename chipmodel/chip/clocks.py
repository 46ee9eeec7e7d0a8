"""Clock domains as exact rationals: an event of one domain lands on an edge of another.

Time is in microseconds as an exact ``Fraction``, with an edge of every clock at time 0; edge ``k``
of a clock of ``f`` MHz is at ``k / f``. Nothing is ever rounded but by landing on an edge.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor


@dataclass(frozen=True, slots=True)
class Clock:
    """A clock of ``mhz`` MHz, which must be positive."""

    mhz: Fraction

    def __post_init__(self) -> None:
        if self.mhz <= 0:
            raise ValueError(f"a clock needs a positive frequency, not {self.mhz} MHz")

    def time(self, edge: int) -> Fraction:
        """When edge number ``edge`` happens, in microseconds."""
        return edge / self.mhz

    def edge_at(self, time: Fraction) -> int:
        """The first edge at ``time`` or later: where the flip-flop sees what settled before it."""
        return ceil(time * self.mhz)

    def edge_after(self, time: Fraction) -> int:
        """The first edge strictly later than ``time``: what changes on an edge is not yet seen by it."""
        return floor(time * self.mhz) + 1

    def most_cycles(self, microseconds: Fraction) -> int:
        """Whole cycles that fit into a span: how a maximum time is kept."""
        return floor(microseconds * self.mhz)

    def least_cycles(self, microseconds: Fraction) -> int:
        """Cycles that cover a span: how a minimum time is kept."""
        return ceil(microseconds * self.mhz)


def rescaled(cycles: Fraction | int, source: Clock, target: Clock) -> Fraction:
    """The same span, counted in cycles of ``target``."""
    return cycles * target.mhz / source.mhz
