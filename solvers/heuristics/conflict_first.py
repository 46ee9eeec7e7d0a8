"""Place the buffer that is alive together with the most others first, each above all it conflicts with.

Source: Apache TVM USMP, src/tir/usmp/algo/greedy.cc, ``greedy_by_conflicts`` (docs/references.md).
"""

from __future__ import annotations

from chipmodel.geometry.rounding import round_up
from chipmodel.model.plan import Buffer, Plan, Problem
from solvers.core.conflicts import Ints, conflict_counts
from solvers.core.deadline import NO_DEADLINE, Deadline
from solvers.core.first_fit import placed_in_turn


def conflict_first(problem: Problem, deadline: Deadline = NO_DEADLINE) -> Plan:
    """Buffers by falling number of conflicts, then of bytes, each above every placed one that it conflicts
    with, from the ``deadline`` on above all; gaps are not used. Guarantee: but for alignment the peak is at
    most naive's."""
    conflicts = conflict_counts(problem)
    order = sorted(range(len(conflicts)), key=lambda i: (-conflicts[i], -problem.buffers[i].bytes))
    return placed_in_turn(problem, order, _above, deadline)


def _above(buffer: Buffer, _: Ints, highs: Ints) -> int:
    return round_up(int(highs.max()) if len(highs) else 0, buffer.alignment)
