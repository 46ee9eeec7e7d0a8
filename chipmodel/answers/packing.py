"""The checked answer of a packer to one packing problem."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from chipmodel.model.live_sets import AliveBuffers, LiveBytesCurve, largest_alive, live_bytes_curve
from chipmodel.model.plan import Buffer, PackingProgress, Plan, Problem, Status


@dataclass(frozen=True)
class PackingAnswer:
    """What a packer found, checked. ``plan`` keeps all constraints but the capacity; see ``fits``."""

    source: str
    problem: Problem
    packer: str
    status: Status
    plan: Plan | None
    lower_bound: int
    seconds: float
    proof: str = ""
    explanation: tuple[str, ...] = ()
    """Names of buffers that alone do not fit, if it is infeasible."""
    certificate: Mapping[str, object] | None = None
    verified: bool | None = None
    """Whether the certificate was verified; None where the bound rests on a solver's word."""
    nodes: int = 0
    """Nodes of search."""
    trajectory: tuple[PackingProgress, ...] = ()
    notes: tuple[str, ...] = ()
    known_optimum_bytes: int | None = None
    """The optimum, where the problem was made with one."""
    KEYS: ClassVar = (
        *("source", "packer", "status", "fits", "peak_bytes=peak", "arena_bytes?"),
        *("lower_bound_bytes=lower_bound", "gap", "seconds", "buffers", "capacity_bytes=problem.capacity"),
        *("memories=problem.memories", "proof", "certificate", "certificate_verified=verified", "nodes"),
        *("explanation", "largest_live_set=live_set", "trajectory", "notes", "known_optimum_bytes?"),
        "offsets=plan.offsets",
    )

    @property
    def buffers(self) -> int:
        """The number of buffers."""
        return len(self.problem.buffers)

    @property
    def arena_bytes(self) -> int | None:
        """The packer's arena, if it ends beyond the highest buffer."""
        return (self.plan and self.plan.arena) or None

    @cached_property
    def peak(self) -> int | None:
        """The bytes that the plan takes: its arena, or to the end of the highest buffer if that is more."""
        return None if self.plan is None else self.plan.peak(self.problem)

    @property
    def arena(self) -> str:
        """Where the plan has an arena beyond its highest buffer, both in words."""
        if self.plan is None or not self.plan.arena:
            return ""
        return f"arena; buffers end at {self.plan.top(self.problem):,} B"

    @property
    def gap(self) -> float | None:
        """``(peak - lower_bound) / lower_bound``, 0 where the bound is 0; None without a plan."""
        if self.peak is None:
            return None
        return (self.peak - self.lower_bound) / self.lower_bound if self.lower_bound else 0.0

    @property
    def fits(self) -> bool:
        """Whether there is a plan, within the capacity if there is one."""
        capacity = self.problem.capacity
        return self.peak is not None and (capacity is None or self.peak <= capacity)

    @cached_property
    def curve(self) -> LiveBytesCurve:
        """Bytes alive over time."""
        return live_bytes_curve(self.problem)

    @cached_property
    def live_set(self) -> AliveBuffers | None:
        """The largest live set."""
        return largest_alive(self.problem, self.curve)

    @cached_property
    def unplaceable(self) -> tuple[Buffer, ...]:
        """The buffers of ``explanation``, in the problem's order."""
        names = set(self.explanation)
        return tuple(b for b in self.problem.buffers if b.name in names)
