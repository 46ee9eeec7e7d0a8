"""The memory pool of common inference frameworks.

Nodes are allocated once and reused; a request may take a node that is larger than itself, but not too much
larger, and the rest of the node is wasted.

Source: the edge-framework patent (CN, 2021), its baseline; ncnn's PoolAllocator (docs/references.md).
"""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heappop, heappush
from math import lcm

from chipmodel.geometry.interval import hull
from chipmodel.geometry.rounding import round_up
from chipmodel.model.plan import Plan, Problem
from chipmodel.records import dataclass
from solvers.core.deadline import NO_DEADLINE, Deadline

REUSE_THRESHOLD = 0.75
"""Tencent/ncnn, src/allocator.cpp: ``size_compare_ratio`` starts as 192 of 256."""


@dataclass(frozen=True, slots=True)
class PoolNodes:
    """``sizes`` in bytes, in order of allocation, and the node of every buffer (by index)."""

    sizes: tuple[int, ...]
    node_of: tuple[int | None, ...]


def pool(
    problem: Problem, reuse_threshold: float = REUSE_THRESHOLD, deadline: Deadline = NO_DEADLINE
) -> Plan:
    """Return the nodes of ``pool_nodes``, one after another. Guarantee: but for alignment the peak is the sum
    of the nodes' sizes, and so at most naive's."""
    return nodes_in_a_row(problem, pool_nodes(problem, reuse_threshold, deadline))


def pool_nodes(
    problem: Problem, reuse_threshold: float = REUSE_THRESHOLD, deadline: Deadline = NO_DEADLINE
) -> PoolNodes:
    """Buffers by start of lifetime, each in the node that has been free for longest of those that are large
    enough and of which it fills more than the share ``reuse_threshold`` (0 to below 1), or else in a new one
    of its own size. In the holes of a lifetime the node stays taken. From the ``deadline`` on nodes are new.
    """
    lives = [hull(b.live) for b in problem.buffers]
    solid = [i for i, b in enumerate(problem.buffers) if b.bytes and len(lives[i])]
    sizes: list[int] = []
    node_of: list[int | None] = [None] * len(lives)
    free_nodes: list[int] = []
    releases: list[tuple[int, int, int]] = []
    for index in sorted(solid, key=lambda i: lives[i].start):
        while releases and releases[0][0] <= lives[index].start:
            free_nodes.append(heappop(releases)[2])
        size = problem.buffers[index].bytes
        fitting = (n for n in free_nodes if size <= sizes[n] and size > reuse_threshold * sizes[n])
        node = None if deadline.over else next(fitting, None)
        if node is None:
            node = len(sizes)
            sizes.append(size)
        else:
            free_nodes.remove(node)
        node_of[index] = node
        heappush(releases, (lives[index].stop, index, node))
    return PoolNodes(tuple(sizes), tuple(node_of))


def nodes_in_a_row(problem: Problem, nodes: PoolNodes) -> Plan:
    """Return the plan with the nodes one after another, aligned for their buffers; the others are at 0."""
    steps = [1] * len(nodes.sizes)
    for buffer, node in zip(problem.buffers, nodes.node_of, strict=True):
        if node is not None:
            steps[node] = lcm(steps[node], buffer.alignment)
    starts = in_a_row(nodes.sizes, steps)
    offsets = (0 if node is None else starts[node] for node in nodes.node_of)
    return Plan({b.name: offset for b, offset in zip(problem.buffers, offsets, strict=True)})


def in_a_row(sizes: Iterable[int], steps: Iterable[int]) -> list[int]:
    """Return the starts of ``sizes`` bytes one after another, each at a multiple of its step."""
    starts: list[int] = []
    end = 0
    for size, step in zip(sizes, steps, strict=True):
        starts.append(round_up(end, step))
        end = starts[-1] + size
    return starts
