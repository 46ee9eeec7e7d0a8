"""ExecuTorch's memory planner ``greedy``, step by step.

Buffers come by falling size, of equal ones the last first, and take the first shared object none of whose
buffers is alive with them; else the first one where there is space above those that are; else one of their
own. Objects then lie one above another.

Source: executorch 1.5.1, exir/memory_planning.py: ``greedy``, ``pick_shared_obj``.
"""

from __future__ import annotations

from bisect import insort
from dataclasses import dataclass, field

from chipmodel.model.plan import Buffer, Plan, Problem


@dataclass(slots=True)
class _SharedObject:
    bytes: int
    placed: list[tuple[Buffer, int]] = field(default_factory=list[tuple[Buffer, int]])

    def top(self, buffer: Buffer) -> int | None:
        """The end of the highest buffer inside that is alive with ``buffer``; None where there is none."""
        return max((at + other.bytes for other, at in self.placed if other.conflicts(buffer)), default=None)


def executorch_greedy(problem: Problem) -> Plan:
    """Offsets (bytes) for the buffers of ``problem``, whose sizes are multiples of their alignments."""
    ordered: list[Buffer] = []
    for buffer in problem.buffers:
        insort(ordered, buffer, key=lambda each: each.bytes)
    objects: list[_SharedObject] = []
    for buffer in reversed(ordered):
        _place(objects, buffer)
    offsets: dict[str, int] = {}
    bottom = 0
    for shared in objects:
        offsets.update({buffer.name: bottom + at for buffer, at in shared.placed})
        bottom += shared.bytes
    return Plan(offsets)


def _place(objects: list[_SharedObject], buffer: Buffer) -> None:
    for shared in objects:
        if shared.top(buffer) is None:
            shared.placed.append((buffer, 0))
            return
    for shared in objects:
        top = shared.top(buffer)
        if top and top + buffer.bytes <= shared.bytes:
            shared.placed.append((buffer, top))
            return
    objects.append(_SharedObject(buffer.bytes, [(buffer, 0)]))
