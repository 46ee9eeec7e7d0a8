"""Lower bounds on the peak of any plan."""

from __future__ import annotations

from collections import Counter

from chipmodel.interval import merged
from chipmodel.plan import Problem


def contention(problem: Problem) -> int:
    """The largest sum of live bytes at any position: no plan's peak can be below it."""
    change: Counter[int] = Counter()
    for buffer in problem.buffers:
        for interval in merged(buffer.live):
            change[interval.start] += buffer.bytes
            change[interval.stop] -= buffer.bytes
    live = most = 0
    for position in sorted(change):
        live += change[position]
        most = max(most, live)
    return most
