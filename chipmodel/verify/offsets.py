"""What is wrong with the offset of a buffer, and with those of two; shares nothing with the planners, or with
the other verifiers, but the vocabulary.
"""

from __future__ import annotations

from chipmodel.geometry.interval import Interval
from chipmodel.model.plan import Buffer, Memory, Problem


def buffer_violations(buffer: Buffer, offset: int, problem: Problem) -> list[str]:
    """Describe what is wrong with the buffer's offset, whatever the others have."""
    violations: list[str] = []
    capacity = problem.capacity
    if offset < 0:
        violations.append(f"buffer {buffer.name!r} starts at {offset}, below 0")
    if offset % buffer.alignment:
        violations.append(f"buffer {buffer.name!r} at {offset} is not aligned to {buffer.alignment}")
    if capacity is not None and offset + buffer.bytes > capacity:
        violations.append(
            f"buffer {buffer.name!r} ends at {offset + buffer.bytes}, beyond the capacity of {capacity}"
        )
    if buffer.pinned is not None and offset != buffer.pinned:
        violations.append(f"buffer {buffer.name!r} is at {offset}, but is pinned to {buffer.pinned}")
    if problem.memories:
        memory = _memory_of(problem, buffer, offset)
        if memory is None:
            violations.append(f"buffer {buffer.name!r} at {offset} does not lie within one memory")
        elif buffer.memories and memory.name not in buffer.memories:
            allowed = ", ".join(buffer.memories)
            violations.append(f"buffer {buffer.name!r} is in memory {memory.name!r}, not in {allowed}")
    return violations


def pair_violations(problem: Problem, a: Buffer, a_offset: int, b: Buffer, b_offset: int) -> list[str]:
    """Describe what is wrong with the offsets of the two together."""
    violations: list[str] = []
    if any(a.name in group and b.name in group for group in problem.colocated):
        if a_offset != b_offset:
            violations.append(
                f"buffers {a.name!r} at {a_offset} and {b.name!r} at {b_offset} must have the same offset"
            )
        return violations
    pairs = ((a.name, b.name), (b.name, a.name))
    if any(pair in problem.apart for pair in pairs):
        memory = _memory_of(problem, a, a_offset)
        if memory is not None and memory == _memory_of(problem, b, b_offset):
            violations.append(
                f"buffers {a.name!r} and {b.name!r} are both in memory {memory.name!r}, but must be apart"
            )
    shared = Interval(max(a_offset, b_offset), min(a_offset + a.bytes, b_offset + b.bytes))
    if not len(shared):
        return violations
    what = f"buffers {a.name!r} and {b.name!r} share bytes {shared}"
    if a.conflicts(b):
        violations.append(f"{what} while both are alive: {_lifetimes(a)} and {_lifetimes(b)}")
    elif any(pair in problem.separated for pair in pairs):
        violations.append(f"{what}, but must be separated")
    return violations


def _memory_of(problem: Problem, buffer: Buffer, offset: int) -> Memory | None:
    for memory in problem.memories:
        if memory.start <= offset and offset + buffer.bytes <= memory.stop:
            return memory
    return None


def _lifetimes(buffer: Buffer) -> str:
    return " ".join(map(str, buffer.live))
