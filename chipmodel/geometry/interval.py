"""The one interval convention of the project: half-open, integer, ``[start, stop)``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from operator import attrgetter

from chipmodel.records import dataclass


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
    solid.sort(key=attrgetter("start"))
    result: list[Interval] = []
    for interval in solid:
        if result and interval.start <= result[-1].stop:
            result[-1] = Interval(result[-1].start, max(result[-1].stop, interval.stop))
        else:
            result.append(interval)
    return tuple(result)


@dataclass(frozen=True, slots=True)
class StridedBytes:
    """``count`` runs of ``length`` bytes from ``start`` on, ``pitch`` bytes from one start to the next."""

    start: int
    length: int
    count: int = 1
    pitch: int = 0

    @property
    def stop(self) -> int:
        """The address after the last byte."""
        return self.start + (self.count - 1) * self.pitch + self.length

    def overlaps(self, other: StridedBytes) -> bool:
        """Whether both have a byte in common."""
        if max(self.start, other.start) >= min(self.stop, other.stop):
            return False
        if self.count == other.count == 1:
            return self.length > 0 and other.length > 0
        return any(other._touches(start, start + self.length) for start in self._starts())

    def _starts(self) -> Iterator[int]:
        return (self.start + number * self.pitch for number in range(self.count))

    def _touches(self, start: int, stop: int) -> bool:
        """Whether a byte lies in ``[start, stop)``."""
        number = 0 if self.count == 1 else max(0, (start - self.start - self.length) // self.pitch + 1)
        first = self.start + number * self.pitch
        return number < self.count and max(first, start) < min(first + self.length, stop)
