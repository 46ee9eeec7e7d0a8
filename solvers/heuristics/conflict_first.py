"""TVM's greedy by conflicts: whoever is alive together with the most others is placed first.

After apache/tvm, src/tir/usmp/algo/greedy.cc (``greedy_by_conflicts``), where gaps are never looked for.
"""

from __future__ import annotations

from chipmodel.model.plan import Plan, Problem
from solvers.core.alignment import align
from solvers.core.conflicts import conflict_counts
from solvers.core.first_fit import PlacedByTime


def conflict_first(problem: Problem) -> Plan:
    """Buffers by falling number of conflicts, then of bytes, each on top of every placed one that it
    conflicts with. Guarantee: but for alignment never above naive's peak."""
    conflicts = conflict_counts(problem)
    order = sorted(range(len(conflicts)), key=lambda i: (-conflicts[i], -problem.buffers[i].bytes))
    placed = PlacedByTime(problem)
    offsets = [0] * len(order)
    for index in order:
        _, highs = placed.rivals(index)
        top = int(highs.max()) if len(highs) else 0
        offsets[index] = align(top, problem.buffers[index].alignment)
        placed.add(index, offsets[index])
    return Plan({b.name: offsets[i] for i, b in enumerate(problem.buffers)})
