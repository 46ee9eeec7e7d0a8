"""Buffers share buckets, each of which holds one buffer at a time: the LUNA vendor's own packer.

Three orders of buffers are tried; the smallest sum of bucket sizes wins. What a buffer leaves unused of its
bucket is wasted.

Source: LISTENAI/thinker, resource_packer/memory.py (docs/references.md).
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from chipmodel.geometry.interval import hull, merged
from chipmodel.model.plan import Plan, Problem
from solvers.core.conflicts import Ints
from solvers.core.deadline import NO_DEADLINE, Deadline
from solvers.core.first_fit import PlacedByTime
from solvers.heuristics.pool import PoolNodes, nodes_in_a_row


def buckets(problem: Problem, deadline: Deadline = NO_DEADLINE) -> Plan:
    """Return the buckets of the best of three orders, one after another. Guarantee: but for alignment the
    peak is the smallest of the three sums, and so at most naive's. From the ``deadline`` on buckets are new.
    """
    shared: list[PoolNodes] = []
    for order in (by_size, by_breadth, by_order):
        if not (shared and deadline.over):
            shared.append(share(problem, order(problem), deadline))
    return nodes_in_a_row(problem, min(shared, key=lambda nodes: sum(nodes.sizes)))


def share(problem: Problem, order: Iterable[int], deadline: Deadline = NO_DEADLINE) -> PoolNodes:
    """Put each buffer (by index) in the smallest bucket that is large enough and holds no buffer alive
    together with it, or else in a new one of its own size."""
    placed, sizes = PlacedByTime(problem), list[int]()
    node_of: list[int | None] = [None] * len(problem.buffers)
    for index in order:
        size, node = problem.buffers[index].bytes, len(sizes)
        if not deadline.over:
            taken = set(placed.rivals(index)[0].tolist())
            large = ((each, at) for at, each in enumerate(sizes) if each >= size and at not in taken)
            _, node = min(large, default=(size, node))
            placed.add(index, node)
        if node == len(sizes):
            sizes.append(size)
        node_of[index] = node
    return PoolNodes(tuple(sizes), tuple(node_of))


def by_size(problem: Problem) -> list[int]:
    """Return the buffers, the largest first."""
    return sorted(_solid(problem), key=lambda i: -problem.buffers[i].bytes)


def by_order(problem: Problem) -> list[int]:
    """Return the buffers in the order in which their lifetimes begin."""
    return sorted(_solid(problem), key=lambda i: hull(problem.buffers[i].live).start)


def by_breadth(problem: Problem) -> list[int]:
    """Those alive at the position with most live bytes first, then the next; each time the largest first."""
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
