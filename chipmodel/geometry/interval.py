"""The one interval convention of the project: half-open, integer, ``[start, stop)``."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Interval:
    """``[start, stop)``; empty when ``stop <= start``. The user of an interval says in which unit."""

    start: int
    stop: int

    def __str__(self) -> str:
        return f"[{self.start}, {self.stop})"

    def __len__(self) -> int:
        length = self.stop - self.start
        return length if length > 0 else 0

    def __contains__(self, point: int) -> bool:
        return self.start <= point < self.stop

    def overlaps(self, other: Interval) -> bool:
        """Whether some integer lies in both."""
        return max(self.start, other.start) < min(self.stop, other.stop)


def hull(intervals: Iterable[Interval]) -> Interval:
    """The smallest interval that contains all ``intervals`` (``[0, 0)`` for none but empty ones)."""
    solid = [i for i in intervals if i.start < i.stop]
    if len(solid) < 2:
        return solid[0] if solid else Interval(0, 0)
    return Interval(min(i.start for i in solid), max(i.stop for i in solid))


def merged(intervals: Iterable[Interval]) -> tuple[Interval, ...]:
    """The same points as ``intervals``, as sorted intervals that neither touch nor overlap."""
    solid = [i for i in intervals if i.start < i.stop]
    if len(solid) < 2:  # as nearly always, hundreds of thousands of times in a large packing
        return tuple(solid)
    solid.sort()
    result: list[Interval] = []
    for interval in solid:
        if result and interval.start <= result[-1].stop:
            result[-1] = Interval(result[-1].start, max(result[-1].stop, interval.stop))
        else:
            result.append(interval)
    return tuple(result)
