"""Place the largest buffer first, each in the smallest gap that holds it.

Source: the edge-framework patent (CN, 2021), and Pisarchyk and Lee 2020, algorithm 3, as in TensorFlow Lite's
greedy by size (docs/references.md).
"""

from __future__ import annotations

import numpy as np

from chipmodel.geometry.rounding import round_up
from chipmodel.model.plan import Buffer, Plan, Problem
from solvers.core.conflicts import Ints
from solvers.core.first_fit import PlacedByTime


def greedy_best_fit(problem: Problem) -> Plan:
    """Buffers by falling size, each in the smallest gap (of equal ones the lowest) between placed buffers
    alive with it that holds it, or else above the last of them.

    Guarantee: every buffer rests on another or on 0, and but for alignment the peak is at most naive's.
    """
    order = sorted(range(len(problem.buffers)), key=lambda i: -problem.buffers[i].bytes)
    placed = PlacedByTime(problem)
    offsets = [0] * len(order)
    for index in order:
        offsets[index] = _smallest_gap(problem.buffers[index], *placed.rivals(index))
        placed.add(index, offsets[index])
    return Plan({b.name: offsets[i] for i, b in enumerate(problem.buffers)})


def _smallest_gap(buffer: Buffer, lows: Ints, highs: Ints) -> int:
    if not len(lows) or not buffer.bytes:
        return 0
    by_low = np.argsort(lows)
    lows = lows[by_low]
    above: Ints = np.maximum.accumulate(highs[by_low])
    step = buffer.alignment
    starts = np.concatenate((np.zeros_like(above[:1]), -(-above[:-1] // step) * step))
    gaps = lows - starts
    holds = np.flatnonzero(gaps >= buffer.bytes)
    if not len(holds):
        return round_up(int(above[-1]), step)
    return int(starts[holds[gaps[holds].argmin()]])
