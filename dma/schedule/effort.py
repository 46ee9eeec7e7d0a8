"""When a portfolio of streamers has tried enough candidates, and its progress reports."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from chipmodel.records import dataclass
from solvers.core.deadline import NO_DEADLINE, Deadline

DEFAULT_GAP = 0.0005
"""Share of the bound: a forecast this near to it is not worth further candidates."""


class SearchProgress(NamedTuple):
    """Candidates tried and in all, the fastest forecast, and the lower bound in cycles (0: not known)."""

    tried: int
    candidates: int
    cycles: float
    bound: int

    @property
    def gap(self) -> float | None:
        """Share of the bound that the forecast is above it; None without a bound."""
        return self.cycles / self.bound - 1 if self.bound else None

    def __str__(self) -> str:
        gap = "" if self.gap is None else f", bound {self.bound:,}, gap {self.gap:.1%}"
        return f"candidate {self.tried} of {self.candidates}: {self.cycles:,.0f} cycles{gap}"


@dataclass(frozen=True, slots=True)
class StopCriterion:
    """Stop after ``seconds``, at the ``deadline``, or once the forecast is at most ``gap`` (a share) above
    ``bound`` cycles.

    Candidates that are always tried are tried in any case, as far as the ``deadline`` allows. ``report`` is
    called after each candidate and each set of cascades.
    """

    seconds: float | None = None
    gap: float = DEFAULT_GAP
    bound: int = 0
    report: Callable[[object], None] | None = None
    deadline: Deadline = NO_DEADLINE

    def enough(self, cycles: float, seconds: float) -> bool:
        """Whether to stop with that forecast after that many seconds."""
        late = self.deadline.over or (self.seconds is not None and seconds >= self.seconds)
        return late or cycles <= self.bound * (1 + self.gap)
