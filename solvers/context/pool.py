"""A memory pool with look-ahead: nodes are reused, chosen with regard to the next requests.

A common pool (``solvers/heuristics/pool.py``) takes the first node that is large enough; here the node is
chosen that leads to the smallest total once the next requests have theirs. As the plan is made ahead of time,
a node that is too small may be enlarged.

Source: the many-core patent (CN, 2023), resource pool, of which it gives the name only (docs/references.md).
"""

from __future__ import annotations

from typing import NamedTuple

from chipmodel.model.plan import Plan, Problem
from solvers.context.live_blocks import AllocationRequest, requests
from solvers.context.look_ahead import WeighedPlace, look_ahead
from solvers.core.deadline import NO_DEADLINE, Deadline
from solvers.heuristics.pool import PoolNodes, nodes_in_a_row

LOOK_AHEAD = 4
"""Requests looked ahead: more gain little on networks and lose as much elsewhere (bench/heuristics.py)."""
MAX_COMBINATIONS = 32
"""Combinations kept."""
MAX_PLACEMENTS = 80_000
"""Placements in all, one request in one combination each: large problems keep fewer combinations."""


def context_pool(problem: Problem, context: int = LOOK_AHEAD, deadline: Deadline = NO_DEADLINE) -> Plan:
    """Return the nodes of ``context_pool_nodes``, one after another. Guarantee: but for alignment the peak is
    the sum of the nodes' sizes, and so at most naive's."""
    return nodes_in_a_row(problem, context_pool_nodes(problem, context, deadline=deadline))


def context_pool_nodes(
    problem: Problem,
    context: int = LOOK_AHEAD,
    width: int | None = None,
    deadline: Deadline = NO_DEADLINE,
) -> PoolNodes:
    """Buffers by start of lifetime, each in a free node, enlarged where it is too small, or in a new one: the
    choice that leads to the fewest bytes in all nodes once the next ``context`` buffers have theirs, then to
    the fewest unused bytes in nodes that are in use."""
    order = requests(problem)
    few = max(1, min(MAX_COMBINATIONS, MAX_PLACEMENTS // max(1, len(order)))) if width is None else width
    chosen = look_ahead(order, _NodePool((), ()), _options, _after, context, few, deadline)
    node_of: list[int | None] = [None] * len(problem.buffers)
    sizes: list[int] = []
    for request, node in zip(order, chosen, strict=True):
        node_of[request.number] = node
        sizes += [0] if node == len(sizes) else []
        sizes[node] = max(sizes[node], request.size)
    return PoolNodes(tuple(sizes), tuple(node_of))


class _NodePool(NamedTuple):
    """The size of each node in bytes, and the position from which it is free."""

    sizes: tuple[int, ...]
    free_from: tuple[int, ...]


def _options(pool: _NodePool, request: AllocationRequest) -> list[WeighedPlace[int]]:
    """One free node of each size, and a new one, with the bytes of all nodes and the node's unused ones."""
    size, total = request.size, sum(pool.sizes)
    found: list[WeighedPlace[int]] = []
    seen: set[int] = set()
    for node, (node_size, free_from) in enumerate(zip(pool.sizes, pool.free_from, strict=True)):
        if free_from <= request.start and node_size not in seen:
            seen.add(node_size)
            found.append((total + max(0, size - node_size), max(0, node_size - size), node))
    found.append((total + size, 0, len(pool.sizes)))
    return found


def _after(pool: _NodePool, request: AllocationRequest, node: int) -> _NodePool:
    node_size = max(request.size, *pool.sizes[node : node + 1], 0)
    sizes = (*pool.sizes[:node], node_size, *pool.sizes[node + 1 :])
    return _NodePool(sizes, (*pool.free_from[:node], request.stop, *pool.free_from[node + 1 :]))
