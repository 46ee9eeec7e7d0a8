"""Greedy by size with the smallest gap: S4's layout, and TensorFlow Lite's GreedyBySize family.

After Pisarchyk and Lee, "Efficient Memory Management for Deep Neural Net Inference", MLSys 2020 workshop,
algorithm 3, which S4 (inference frameworks) describes in words.
"""

from __future__ import annotations

import numpy as np

from chipmodel.model.plan import Buffer, Plan, Problem
from solvers.core.alignment import align
from solvers.core.first_fit import Ints, PlacedByTime


def greedy_best_fit(problem: Problem) -> Plan:
    """Buffers by falling bytes, each into the smallest gap between placed ones alive at some time with it
    that holds it (the lowest such gap), or else above the last of them.

    Guarantee: every buffer rests on another or on 0, and the peak is never above naive's but for alignment.
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
    room = lows - starts
    holds = np.flatnonzero(room >= buffer.bytes)
    if not len(holds):
        return align(int(above[-1]), step)
    return int(starts[holds[room[holds].argmin()]])
