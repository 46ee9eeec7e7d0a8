"""Buffers, problems, plans, and the check that every plan passes.

``check`` is deliberately the slowest and plainest thing that can be right: every pair of buffers,
every pair of intervals. It shares nothing with the planners but this vocabulary.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from chipmodel.interval import Interval

Status = Literal["optimal", "feasible", "infeasible", "unknown"]


@dataclass(frozen=True, slots=True)
class Buffer:
    """Bytes with a lifetime. ``live`` holds intervals of positions in the linearised program."""

    name: str
    bytes: int
    live: tuple[Interval, ...]
    alignment: int = 1

    def conflicts(self, other: Buffer) -> bool:
        """Whether both are alive at some position, and so may not share a byte."""
        return any(a.overlaps(b) for a in self.live for b in other.live)


@dataclass(frozen=True, slots=True)
class Problem:
    """Buffers to place in ``[0, capacity)`` bytes; no capacity asks only for a small peak."""

    buffers: tuple[Buffer, ...]
    capacity: int | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """An offset in bytes for every buffer, by name."""

    offsets: Mapping[str, int]

    def peak(self, problem: Problem) -> int:
        """The end of the highest buffer, in bytes."""
        return max((self.offsets[b.name] + b.bytes for b in problem.buffers), default=0)


@dataclass(frozen=True, slots=True)
class Solved:
    """What a packer returns. ``lower_bound`` (bytes) holds for the peak of any plan."""

    plan: Plan
    status: Status
    lower_bound: int
    peak: int
    seconds: float
    planner: str

    @property
    def gap(self) -> float:
        """``(peak - lower_bound) / lower_bound``, 0 for an empty problem."""
        return (self.peak - self.lower_bound) / self.lower_bound if self.lower_bound else 0.0


def check(problem: Problem, plan: Plan) -> tuple[str, ...]:
    """Every way in which ``plan`` is wrong, in words; empty for a correct plan. O(n^2)."""
    violations: list[str] = []
    placed: list[tuple[Buffer, int]] = []
    for buffer in problem.buffers:
        if buffer.name not in plan.offsets:
            violations.append(f"buffer {buffer.name!r} has no offset")
            continue
        placed.append((buffer, plan.offsets[buffer.name]))
    for buffer, offset in placed:
        violations += _alone(buffer, offset, problem.capacity)
    for index, (a, a_offset) in enumerate(placed):
        for b, b_offset in placed[:index]:
            low = max(a_offset, b_offset)
            high = min(a_offset + a.bytes, b_offset + b.bytes)
            if low < high and a.conflicts(b):
                violations.append(
                    f"buffers {b.name!r} and {a.name!r} share bytes [{low}, {high}) while both are "
                    f"alive: {_spans(b)} and {_spans(a)}"
                )
    return tuple(violations)


def _alone(buffer: Buffer, offset: int, capacity: int | None) -> list[str]:
    violations: list[str] = []
    if offset < 0:
        violations.append(f"buffer {buffer.name!r} starts at {offset}, below 0")
    if offset % buffer.alignment:
        violations.append(f"buffer {buffer.name!r} at {offset} is not aligned to {buffer.alignment}")
    if capacity is not None and offset + buffer.bytes > capacity:
        violations.append(
            f"buffer {buffer.name!r} ends at {offset + buffer.bytes}, beyond the capacity of {capacity}"
        )
    return violations


def _spans(buffer: Buffer) -> str:
    return " ".join(f"[{i.start}, {i.stop})" for i in buffer.live)
