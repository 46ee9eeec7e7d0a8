"""Pairs of boxes that overlap in time and in address, without looking at every pair.

Sorted by their first positions, a box meets only those in time that follow up to its last one; sorted by
first bytes likewise. Of the two orders the one with fewer such candidates is taken. Where both have many, as
for long lifetimes above a row of short ones, the time is cut in two, and boxes on both sides count on each.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]
Boxes = npt.NDArray[Any]
"""A box per column: owner, first position, position after the last, first byte, byte after the last. Python's
integers where 64 bits do not hold them."""
TIME, SPACE = (1, 2, 3, 4), (3, 4, 1, 2)
CANDIDATES_PER_BOX = 64
"""More than these, and cutting the time in two costs less (a factor of two either way changes little)."""
MOST_AT_ONCE = 1 << 20
"""Candidates that are compared in one go, so that memory stays small."""


def overlapping_owners(boxes: Boxes) -> set[tuple[int, int]]:
    """Return all pairs of owners, the later one first, that have a box each with a common point. No box is
    empty."""
    found: set[tuple[int, int]] = set()
    for first, second in _pairs(boxes):
        one, other = boxes[0, first], boxes[0, second]
        pairs = zip(np.maximum(one, other).tolist(), np.minimum(one, other).tolist(), strict=True)
        found.update((later, earlier) for later, earlier in pairs if later != earlier)
    return found


def _pairs(boxes: Boxes) -> Iterator[tuple[Integers, Integers]]:
    """Indices of boxes with a common point, as two arrays at a time; a pair may come twice."""
    parts: list[Integers] = [np.arange(boxes.shape[1])]
    while parts:
        part = parts.pop()
        options = [Sweep(boxes[:, part], axes) for axes in (TIME, SPACE)]
        sweep = min(options, key=lambda each: each.total)
        halves = _halves(boxes, part) if sweep.total > CANDIDATES_PER_BOX * len(part) else []
        parts += halves
        if not halves:
            for first, second in sweep.pairs():
                yield part[first], part[second]


def _halves(boxes: Boxes, part: Integers) -> list[Integers]:
    """The boxes before the middle of the time in which boxes begin and end, and those after it; nothing if
    that leaves one of them all."""
    starts, stops = boxes[1, part], boxes[2, part]
    edges = np.unique(np.concatenate((starts[starts >= stops.min()], [stops.min()])))
    middle = edges[len(edges) // 2]
    halves = [part[starts < middle], part[stops > middle]]
    return halves if max(map(len, halves)) < len(part) else []


class Sweep:
    """Boxes sorted along one axis, with the number of later ones that each meets on it."""

    def __init__(self, boxes: Boxes, axes: tuple[int, int, int, int]) -> None:
        start, stop, low, high = (boxes[axis] for axis in axes)
        self.order = np.argsort(start, kind="stable")
        ends = np.asarray(start[self.order].searchsorted(stop[self.order]), np.int64)
        self.later: Integers = ends - np.arange(len(ends)) - 1
        self.low, self.high = low[self.order], high[self.order]
        self.total = int(self.later.sum())

    def pairs(self) -> Iterator[tuple[Integers, Integers]]:
        """Those that also meet on the other axis."""
        before: Integers = np.cumsum(self.later) - self.later
        begin = 0
        while begin < len(before):
            end = max(begin + 1, int(np.searchsorted(before, before[begin] + MOST_AT_ONCE)))
            one = np.repeat(np.arange(begin, end), self.later[begin:end])
            other: Integers = np.arange(len(one)) + before[begin] - before[one] + one + 1
            meet = (self.low[one] < self.high[other]) & (self.low[other] < self.high[one])
            yield self.order[one[meet]], self.order[other[meet]]
            begin = end
