"""When a streamer that tries many ways has tried enough, and what it tells meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

GAP = 0.0005
"""A forecast this near to the bound is not worth more ways."""


class Standing(NamedTuple):
    """So many of the ways tried, the least cycles forecast, and what no plan is below (0: not known)."""

    tried: int
    ways: int
    cycles: float
    bound: int

    @property
    def gap(self) -> float | None:
        """Share of the bound that the forecast is above it."""
        return self.cycles / self.bound - 1 if self.bound else None

    def __str__(self) -> str:
        gap = "" if self.gap is None else f", bound {self.bound:,}, gap {self.gap:.1%}"
        return f"way {self.tried} of {self.ways}: {self.cycles:,.0f} cycles{gap}"


@dataclass(frozen=True, slots=True)
class Stop:
    """After ``seconds``, or once the forecast is at most ``gap`` (a share) above ``bound`` cycles. What a
    streamer always tries is tried whatever this says."""

    seconds: float | None = None
    gap: float = GAP
    bound: int = 0
    report: Callable[[Standing], None] | None = None

    def enough(self, cycles: float, seconds: float) -> bool:
        """Whether to stop with that forecast, after so many seconds."""
        late = self.seconds is not None and seconds >= self.seconds
        return late or cycles <= self.bound * (1 + self.gap)
