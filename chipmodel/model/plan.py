"""Buffers, packing problems and plans."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

from chipmodel.geometry.interval import Interval
from chipmodel.model.certificate import Certificate
from chipmodel.records import dataclass

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
    def parts(self) -> int:
        """The parts of all lifetimes together."""
        return sum(len(b.live) for b in self.buffers)

    @property
    def plain(self) -> bool:
        """Whether only lifetimes, alignment and capacity constrain the offsets."""
        return self.nested and not self.colocated

    @property
    def nested(self) -> bool:
        """Whether beyond that only groups of colocated buffers do, none of which are in two of them."""
        names = [name for group in self.colocated for name in group]
        odd = self.memories or self.separated or self.apart or len(set(names)) < len(names)
        return not odd and all(b.pinned is None for b in self.buffers)


@dataclass(frozen=True, slots=True)
class Plan:
    """An offset in bytes for every buffer, by name."""

    offsets: Mapping[str, int]
    arena: int = 0
    """The bytes that the packer allocates, where they are more than its buffers end at; else 0."""

    def top(self, problem: Problem) -> int:
        """The end of the highest buffer, in bytes."""
        return max((self.offsets[b.name] + b.bytes for b in problem.buffers), default=0)

    def peak(self, problem: Problem) -> int:
        """The bytes that the plan takes: its arena, or to the end of the highest buffer if that is more."""
        return max(self.arena, self.top(problem))


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
    merger_bound: int | None = None
    """No plan of the merger that made it has a lower peak, in bytes; None where that is not known."""
    trajectory: tuple[tuple[float, int | None, int], ...] = ()
    """Seconds, best peak and bound, at each change of peak or bound."""

    @property
    def gap(self) -> float:
        """``(peak - lower_bound) / lower_bound``, 0 for an empty problem."""
        return (self.peak - self.lower_bound) / self.lower_bound if self.lower_bound else 0.0


@dataclass(frozen=True, slots=True)
class PackingProgress:
    """The best plan so far, and what is proven: ``lower_bound <= optimum <= peak`` (bytes)."""

    seconds: float
    peak: int | None
    lower_bound: int
    stage: str
    """The current stage, in a few words."""
    KEYS: ClassVar = ("seconds", "peak_bytes=peak", "lower_bound_bytes=lower_bound", "stage")


@dataclass(frozen=True, slots=True)
class PackingTable:
    """A problem and its rows of text, kept to write them again with offsets (``workloads.packing``)."""

    problem: Problem
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    hints: Mapping[str, int]
    """Offsets from an earlier plan in bytes, by the name of the buffer."""
    notes: tuple[str, ...] = ()
    known_optimum: int | None = None
    """The smallest peak in bytes, where the problem was constructed so that it is known."""
