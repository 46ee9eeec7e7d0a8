"""Place the largest buffer first, each in the smallest gap that holds it.

Source: the edge-framework patent (CN, 2021), and Pisarchyk and Lee 2020, algorithm 3, as in TensorFlow Lite's
greedy by size (docs/references.md).
"""

from __future__ import annotations

from chipmodel.model.plan import Plan, Problem
from solvers.core.first_fit import PlacedByTime, free_gaps


def greedy_best_fit(problem: Problem) -> Plan:
    """Buffers by falling size, each in the smallest gap (of equal ones the lowest) between placed buffers
    alive with it that holds it, or else above the last of them.

    Guarantee: every buffer rests on another or on 0, and but for alignment the peak is at most naive's.
    """
    order = sorted(range(len(problem.buffers)), key=lambda i: -problem.buffers[i].bytes)
    placed = PlacedByTime(problem)
    offsets = [0] * len(order)
    for index in order:
        starts, sizes = free_gaps(problem.buffers[index], *placed.rivals(index))
        if problem.buffers[index].bytes:
            offsets[index] = int(starts[sizes.argmin() if len(sizes) else -1])
        placed.add(index, offsets[index])
    return Plan({b.name: offsets[i] for i, b in enumerate(problem.buffers)})
