"""All pairs of buffers that are alive together, by a sweep in numpy."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from chipmodel.geometry.interval import merged
from chipmodel.model.plan import Problem

Ints = npt.NDArray[np.int64]


def conflict_counts(problem: Problem) -> list[int]:
    """Return how many other buffers are alive together with each at some position, empty ones apart."""
    starts, stops, owners = _rows(problem)
    count = len(problem.buffers)
    if len(np.unique(owners)) == len(owners):
        return [int(n) for n in _of_single(starts, stops, owners, count)]
    found = [0] * count
    by_owner = np.argsort(owners, kind="stable")
    for own in np.split(by_owner, np.flatnonzero(np.diff(owners[by_owner])) + 1):
        # The first of its intervals, which are sorted and apart, that ends after another's start.
        next_own = own[np.minimum(np.searchsorted(stops[own], starts, side="right"), len(own) - 1)]
        overlaps = (starts[next_own] < stops) & (stops[next_own] > starts)
        found[owners[own[0]]] = len(np.unique(owners[overlaps])) - 1
    return found


def neighbours(problem: Problem, most_pairs: int) -> list[Ints] | None:
    """For each buffer the ascending indices of those alive together with it at some position, without empty
    buffers. None where intervals overlap in more than ``most_pairs`` pairs."""
    starts, stops, owners = _rows(problem)
    rows = np.arange(len(starts))
    overlaps = np.searchsorted(starts, stops, side="left") - rows - 1
    total = int(overlaps.sum())
    if total > most_pairs:
        return None
    first = np.repeat(rows, overlaps)
    before = np.repeat(np.cumsum(overlaps) - overlaps, overlaps)
    second = first + 1 + np.arange(total) - before
    a, b = owners[first], owners[second]
    count = len(problem.buffers)
    keys = np.unique(np.concatenate((a * count + b, b * count + a)))
    cuts = np.searchsorted(keys, np.arange(1, count) * count)
    return np.split(keys % count, cuts) if count else []


def _rows(problem: Problem) -> tuple[Ints, Ints, Ints]:
    """Lifetime intervals by rising start: ranks of their starts and stops, and their buffers."""
    rows = [(s.start, s.stop, i) for i, b in enumerate(problem.buffers) if b.bytes for s in merged(b.live)]
    rows.sort()
    edges = sorted({edge for start, stop, _ in rows for edge in (start, stop)})
    rank = {edge: number for number, edge in enumerate(edges)}
    ranked = [(rank[start], rank[stop], owner) for start, stop, owner in rows]
    table = np.array(ranked, dtype=np.int64).reshape(-1, 3)
    return table[:, 0], table[:, 1], table[:, 2]


def _of_single(starts: Ints, stops: Ints, owners: Ints, count: int) -> Ints:
    """All intervals but those that end before and those that begin after, and without one's own."""
    ended = np.searchsorted(np.sort(stops), starts, side="right")
    begun = np.searchsorted(starts, stops, side="left")
    found = np.zeros(count, dtype=np.int64)
    found[owners] = begun - ended - 1
    return found
