"""Buffers, packing problems and plans, and the check that every plan must pass.

``check`` is deliberately simple and slow: every pair of buffers, every pair of intervals. It shares only
these data types with the planners.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from chipmodel.model.certificate import Certificate
from chipmodel.model.interval import Interval

Status = Literal["optimal", "feasible", "infeasible", "unknown"]


@dataclass(frozen=True, slots=True)
class Buffer:
    """Bytes with a lifetime. ``live`` holds intervals of positions in the linearised program."""

    name: str
    bytes: int
    live: tuple[Interval, ...]
    alignment: int = 1
    pinned: int | None = None
    """The offset that it must have; None for any."""
    memories: tuple[str, ...] = ()
    """The memories of the problem that it may lie in; empty means any."""

    def conflicts(self, other: Buffer) -> bool:
        """Whether both are alive at some position, and so may not share a byte."""
        return any(a.overlaps(b) for a in self.live for b in other.live)


@dataclass(frozen=True, slots=True)
class Memory:
    """One of several memories (or banks) in a problem's address space: offsets ``[start, stop)``."""

    name: str
    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class Problem:
    """Buffers to place in ``[0, capacity)`` bytes; without a capacity only the peak is minimised.

    Where there are ``memories``, which do not overlap, each buffer lies within one of them.
    """

    buffers: tuple[Buffer, ...]
    capacity: int | None = None
    memories: tuple[Memory, ...] = ()
    colocated: tuple[tuple[str, ...], ...] = ()
    """Groups of buffers with the same offset (aliases), which may share bytes while alive."""
    separated: tuple[tuple[str, str], ...] = ()
    """Pairs that must not share a byte, even where their lifetimes are disjoint."""
    apart: tuple[tuple[str, str], ...] = ()
    """Pairs that must not lie in the same memory."""

    @property
    def plain(self) -> bool:
        """Whether only lifetimes, alignment and capacity constrain the offsets."""
        odd = self.memories or self.colocated or self.separated or self.apart
        return not odd and all(b.pinned is None for b in self.buffers)


@dataclass(frozen=True, slots=True)
class Plan:
    """An offset in bytes for every buffer, by name."""

    offsets: Mapping[str, int]

    def peak(self, problem: Problem) -> int:
        """The end of the highest buffer, in bytes."""
        return max((self.offsets[b.name] + b.bytes for b in problem.buffers), default=0)


@dataclass(frozen=True, slots=True)
class Solved:
    """A packer's result. ``lower_bound`` (bytes) holds for the peak of any plan."""

    plan: Plan
    status: Status
    lower_bound: int
    peak: int
    seconds: float
    planner: str
    proof: str = ""
    """The proof of ``status``, in a few words."""
    certificate: Certificate | None = None
    """The proof of ``lower_bound``; ``chipmodel.verify.certificate`` verifies it."""
    explanation: tuple[str, ...] = ()
    """For an infeasible problem: names of buffers that do not fit even alone."""
    nodes: int = 0
    """Search nodes of an exact planner."""
    trajectory: tuple[tuple[float, int | None, int], ...] = ()
    """Seconds, best peak and bound, at each change of peak or bound."""

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
        violations += _alone(buffer, offset, problem)
    for index, (a, a_offset) in enumerate(placed):
        for b, b_offset in placed[:index]:
            violations += _pair(problem, b, b_offset, a, a_offset)
    return tuple(violations)


def _pair(problem: Problem, a: Buffer, a_offset: int, b: Buffer, b_offset: int) -> list[str]:
    violations: list[str] = []
    if any(a.name in group and b.name in group for group in problem.colocated):
        if a_offset != b_offset:
            violations.append(
                f"buffers {a.name!r} at {a_offset} and {b.name!r} at {b_offset} are to be colocated"
            )
        return violations
    pairs = ((a.name, b.name), (b.name, a.name))
    if any(pair in problem.apart for pair in pairs):
        home = _home(problem, a, a_offset)
        if home is not None and home == _home(problem, b, b_offset):
            violations.append(f"buffers {a.name!r} and {b.name!r} are both in memory {home.name!r}")
    low = max(a_offset, b_offset)
    high = min(a_offset + a.bytes, b_offset + b.bytes)
    if low < high and a.conflicts(b):
        violations.append(
            f"buffers {a.name!r} and {b.name!r} share bytes [{low}, {high}) while both are "
            f"alive: {_spans(a)} and {_spans(b)}"
        )
    elif low < high and any(pair in problem.separated for pair in pairs):
        violations.append(f"buffers {a.name!r} and {b.name!r}, to be separated, share bytes [{low}, {high})")
    return violations


def _home(problem: Problem, buffer: Buffer, offset: int) -> Memory | None:
    for memory in problem.memories:
        if memory.start <= offset and offset + buffer.bytes <= memory.stop:
            return memory
    return None


def _alone(buffer: Buffer, offset: int, problem: Problem) -> list[str]:
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
        violations.append(f"buffer {buffer.name!r} is at {offset}, pinned to {buffer.pinned}")
    if problem.memories:
        home = _home(problem, buffer, offset)
        if home is None:
            violations.append(f"buffer {buffer.name!r} at {offset} lies in no one memory")
        elif buffer.memories and home.name not in buffer.memories:
            allowed = ", ".join(buffer.memories)
            violations.append(f"buffer {buffer.name!r} is in memory {home.name!r}, not in {allowed}")
    return violations


def _spans(buffer: Buffer) -> str:
    return " ".join(f"[{i.start}, {i.stop})" for i in buffer.live)
