"""Place the buffer that is alive together with the most others first, each above all it conflicts with.

Source: Apache TVM USMP, src/tir/usmp/algo/greedy.cc, ``greedy_by_conflicts`` (docs/references.md).
"""

from __future__ import annotations

from chipmodel.geometry.rounding import round_up
from chipmodel.model.plan import Plan, Problem
from solvers.core.conflicts import conflict_counts
from solvers.core.first_fit import PlacedByTime


def conflict_first(problem: Problem) -> Plan:
    """Buffers by falling number of conflicts, then of bytes, each above every placed one that it conflicts
    with; gaps are not used. Guarantee: but for alignment the peak is at most naive's."""
    conflicts = conflict_counts(problem)
    order = sorted(range(len(conflicts)), key=lambda i: (-conflicts[i], -problem.buffers[i].bytes))
    placed = PlacedByTime(problem)
    offsets = [0] * len(order)
    for index in order:
        _, highs = placed.rivals(index)
        top = int(highs.max()) if len(highs) else 0
        offsets[index] = round_up(top, problem.buffers[index].alignment)
        placed.add(index, offsets[index])
    return Plan({b.name: offsets[i] for i, b in enumerate(problem.buffers)})
