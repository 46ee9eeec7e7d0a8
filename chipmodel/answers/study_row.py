"""Data of studies: a point to plan and simulate, and the row with its results."""

from __future__ import annotations

from dataclasses import field, replace
from typing import Literal

from chipmodel.model.time_bound import PlanSpace
from chipmodel.records import dataclass

Status = Literal["optimal", "feasible", "infeasible", "unknown", "does not fit", "impossible", "failed"]
"""``optimal`` where the peak is proven smallest; ``infeasible`` and ``does not fit`` where there is no plan
within the capacity, proven or not; ``unknown`` within the limits; ``impossible`` where bytes alone rule out
every plan, so that none was sought; ``failed`` with an ``error``."""
Buffers = Literal["same", "own", ""]
"""``same`` where all packers of a case pack the buffers of one schedule, ``own`` where each packer takes part
in the schedule that it packs; empty for a packing."""


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
    """Seconds for the whole point, but its simulation."""
    node_limit: int | None = None
    cascade: str = "off"
    """Whether ops may run in stripes, one after another: ``auto`` or ``off``; empty for a packing."""
    buffers: Buffers = "own"
    """Whose schedule made the buffers that are packed."""


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
    """Wall-clock time that the point took; what was known from another point of its case took none."""
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
    """The error message of a ``failed`` point; of one without a plan, the reason."""
    psram_bytes: int | None = None
    """Weights and tensors in Psram; None for packings."""
    psram_capacity_bytes: int | None = None
    """Psram of the chip."""
    bound_space: PlanSpace | None = None
    """The plans that ``lower_bound_cycles`` holds for; None without a plan."""
    schedule_seconds: float | None = None
    """Processor time of the schedule: the streamer with the packings that it asks for. All points of a case
    with the ``same`` buffers have that of their one schedule."""
    packer_seconds: float | None = None
    """Processor time of the packer; with ``own`` buffers, wall clock of its packings in the last round."""
    bound_seconds: float | None = None
    """Processor time of the bound on cycles."""
    simulation_seconds: float | None = None
    """Processor time of the simulation."""
    code: str = ""
    """The version of the code that answered (``chipmodel.studies.code_version``)."""
    origin: str = ""
    """Versions of software, and the machine, that answered."""
    answered: str = ""
    """When, in UTC (ISO 8601)."""
    workload_digest: str = ""
    """The hash of the workload's content."""
    chip_digest: str = ""
    """The hash of the chip as it was varied; empty for packings."""
    microjoules: float | None = None
    """Energy of the run; None where the chip file says nothing of it."""
    merger_lower_bound_bytes: int | None = None
    """No packer has a lower peak with the point's merger; None where that is not known."""
    costs: tuple[tuple[str, float], ...] = ()
    """The study's own columns of the design, the first of which is its cost; added when a store is read."""

    @property
    def peak_gap(self) -> float | None:
        """How far the peak is above its bound, as a share of the bound."""
        return _gap(self.peak_bytes, self.peak_lower_bound_bytes)

    @property
    def merger_gap(self) -> float | None:
        """What the merger loses with any packer: its own bound above that of every merger, as a share."""
        return _gap(self.merger_lower_bound_bytes, self.peak_lower_bound_bytes)

    @property
    def packer_gap(self) -> float | None:
        """What the packer loses with its merger: the peak above the merger's own bound, as a share."""
        return _gap(self.peak_bytes, self.merger_lower_bound_bytes)

    @property
    def cycle_gap(self) -> float | None:
        """How far the cycles are above their bound, as a share of the bound."""
        return _gap(self.total_cycles, self.lower_bound_cycles)

    @property
    def timeless(self) -> Row:
        """The row without what differs from run to run."""
        steps = tuple(replace(step, seconds=0.0) for step in self.trajectory)
        row = replace(self, seconds=0.0, schedule_seconds=None, packer_seconds=None, trajectory=steps)
        return replace(row, bound_seconds=None, simulation_seconds=None, code="", origin="", answered="")

    def refused(self, error: str) -> Row:
        """The row without its answer, for that reason."""
        return Row(
            self.point, self.key, "failed", self.seconds, error=error, capacity_bytes=self.capacity_bytes,
            code=self.code, origin=self.origin, answered=self.answered, workload_digest=self.workload_digest,
            chip_digest=self.chip_digest, problem=self.problem, costs=self.costs,
        )  # fmt: skip

    @property
    def fits(self) -> bool:
        """Whether there is a plan within the capacities."""
        return self.status in ("optimal", "feasible")


def _gap(value: int | None, bound: int | None) -> float | None:
    return None if value is None or not bound else value / bound - 1
