"""Several planners on one workload: the rows of ``chipmodel compare``."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import inf

from chipmodel.answers.result import Ordering
from chipmodel.model.plan import Problem, Status
from chipmodel.model.time_bound import WITHOUT_CASCADES, PlanSpace


def _relative_gap(value: int, bound: int) -> float:
    """``(value - bound) / bound``, 0 where the bound is 0."""
    return (value - bound) / bound if bound else 0.0


@dataclass(frozen=True, slots=True)
class PackerRow:
    """The result of one packer, or why it ``refused`` the problem. Bytes, and seconds of wall clock."""

    packer: str
    peak: int | None = None
    lower_bound: int = 0
    status: Status = "unknown"
    unused: int | None = None
    """See ``model.live_sets.unused_bytes``."""
    seconds: float = 0.0
    nodes: int = 0
    """Nodes of search."""
    trajectory: tuple[tuple[float, int], ...] = ()
    """Seconds and best peak so far, of a packer that reports its progress."""
    refused: str = ""

    @property
    def fragmentation(self) -> float | None:
        """The unused bytes as a share of the peak; None without a plan."""
        if self.peak is None or self.unused is None:
            return None
        return self.unused / self.peak if self.peak else 0.0


@dataclass(frozen=True, slots=True)
class MergerRow:
    """The result of one merger of branch arms with one packer, or why they ``refused`` the problem."""

    merge: str
    packer: str
    peak: int | None = None
    lower_bound: int = 0
    status: Status = "unknown"
    seconds: float = 0.0
    refused: str = ""
    merger_bound: int | None = None
    """No packer has a lower peak with this merger, in bytes; None where that is not known."""

    @property
    def merger_optimal(self) -> bool:
        """Whether the peak is the smallest of this merger, though not of every merger."""
        return self.status != "optimal" and self.peak is not None and self.peak == self.merger_bound


@dataclass(frozen=True, slots=True)
class StreamerRow:
    """The result of a whole run with one streamer, or why it ``refused`` the program. Cycles and bytes."""

    streamer: str
    cycles: int | None = None
    lower_bound: int = 0
    sync_cycles: int | None = None
    """Cycles of the same program with streamer ``sync``, where that has a plan."""
    milliseconds: float = 0.0
    peak: int = 0
    psram_bytes: int = 0
    """Weights and tensors in Psram."""
    fits: bool = False
    """Whether the plan is within SharedMemory and Psram."""
    fits_psram: bool = True
    seconds: float = 0.0
    """Wall clock of planning and simulating."""
    refused: str = ""
    bound_space: PlanSpace = WITHOUT_CASCADES
    """The plans that ``lower_bound`` holds for."""
    cascades: tuple[str, ...] = ()
    """The names of the plan's cascades."""
    microjoules: float | None = None
    """Energy of the run; None where the chip file says nothing of it."""

    @property
    def gap(self) -> float | None:
        """``(cycles - bound) / bound``; None without a plan."""
        return None if self.cycles is None else _relative_gap(self.cycles, self.lower_bound)


@dataclass(frozen=True)
class PlannerComparison:
    """Packers and mergers on one problem of unknown capacity, and streamers on the whole program."""

    source: str
    chip: str
    """Empty for a packing problem, as are ``streamer`` and ``packer``."""
    problem: Problem
    capacity: int | None
    streamer: str = ""
    """The streamer whose schedule the problem was made from."""
    packer: str = ""
    """The packer of the streamers' runs."""
    packed: tuple[PackerRow, ...] = ()
    streamed: tuple[StreamerRow, ...] = ()
    merged: tuple[MergerRow, ...] = ()
    ordering: Ordering | None = None
    """The order of ops, where it was not the one given."""
    psram_bytes: int | None = None
    """Weights and tensors in Psram, with the schedule that the problem was made from; None without one."""
    psram_capacity: int | None = None

    @cached_property
    def bound(self) -> int:
        """The highest lower bound on the peak that any of the packers and mergers proved."""
        rows: tuple[PackerRow | MergerRow, ...] = (*self.packed, *self.merged)
        return max((row.lower_bound for row in rows), default=0)

    @cached_property
    def ranked(self) -> tuple[PackerRow, ...]:
        """The packers from the lowest peak to the highest, then those without a plan."""
        return tuple(sorted(self.packed, key=lambda r: (bool(r.refused), inf if r.peak is None else r.peak)))

    def gap(self, row: PackerRow | MergerRow) -> float | None:
        """``(peak - bound) / bound``; None without a plan."""
        return None if row.peak is None else _relative_gap(row.peak, self.bound)

    @property
    def fits_psram(self) -> bool:
        """Whether the schedule that the problem was made from is within Psram, as far as there is one."""
        if self.psram_bytes is None or self.psram_capacity is None:
            return True
        return self.psram_bytes <= self.psram_capacity

    def fits(self, row: PackerRow | MergerRow) -> bool:
        """Whether there is a plan, within the capacities if there are any."""
        if row.peak is None or not self.fits_psram:
            return False
        return self.capacity is None or row.peak <= self.capacity
