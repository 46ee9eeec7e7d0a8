"""Runs of addresses at one pitch: where a tensor lies that is not in one piece."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StridedBytes:
    """``count`` runs of ``length`` bytes, ``pitch`` bytes from the start of one to that of the next, the
    first at ``start``."""

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
