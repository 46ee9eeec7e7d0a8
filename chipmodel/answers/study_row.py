"""Data of studies: a point to plan and simulate, and the row with its results."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from chipmodel.model.time_bound import PlanSpace

Status = Literal["optimal", "feasible", "infeasible", "unknown", "does not fit", "failed"]
"""``optimal`` where the peak is proven smallest; ``infeasible`` and ``does not fit`` where there is no plan
within the capacity, proven or not; ``unknown`` within the limits; ``failed`` with an ``error``."""


@dataclass(frozen=True, slots=True)
class Point:
    """One workload on one chip with one choice of planners: everything but the code that determines a row.

    ``chip``, ``merge``, ``streamer`` and ``cascade`` are empty where the workload is a packing (a CSV of
    buffers).
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
    """Seconds for each planner that searches."""
    node_limit: int | None = None
    cascade: str = "off"
    """Whether ops may run in stripes, one after another: ``auto`` or ``off``; empty for a packing."""


@dataclass(frozen=True, slots=True)
class Improved:
    """An improvement during a search: the best peak so far and the bound, in bytes, at ``seconds``."""

    seconds: float
    peak_bytes: int | None
    lower_bound_bytes: int


@dataclass(frozen=True, slots=True)
class Row:
    """The results of a point. Bytes and cycles are None where there is no plan, cycles also for packings."""

    point: Point
    key: str
    """The content hash under which it is stored."""
    status: Status
    seconds: float
    """Wall-clock time of planning and simulating."""
    peak_bytes: int | None = None
    peak_lower_bound_bytes: int | None = None
    capacity_bytes: int | None = None
    """SharedMemory of the chip, or the capacity of the packing."""
    total_cycles: int | None = None
    lower_bound_cycles: int | None = None
    sync_cycles: int | None = None
    """Cycles of the same program with every load waited for at once; None where that was not simulated."""
    npu_busy_cycles: int | None = None
    dma_busy_cycles: int | None = None
    milliseconds: float | None = None
    """``total_cycles`` at the chip's clock."""
    trajectory: tuple[Improved, ...] = field(default=())
    problem: str = ""
    """A digest of the packing problem without its capacity: a bound that one row proves holds for all rows
    with the same digest. Empty where there is no problem, and on several cores, which have one each."""
    error: str = ""
    """The error message of a ``failed`` point, or of one for which no schedule fits."""
    psram_bytes: int | None = None
    """Weights and tensors in Psram; None for packings."""
    psram_capacity_bytes: int | None = None
    """Psram of the chip."""
    bound_space: PlanSpace | None = None
    """The plans that ``lower_bound_cycles`` holds for; None without a plan."""

    @property
    def peak_gap(self) -> float | None:
        """How far the peak is above its bound, as a share of the bound."""
        return _gap(self.peak_bytes, self.peak_lower_bound_bytes)

    @property
    def cycle_gap(self) -> float | None:
        """How far the cycles are above their bound, as a share of the bound."""
        return _gap(self.total_cycles, self.lower_bound_cycles)

    @property
    def fits(self) -> bool:
        """Whether there is a plan within the capacities."""
        if self.peak_bytes is None:
            return False
        return self.fits_psram and (self.capacity_bytes is None or self.peak_bytes <= self.capacity_bytes)

    @property
    def fits_psram(self) -> bool:
        """Whether weights and tensors are within Psram, as far as that is known."""
        if self.psram_bytes is None or self.psram_capacity_bytes is None:
            return True
        return self.psram_bytes <= self.psram_capacity_bytes


def _gap(value: int | None, bound: int | None) -> float | None:
    return None if value is None or not bound else value / bound - 1
