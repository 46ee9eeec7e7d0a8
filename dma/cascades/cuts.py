"""A straight run cut into single ops and cascades, so that the sum of their costs is the least."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dma.cascades.segments import CascadeSegment


@dataclass(frozen=True, slots=True)
class Cut:
    """Segments that follow one another, and what they cost together."""

    cost: int
    segments: tuple[CascadeSegment, ...]


def cheapest_cut(
    count: int, ending: Sequence[Sequence[CascadeSegment]], cost: Callable[[CascadeSegment], int]
) -> Cut:
    """The cheapest way to run ``count`` ops as segments, of which ``ending[stop]`` are those that end before
    op ``stop``, a single op among them. Of equal costs the first one listed is taken."""
    costs = [0]
    chosen: list[CascadeSegment] = []
    for stop in range(1, count + 1):
        totals = [costs[segment.ops.start] + cost(segment) for segment in ending[stop]]
        least = min(range(len(totals)), key=totals.__getitem__)
        costs.append(totals[least])
        chosen.append(ending[stop][least])
    found: list[CascadeSegment] = []
    at = count
    while at:
        found.append(chosen[at - 1])
        at = found[-1].ops.start
    return Cut(costs[count], tuple(reversed(found)))


def least_maximum(count: int, ending: Sequence[Sequence[CascadeSegment]]) -> int:
    """The bytes of the largest segment of a cut of ``count`` ops, in the cut where they are the fewest."""
    least = [0]
    for stop in range(1, count + 1):
        least.append(min(max(least[segment.ops.start], segment.bytes) for segment in ending[stop]))
    return least[count]
