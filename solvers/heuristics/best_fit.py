"""Place the largest buffer first, each in the smallest gap that holds it.

Source: the edge-framework patent (CN, 2021), and Pisarchyk and Lee 2020, algorithm 3, as in TensorFlow Lite's
greedy by size (docs/references.md).
"""

from __future__ import annotations

from chipmodel.model.plan import Plan, Problem
from solvers.core.deadline import NO_DEADLINE, Deadline
from solvers.core.first_fit import PlacedByTime, free_gaps, stacked


def greedy_best_fit(problem: Problem, deadline: Deadline = NO_DEADLINE) -> Plan:
    """Buffers by falling size, each in the smallest gap (of equal ones the lowest) between placed buffers
    alive with it that holds it, or else above the last of them.

    Guarantee: every buffer rests on another or on 0, and but for alignment the peak is at most naive's. From
    the ``deadline`` on each is placed above all others.
    """
    order = sorted(range(len(problem.buffers)), key=lambda i: -problem.buffers[i].bytes)
    placed = PlacedByTime(problem)
    offsets: dict[str, int] = {}
    for turn, index in enumerate(order):
        if deadline.over:
            return stacked(problem, offsets, ((each,) for each in order[turn:]))
        buffer = problem.buffers[index]
        starts, sizes = free_gaps(buffer, *placed.rivals(index))
        at = int(starts[sizes.argmin() if len(sizes) else -1]) if buffer.bytes else 0
        offsets[buffer.name] = at
        placed.add(index, at)
    return Plan({b.name: offsets[b.name] for b in problem.buffers})
