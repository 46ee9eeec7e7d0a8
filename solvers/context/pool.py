"""S3's resource pool: memory in nodes that are used again, the choice of a node looking at the requests after
it.

S3 names the family and no more. A pool of today's frameworks (``solvers/heuristics/pool.py``) takes the first
node that will do; here a node is chosen by what all nodes will have to hold with the next requests in theirs,
and as the plan is made before anything runs, a node that is too small may be made larger.
"""

from __future__ import annotations

from typing import NamedTuple

from chipmodel.model.plan import Plan, Problem
from solvers.context.live_blocks import AllocationRequest, requests
from solvers.context.look_ahead import WeighedPlace, look_ahead
from solvers.heuristics.pool import PoolNodes, nodes_in_a_row

LOOK_AHEAD = 4
"""Requests of the context: more gain little on networks and lose as much elsewhere (bench/heuristics.py)."""
MAX_COMBINATIONS = 32
"""Combinations that are kept."""
MAX_PLACEMENTS = 80_000
"""Requests in one combination each: of large problems fewer combinations are kept."""


def context_pool(problem: Problem, context: int = LOOK_AHEAD) -> Plan:
    """The nodes of ``context_pool_nodes``, one after another. Guarantee: but for alignment the peak is the
    sum of the nodes' sizes, and so never above naive's."""
    return nodes_in_a_row(problem, context_pool_nodes(problem, context))


def context_pool_nodes(problem: Problem, context: int = LOOK_AHEAD, width: int | None = None) -> PoolNodes:
    """Buffers in the order in which they are first alive, each in a free node, made larger where it is too
    small, or in a new one: whatever leads to the fewest bytes in all nodes once the ``context`` buffers
    after it have theirs, and of these to the fewest bytes that lie idle in nodes that are in use."""
    order = requests(problem)
    few = max(1, min(MAX_COMBINATIONS, MAX_PLACEMENTS // max(1, len(order)))) if width is None else width
    chosen = look_ahead(order, _NodePool((), ()), _options, _after, context, few)
    node_of: list[int | None] = [None] * len(problem.buffers)
    sizes: list[int] = []
    for request, node in zip(order, chosen, strict=True):
        node_of[request.number] = node
        sizes += [0] if node == len(sizes) else []
        sizes[node] = max(sizes[node], request.size)
    return PoolNodes(tuple(sizes), tuple(node_of))


class _NodePool(NamedTuple):
    """The size of each node in bytes, and from when on it is free."""

    sizes: tuple[int, ...]
    free_from: tuple[int, ...]


def _options(pool: _NodePool, request: AllocationRequest) -> list[WeighedPlace[int]]:
    """One of each size of free nodes, and a new one: the bytes of all nodes, and those that lie idle in
    it."""
    size, total = request.size, sum(pool.sizes)
    found: list[WeighedPlace[int]] = []
    seen: set[int] = set()
    for node, (room, free_from) in enumerate(zip(pool.sizes, pool.free_from, strict=True)):
        if free_from <= request.start and room not in seen:
            seen.add(room)
            found.append((total + max(0, size - room), max(0, room - size), node))
    found.append((total + size, 0, len(pool.sizes)))
    return found


def _after(pool: _NodePool, request: AllocationRequest, node: int) -> _NodePool:
    room = max(request.size, *pool.sizes[node : node + 1], 0)
    sizes = (*pool.sizes[:node], room, *pool.sizes[node + 1 :])
    return _NodePool(sizes, (*pool.free_from[:node], request.stop, *pool.free_from[node + 1 :]))
