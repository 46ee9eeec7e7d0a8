"""Why a measurement is not what was predicted, or two boards differ: one thing changed at a time."""

from __future__ import annotations

from math import inf, log
from typing import Any, ClassVar

from chipmodel.records import dataclass

NEAR = 1.25
"""A cause explains a time that it comes so near to, as a factor (assumed)."""
USUAL = 1.5
"""A measurement that is off by a larger factor is no usual one, however wide the interval (assumed)."""
HALF = 0.5
"""It goes at least this share of the way from what was predicted (assumed)."""


@dataclass(frozen=True, slots=True)
class Cause:
    """Something that may be otherwise than assumed: fields of the chip, and perhaps the streamer."""

    words: str
    changes: tuple[str, ...] = ()
    """The fields to change, as ``--set`` takes them."""
    streamer: str = "vendor"


@dataclass(frozen=True, slots=True)
class TriedCause:
    """A cause, and the time that it leads to; None with the reason where there is no such run."""

    cause: Cause
    milliseconds: float | None
    reason: str = ""

    def factor(self, measured: float) -> float:
        """The time by which it is off ``measured``, as a factor of at least 1; infinite without a run."""
        if self.milliseconds is None:
            return inf
        return max(self.milliseconds / measured, measured / self.milliseconds)


@dataclass(frozen=True, slots=True)
class TimeExplanation:
    """The time of a workload on a chip by its own tool, another time, and what may lie between them."""

    workload: str
    chip: str
    predicted: float
    """Milliseconds, as is ``measured``."""
    measured: float
    causes: tuple[TriedCause, ...]
    """That which comes nearest to ``measured`` first."""
    other: str | None = None
    """The chip whose predicted time stands for ``measured``; None where a board was measured."""
    interval: tuple[float, float] | None = None
    """The milliseconds that the board is expected to take; None where that is not known."""

    FORMAT: ClassVar = "chipmodel-explanation/1"
    KEYS: ClassVar = (
        *("workload", "chip", "other", "predicted_milliseconds=predicted", "measured_milliseconds=measured"),
        *("expected_milliseconds=interval", "expected", "causes=cause_values"),
    )

    @property
    def cause_values(self) -> list[dict[str, Any]]:
        """Each cause and where it leads: times in milliseconds, shares of 1."""
        return [
            {
                "cause": tried.cause.words,
                "set": tried.cause.changes,
                "streamer": tried.cause.streamer,
                "milliseconds": tried.milliseconds,
                "ratio": None if tried.milliseconds is None else tried.milliseconds / self.measured,
                "of_the_way": self.covers(tried),
                "reason": tried.reason,
            }
            for tried in self.causes
        ]

    @property
    def inside(self) -> bool:
        """Whether the measurement lies in the interval."""
        return self.interval is not None and self.interval[0] <= self.measured <= self.interval[1]

    @property
    def expected(self) -> bool:
        """Whether it lies there and is not far off: an interval may be wide for one network's sake."""
        return self.inside and 1 / USUAL <= self.measured / self.predicted <= USUAL

    @property
    def explaining(self) -> tuple[TriedCause, ...]:
        """The causes that come near and go at least half of the way."""
        far = (tried for tried in self.causes if (self.covers(tried) or 0) >= HALF)
        return tuple(tried for tried in far if tried.factor(self.measured) <= NEAR)

    def covers(self, tried: TriedCause) -> float | None:
        """The share of the way from predicted to measured that a cause goes, in factors; None for no run."""
        if tried.milliseconds is None or self.measured == self.predicted:
            return None
        return log(tried.milliseconds / self.predicted) / log(self.measured / self.predicted)
