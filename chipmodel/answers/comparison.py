"""Several planners on one workload: the rows of ``chipmodel compare``."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from math import inf
from typing import ClassVar, TypeVar

from chipmodel.answers.result import Ordering
from chipmodel.files.document import MICROSECOND
from chipmodel.model.plan import Problem, Status
from chipmodel.model.time_bound import PlanSpace
from chipmodel.records import dataclass

Judged = TypeVar("Judged", bound="PeakRow")


def _relative_gap(value: int, bound: int) -> float:
    """``(value - bound) / bound``, 0 where the bound is 0."""
    return (value - bound) / bound if bound else 0.0


@dataclass(frozen=True, slots=True)
class PeakRow:
    """The peak of one packer, or why it ``refused`` the problem. Bytes, and seconds of wall clock."""

    packer: str
    peak: int | None = None
    lower_bound: int | None = None
    status: Status | None = None
    seconds: float = 0.0
    refused: str | None = None
    gap: float | None = None
    """``(peak - bound) / bound``, with the bound of the comparison; None without a plan."""
    fits: bool = False
    """Whether there is a plan, within the capacities of the comparison if there are any."""


@dataclass(frozen=True, slots=True)
class PackerRow(PeakRow):
    """The result of one packer."""

    unused: int | None = None
    """See ``model.live_sets.unused_bytes``."""
    nodes: int = 0
    """Nodes of search."""
    trajectory: tuple[tuple[float, int], ...] = ()
    """Seconds and best peak so far, of a packer that reports its progress."""
    KEYS: ClassVar = (
        *("packer", "refused", "status", "peak_bytes=peak", "lower_bound_bytes=lower_bound", "gap"),
        *("unused_bytes=unused", "fragmentation", "seconds", "fits", "nodes", "trajectory=steps"),
    )

    @property
    def fragmentation(self) -> float | None:
        """The unused bytes as a share of the peak; None without a plan."""
        if self.peak is None or self.unused is None:
            return None
        return self.unused / self.peak if self.peak else 0.0

    @property
    def steps(self) -> list[dict[str, float]]:
        """The ``trajectory`` as a document has it."""
        return [{"seconds": round(at, MICROSECOND), "peak_bytes": peak} for at, peak in self.trajectory]


@dataclass(frozen=True, slots=True)
class MergerRow(PeakRow):
    """The result of one merger of branch arms with one packer."""

    merge: str = ""
    merger_bound: int | None = None
    """No packer has a lower peak with this merger, in bytes; None where that is not known."""
    KEYS: ClassVar = (
        *("merge", "packer", "refused", "status", "peak_bytes=peak", "lower_bound_bytes=lower_bound"),
        *("merger_lower_bound_bytes=merger_bound", "gap", "seconds", "fits"),
    )

    @property
    def merger_optimal(self) -> bool:
        """Whether the peak is the smallest of this merger, though not of every merger."""
        return self.status != "optimal" and self.peak is not None and self.peak == self.merger_bound


@dataclass(frozen=True, slots=True)
class StreamerRow:
    """The result of a whole run with one streamer, or why it ``refused`` the program. Cycles and bytes."""

    streamer: str
    cycles: int | None = None
    lower_bound: int | None = None
    sync_cycles: int | None = None
    """Cycles of the same program with streamer ``sync``, where that has a plan."""
    milliseconds: float | None = None
    peak: int | None = None
    psram_bytes: int | None = None
    """Weights and tensors in Psram."""
    fits: bool = False
    """Whether the plan is within SharedMemory and Psram."""
    fits_psram: bool | None = None
    seconds: float = 0.0
    """Wall clock of planning and simulating."""
    refused: str | None = None
    bound_space: PlanSpace | None = None
    """The plans that ``lower_bound`` holds for."""
    cascades: tuple[str, ...] | None = None
    """The names of the plan's cascades."""
    microjoules: float | None = None
    """Energy of the run; None where the chip file says nothing of it."""
    KEYS: ClassVar = (
        *("streamer", "refused", "total_cycles=cycles", "lower_bound_cycles=lower_bound", "bound_space"),
        *("cascades", "gap", "sync_cycles", "milliseconds", "microjoules?", "peak_bytes=peak", "psram_bytes"),
        *("seconds", "fits", "fits_psram"),
    )

    @property
    def gap(self) -> float | None:
        """``(cycles - bound) / bound``; None without a plan."""
        return None if self.cycles is None else _relative_gap(self.cycles, self.lower_bound or 0)


@dataclass(frozen=True)
class PlannerComparison:
    """Packers and mergers on one problem of unknown capacity, and streamers on the whole program."""

    source: str
    chip: str | None
    """None for a packing problem, as are ``streamer`` and ``packer``."""
    problem: Problem
    capacity: int | None
    streamer: str | None = None
    """The streamer whose schedule the problem was made from."""
    packer: str | None = None
    """The packer of the streamers' runs."""
    packed: tuple[PackerRow, ...] = ()
    streamed: tuple[StreamerRow, ...] = ()
    merged: tuple[MergerRow, ...] = ()
    ordering: Ordering | None = None
    """The order of ops, where it was not the one given."""
    psram_bytes: int | None = None
    """Weights and tensors in Psram, with the schedule that the problem was made from; None without one."""
    psram_capacity: int | None = None
    KEYS: ClassVar = (
        *("workload=source", "chip", "streamer", "packer", "order=ordering?", "buffers"),
        *("capacity_bytes=capacity", "lower_bound_bytes=peak_bound", "psram_bytes"),
        *("psram_capacity_bytes=psram_capacity", "fits_psram", "packers=packed", "merges=merged"),
        "streamers=streamed",
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "packed", tuple(map(self._judged, self.packed)))
        object.__setattr__(self, "merged", tuple(map(self._judged, self.merged)))

    @cached_property
    def bound(self) -> int:
        """The highest lower bound on the peak that any of the packers and mergers proved."""
        rows: tuple[PeakRow, ...] = (*self.packed, *self.merged)
        return max((row.lower_bound or 0 for row in rows), default=0)

    @cached_property
    def ranked(self) -> tuple[PackerRow, ...]:
        """The packers from the lowest peak to the highest, then those without a plan."""
        return tuple(sorted(self.packed, key=lambda r: (bool(r.refused), inf if r.peak is None else r.peak)))

    @property
    def buffers(self) -> int | None:
        """The number of buffers that are packed; None where none are, as ``peak_bound``."""
        return len(self.problem.buffers) if self.packed or self.merged else None

    @property
    def peak_bound(self) -> int | None:
        """The ``bound``, if anything is packed."""
        return None if self.buffers is None else self.bound

    @property
    def fits_psram(self) -> bool:
        """Whether the schedule that the problem was made from is within Psram, as far as there is one."""
        if self.psram_bytes is None or self.psram_capacity is None:
            return True
        return self.psram_bytes <= self.psram_capacity

    def _judged(self, row: Judged) -> Judged:
        """The row with its gap, and whether it fits."""
        if row.peak is None:
            return row
        fits = self.fits_psram and (self.capacity is None or row.peak <= self.capacity)
        return replace(row, gap=_relative_gap(row.peak, self.bound), fits=fits)
