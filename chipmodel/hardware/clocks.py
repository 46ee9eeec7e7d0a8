"""Clock domains with exact rational frequencies: an event of one domain is seen on an edge of another.

Time is in microseconds as an exact ``Fraction``, with an edge of every clock at time 0; edge ``k``
of a clock of ``f`` MHz is at ``k / f``. Nothing is rounded except to an edge.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor

from chipmodel.records import dataclass


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
        """The first edge at ``time`` or later, where a flip-flop samples what has settled by then."""
        return ceil(time * self.mhz)

    def edge_after(self, time: Fraction) -> int:
        """The first edge after ``time``: a flip-flop does not sample what changes on the same edge."""
        return floor(time * self.mhz) + 1

    def cycles_within(self, microseconds: Fraction) -> int:
        """Whole cycles that fit into a time span, to respect a maximum."""
        return floor(microseconds * self.mhz)

    def cycles_covering(self, microseconds: Fraction) -> int:
        """Cycles that cover a time span, to respect a minimum."""
        return ceil(microseconds * self.mhz)


def rescaled(cycles: Fraction | int, source: Clock, target: Clock) -> Fraction:
    """The same time span, in cycles of ``target``."""
    return cycles * target.mhz / source.mhz
