"""Place the largest buffer first, each in the smallest gap that holds it.

Source: the edge-framework patent (CN, 2021), and Pisarchyk and Lee 2020, algorithm 3, as in TensorFlow Lite's
greedy by size (docs/references.md).
"""

from __future__ import annotations

from chipmodel.model.plan import Buffer, Plan, Problem
from solvers.core.conflicts import Ints
from solvers.core.deadline import NO_DEADLINE, Deadline
from solvers.core.first_fit import free_gaps, placed_in_turn


def greedy_best_fit(problem: Problem, deadline: Deadline = NO_DEADLINE) -> Plan:
    """Buffers by falling size, each in the smallest gap (of equal ones the lowest) between placed buffers
    alive with it that holds it, or else above the last of them.

    Guarantee: every buffer rests on another or on 0, and but for alignment the peak is at most naive's. From
    the ``deadline`` on each is placed above all others.
    """
    order = sorted(range(len(problem.buffers)), key=lambda i: -problem.buffers[i].bytes)
    return placed_in_turn(problem, order, _tightest, deadline)


def _tightest(buffer: Buffer, lows: Ints, highs: Ints) -> int:
    starts, sizes = free_gaps(buffer, lows, highs)
    return int(starts[sizes.argmin() if len(sizes) else -1]) if buffer.bytes else 0
