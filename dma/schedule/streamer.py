"""What a streamer is given, what it decides, and portfolios of several streamers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field, replace
from typing import NamedTuple

from chipmodel.hardware.chip import Chip
from chipmodel.model.program import Op, Program
from chipmodel.model.schedule import BufferSpec, Direction, Late, Schedule
from chipmodel.records import dataclass
from dma.residency.greedy import Reserve, Residency
from dma.residency.tiling import Tiling
from dma.schedule.operands import Emission, TransferNeed


@dataclass(frozen=True, slots=True)
class MemoryBudget:
    """The SharedMemory that a streamer may use for a program on a chip, all sizes in bytes."""

    program: Program
    chip: Chip
    budget: int
    weight_floor: int
    """Bytes of its weights that every op may keep room for, so that slices do not become tiny."""
    residency: Residency
    claims: tuple[int, ...]
    """For each op, bytes that are not available for weights while it runs."""
    tilings: Mapping[str, Tiling] = field(default_factory=dict[str, Tiling])
    """Tilings of ops that are decided already."""

    @property
    def granule(self) -> int:
        """Output channels that the NPU array computes at once."""
        return self.chip.npu.array[1]


@dataclass(frozen=True, slots=True)
class IssuedTransfer:
    """A needed transfer with its decision: its buffer, and the positions of issue and wait."""

    need: TransferNeed
    buffer: str
    issue: int
    due: int


def queue_order(transfer: IssuedTransfer) -> tuple[int, int, Direction]:
    """Sort key of a schedule's transfers; equal ones keep the order in which they were decided."""
    return transfer.issue, transfer.due, transfer.need.direction


@dataclass(frozen=True, slots=True)
class WeightSlices:
    """How weights are cut: output channels of one slice by op, and bytes that an op keeps for slices."""

    channels: Mapping[str, int]
    bytes_at: Callable[[Op], int]


class IssuePlan(NamedTuple):
    """Decided transfers, and buffers that the streamer adds itself, each held for an interval of steps."""

    transfers: list[IssuedTransfer]
    buffers: dict[str, BufferSpec]


@dataclass(frozen=True, slots=True)
class Streamer:
    """One way to cut a program into steps and to issue its transfers.

    The functions are called in the order in which they are listed. Streamers with equal ``reserve`` share
    what stays in SharedMemory (``dma.schedule.build.BudgetCache``).
    """

    name: str
    double_buffered: bool
    """Whether stripes may pass through two buffers for each operand."""
    reserve: Callable[[Program, int], Reserve]
    """Bytes that each op keeps free for weights; takes the program and ``MemoryBudget.weight_floor``."""
    slices: Callable[[MemoryBudget], WeightSlices]
    issue: Callable[[MemoryBudget, Emission], IssuePlan]
    """Decides about every needed transfer."""
    cut: Callable[[MemoryBudget, Op, int], Tiling | None] | None = None
    """Stripes of an op within a number of bytes, weight slices included; None: ``tiling.striped``."""
    late: Callable[[Schedule, Chip], tuple[Late, ...]] | None = None
    """Finds weights that arrive too late, for a streamer that plans by time."""
    weight_floor_divisors: tuple[int, ...] = ()
    """Used instead of ``dma.schedule.build.WEIGHT_FLOOR_DIVISORS`` if not empty."""
    searches_tiers: bool = False
    """Whether the state search over memory tiers decides what stays in SharedMemory, whatever the packer."""

    @property
    def family(self) -> str:
        """The name without the settings that tell a portfolio's candidates apart."""
        return self.name.partition(" ")[0]


@dataclass(frozen=True, slots=True)
class StreamerPortfolio:
    """Streamers of which the one with the fastest forecast is used (``dma.streamers.race``)."""

    name: str
    candidates: tuple[Streamer, ...]
    in_loops: tuple[Streamer, ...] = ()
    """Further candidates for programs with loops, tried first."""
    paths: int = 0
    """How many paths over the listed ways (``dma.columns``) are tried first: a fastest one, or chains that
    CP-SAT finds. The candidates are for what has none, for loops and branches, and for parts of cores."""
    chooses_by_cycles: bool = False
    """Whether plans that fit are compared by simulation. A schedule is then named after its own streamer."""
    searches_offsets: bool = False
    """Whether offsets are searched for where the packer finds no plan although the live bytes fit."""
    of_chip: Callable[[Chip], StreamerPortfolio] | None = None
    """What it is on a chip, where that is the chip's to say; then it has no candidates itself."""

    def on(self, chip: Chip) -> StreamerPortfolio:
        """The portfolio with its candidates on ``chip``, under its own name."""
        return self if self.of_chip is None else replace(self.of_chip(chip), name=self.name)

    def with_loop_candidates(self) -> StreamerPortfolio:
        """The portfolio for a program with loops."""
        return replace(self, candidates=(*self.in_loops, *self.candidates), in_loops=())
