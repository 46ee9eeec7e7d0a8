"""What a streamer is told and what it decides."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from chipmodel.chip.chip import Chip
from chipmodel.model.program import Op, Program
from chipmodel.model.schedule import BufferSpec, Direction, Late, Schedule
from dma.residency.greedy import Reserve, Residency
from dma.residency.tiling import Tiling
from dma.schedule.steps import Emission, Need


@dataclass(frozen=True, slots=True)
class Room:
    """What the policies are told: bytes to use, and at each op the bytes that weights may not have."""

    program: Program
    chip: Chip
    budget: int
    keep: int
    """Bytes of a weight block that an op may insist on, so that slices do not become tiny."""
    residency: Residency
    claims: tuple[int, ...]

    @property
    def granule(self) -> int:
        """Output channels that the array computes at once."""
        return self.chip.npu.array[1]


@dataclass(frozen=True, slots=True)
class Issued:
    """A need with its decision: which buffer, issued when, due when."""

    need: Need
    buffer: str
    issue: int
    due: int
    again: tuple[int, ...] = ()
    """Further positions that issue it, as ``schedule.Transfer`` has it."""


def queue_order(decision: Issued) -> tuple[int, int, Direction]:
    """The order of a schedule's transfers; those that it does not tell apart stay as they were issued."""
    return decision.issue, decision.due, decision.need.direction


Decider = Literal["greedy", "tiers", "joint"]
"""Who decides what stays in SharedMemory: ``dma.residency.greedy``, ``dma.residency.state_search`` or
``dma.residency.joint``."""


@dataclass(frozen=True, slots=True)
class Policy:
    """What makes a streamer. ``channels`` gives the output channels of one weight slice of each op;
    ``issue`` decides about every need and may add buffers of its own, held for a stretch."""

    name: str
    title: str
    source: str
    double: bool
    reserve: Callable[[Program, int], Reserve]
    channels: Callable[[Room], tuple[Mapping[str, int], Callable[[Op], int]]]
    issue: Callable[[Room, Emission], tuple[list[Issued], dict[str, BufferSpec]]]
    cut: Callable[[Room, Op, int], Tiling | None] | None = None
    """The stripes of an op in so many bytes, its slices of weights included; None: as ``tiling.striped``."""
    late: Callable[[Schedule, Chip], tuple[Late, ...]] | None = None
    """Which weights come too late, of a streamer that plans by time."""
    configured: Callable[[str], Policy] | None = None
    """The policy with the setting that a user writes after the name and a colon. Raises BadInput."""
    parts: tuple[int, ...] = ()
    """Instead of ``stream.PARTS_FOR_WEIGHTS``."""
    squeezes: bool = False
    """Whether offsets are searched for where the packer finds no room for bytes that fit."""
    decider: Decider = "greedy"
    """What decides which tensors stay in SharedMemory, whatever the packer."""
    rivals: tuple[Policy, ...] = ()
    """Policies of which the quickest schedule is taken (``dma.streamers.race``). A rival may have rivals of
    its own: they begin with as much memory as a packer left to it."""
    sure: int = 0
    """How many of the first rivals are always tried, whatever ``stop.Stop`` says."""
    recut: Callable[[Mapping[str, Tiling], bool], Policy] | None = None
    """The same with some ops cut as told, by name; True: with little search, for what is only tried."""
    refines: int = 0
    """Steps of all schedules that ``dma.schedule.refine`` tries, together."""
    in_loops: tuple[Policy, ...] = ()
    """Further rivals, always tried, where the program has loops."""
    leaner: Policy | None = None
    """What decides alike but holds less memory at once, for where a packer finds no room."""
