"""A stack: memory is freed only from its top.

Source: after Arm Vela's LinearAlloc (ethosu.vela, tensor_allocation.py), which never frees: on distinct
tensors that is ``naive`` here (docs/references.md).
"""

from __future__ import annotations

from heapq import heappop, heappush

from chipmodel.geometry.interval import hull
from chipmodel.geometry.rounding import round_up
from chipmodel.model.plan import Plan, Problem


def linear(problem: Problem) -> Plan:
    """Start every buffer at the highest end of those still alive when its own lifetime begins.

    Buffers come by start of lifetime; in the holes of a lifetime its bytes stay allocated. Guarantee: of
    buffers alive together the later one lies above, and but for alignment the peak is at most naive's.
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
        offsets[index] = round_up(top, buffer.alignment)
        heappush(stack, (-(offsets[index] + buffer.bytes), -life.stop))
    return Plan({b.name: offsets[i] for i, b in enumerate(problem.buffers)})
