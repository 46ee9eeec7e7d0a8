"""Buffers share buckets, each of which holds one buffer at a time: the LUNA vendor's own packer.

Three orders of buffers are tried; the smallest sum of bucket sizes wins. What a buffer leaves unused of its
bucket is wasted.

Source: LISTENAI/thinker, resource_packer/memory.py (docs/references.md).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable

import numpy as np

from chipmodel.geometry.interval import hull, merged
from chipmodel.model.plan import Plan, Problem
from solvers.core.conflicts import Ints
from solvers.core.first_fit import PlacedByTime
from solvers.heuristics.pool import PoolNodes, nodes_in_a_row


def buckets(problem: Problem) -> Plan:
    """Return the buckets of the best of three orders, one after another. Guarantee: but for alignment the
    peak is the smallest of the three sums, and so at most naive's."""
    orders = (by_size(problem), by_breadth(problem), by_order(problem))
    shared = [share(problem, order) for order in orders]
    return nodes_in_a_row(problem, min(shared, key=lambda nodes: sum(nodes.sizes)))


def share(problem: Problem, order: Iterable[int]) -> PoolNodes:
    """Put each buffer (by index) in the smallest bucket that is large enough and holds no buffer alive
    together with it, or else in a new one of its own size."""
    placed, made = PlacedByTime(problem), _Buckets(len(problem.buffers))
    node_of: list[int | None] = [None] * len(problem.buffers)
    for index in order:
        taken = placed.rivals(index)[0].astype(np.int64)
        node = made.bucket(problem.buffers[index].bytes, taken)
        node_of[index] = node
        placed.add(index, node)
    return PoolNodes(tuple(made.sizes), tuple(node_of))


class _Buckets:
    """The buckets so far, in order of creation and of size."""

    def __init__(self, most: int) -> None:
        self.sizes: list[int] = []
        self._rising: list[int] = []
        self._ranked = np.zeros(most, dtype=np.int64)
        self._busy = np.zeros(most, dtype=bool)

    def bucket(self, size: int, taken: Ints) -> int:
        """The smallest bucket that is large enough and not ``taken`` (of equal ones the oldest), or a new
        one."""
        at, count = bisect_left(self._rising, size), len(self.sizes)
        self._busy[taken] = True
        free = np.flatnonzero(~self._busy[self._ranked[at:count]])
        self._busy[taken] = False
        if len(free):
            return int(self._ranked[at + free[0]])
        at = bisect_right(self._rising, size)
        self._rising.insert(at, size)
        self._ranked[at + 1 : count + 1] = self._ranked[at:count].copy()
        self._ranked[at] = count
        self.sizes.append(size)
        return count


def by_size(problem: Problem) -> list[int]:
    """Return the buffers, the largest first."""
    return sorted(_solid(problem), key=lambda i: -problem.buffers[i].bytes)


def by_order(problem: Problem) -> list[int]:
    """Return the buffers in the order in which their lifetimes begin."""
    return sorted(_solid(problem), key=lambda i: hull(problem.buffers[i].live).start)


def by_breadth(problem: Problem) -> list[int]:
    """Those alive at the position with the most live bytes first, then those of the next position; at each
    the largest first."""
    solid = _solid(problem)
    lives = {i: merged(problem.buffers[i].live) for i in solid}
    changes: dict[int, int] = {}
    for i in solid:
        for span in lives[i]:
            changes[span.start] = changes.get(span.start, 0) + problem.buffers[i].bytes
            changes[span.stop] = changes.get(span.stop, 0) - problem.buffers[i].bytes
    times = sorted(changes)
    alive: list[int] = []
    for time in times:
        alive.append((alive[-1] if alive else 0) + changes[time])
    turns: Ints = np.argsort(sorted(range(len(times)), key=lambda p: -alive[p]))
    places = {time: place for place, time in enumerate(times)}
    turn_of = {i: min(int(turns[places[s.start] : places[s.stop]].min()) for s in lives[i]) for i in solid}
    return sorted(solid, key=lambda i: (turn_of[i], -problem.buffers[i].bytes))


def _solid(problem: Problem) -> list[int]:
    return [i for i, b in enumerate(problem.buffers) if b.bytes and any(map(len, b.live))]
