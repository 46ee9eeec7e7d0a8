"""A stack: memory that is given back only while it is on top.

What a bump pointer does, and the least reuse that there is. Arm Vela's LinearAlloc (ethosu.vela,
tensor_allocation.py) does not even go back: on distinct tensors it is what ``naive`` is here.
"""

from __future__ import annotations

from heapq import heappop, heappush

from chipmodel.model.interval import hull
from chipmodel.model.plan import Plan, Problem
from solvers.core.alignment import align


def linear(problem: Problem) -> Plan:
    """Every buffer starts where the highest one ends that is still alive when its own life begins.

    Buffers come in the order in which they are first alive; in the holes of a lifetime its bytes stay
    taken. Guarantee: of buffers alive together the later one lies above, and a peak never above naive's.
    """
    lives = [hull(b.live) for b in problem.buffers]
    order = sorted(range(len(lives)), key=lambda i: lives[i].start)
    stack: list[tuple[int, int]] = []
    offsets: dict[int, int] = {}
    for index in order:
        buffer, life = problem.buffers[index], lives[index]
        if not buffer.bytes or not len(life):
            offsets[index] = 0
            continue
        while stack and -stack[0][1] <= life.start:
            heappop(stack)
        top = -stack[0][0] if stack else 0
        offsets[index] = align(top, buffer.alignment)
        heappush(stack, (-(offsets[index] + buffer.bytes), -life.stop))
    return Plan({b.name: offsets[i] for i, b in enumerate(problem.buffers)})
