"""A study's vocabulary: a point, which is one question, and a row, which is its answer."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Status = Literal["optimal", "feasible", "infeasible", "unknown", "does not fit", "failed"]
"""``optimal`` where the peak is proven smallest; ``infeasible`` and ``does not fit`` where there is no plan
within the capacity, proven or not; ``unknown`` within the limits; ``failed`` with an ``error``."""


@dataclass(frozen=True, slots=True)
class Point:
    """One workload on one chip with one choice of planners; everything that decides the answer but the code.

    ``chip``, ``merge`` and ``streamer`` are empty where the workload is a packing (a CSV of buffers).
    ``overrides`` are the study's ``set:``, sorted by field, as ``--set`` takes them.
    """

    workload: str
    chip: str
    packer: str
    merge: str
    streamer: str
    seed: int
    overrides: tuple[tuple[str, str], ...] = ()
    time_limit: float | None = None
    """Seconds, for each planner that searches."""
    node_limit: int | None = None


@dataclass(frozen=True, slots=True)
class Improved:
    """One step of a planner that searches: bytes of the best plan so far and of the bound, at ``seconds``."""

    seconds: float
    peak_bytes: int | None
    lower_bound_bytes: int


@dataclass(frozen=True, slots=True)
class Row:
    """A point's answer. Bytes and cycles are None where there is no plan, cycles for packings as well."""

    point: Point
    key: str
    """The content hash that it is stored by."""
    status: Status
    seconds: float
    """Of planning and simulating, wall clock."""
    peak_bytes: int | None = None
    peak_lower_bound_bytes: int | None = None
    capacity_bytes: int | None = None
    """SharedMemory of the chip, or what the packing has."""
    total_cycles: int | None = None
    lower_bound_cycles: int | None = None
    sync_cycles: int | None = None
    """Of the same program with every load waited for; None where that was not simulated."""
    npu_busy_cycles: int | None = None
    dma_busy_cycles: int | None = None
    milliseconds: float | None = None
    """``total_cycles`` in the chip's clock."""
    trajectory: tuple[Improved, ...] = field(default=())
    problem: str = ""
    """A digest of the packing problem, capacity aside: a bound that one row proved holds for all that have
    it. Empty where there is none, and on several cores, which have a problem each."""
    error: str = ""
    """What, where, the value and how to fix it; of a ``failed`` point, and where no schedule fits."""

    @property
    def peak_gap(self) -> float | None:
        """Share of its bound that the peak is above it."""
        return _gap(self.peak_bytes, self.peak_lower_bound_bytes)

    @property
    def cycle_gap(self) -> float | None:
        """Share of their bound that the cycles are above it."""
        return _gap(self.total_cycles, self.lower_bound_cycles)

    @property
    def fits(self) -> bool:
        """Whether there is a plan within the capacity."""
        if self.peak_bytes is None:
            return False
        return self.capacity_bytes is None or self.peak_bytes <= self.capacity_bytes


def _gap(value: int | None, bound: int | None) -> float | None:
    return None if value is None or not bound else value / bound - 1
