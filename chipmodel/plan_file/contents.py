"""Contents of plan files: offsets, lifetimes and commands, for a run time or a checker."""

from __future__ import annotations

from chipmodel.geometry.interval import Interval
from chipmodel.model.commands import Command
from chipmodel.model.schedule import CascadeOps, Part
from chipmodel.model.time_bound import ProvenCycles
from chipmodel.records import dataclass

FORMAT = "chipmodel-plan/3"
FORMAT_OF_CORES = "chipmodel-plan/3-cores"
"""Format of a plan for several cores, with ``cores`` in place of ``buffers`` and ``commands``."""


@dataclass(frozen=True, slots=True)
class PlannedBuffer:
    """A buffer of SharedMemory: its offset and size, and the positions at which it must keep its bytes."""

    name: str
    offset: int
    bytes: int
    live: tuple[Interval, ...]
    within: str = ""
    """The buffer whose first bytes it has, of weights that are loaded in pieces; empty for one of its own."""


@dataclass(frozen=True, slots=True)
class PlannedCore:
    """The plan of one of several cores."""

    peak_bytes: int
    buffers: tuple[PlannedBuffer, ...]
    commands: tuple[Command, ...]
    cascades: tuple[CascadeOps, ...] = ()
    """Ops whose steps take turns, in the order in which they run."""
    arena_bytes: int = 0
    """The bytes that the packer allocates, where they are more than its buffers end at; else 0."""


@dataclass(frozen=True, slots=True)
class PsramHome:
    """The addresses in Psram of a tensor, or of an op's weight slice (its whole table, if it looks up)."""

    part: Part
    home: Interval
    memory: str = ""
    """The further memory of the chip that ``home`` is in; empty for Psram, or the weights' own memory."""


@dataclass(frozen=True, slots=True)
class PlanFile:
    """A plan file. ``chip`` and ``overrides`` are the options that selected the chip."""

    workload: str
    """The program's name."""
    chip: str
    overrides: tuple[str, ...]
    capacity_bytes: int
    """Bytes of SharedMemory; of each core's, if there are several."""
    peak_bytes: int
    """The highest end of a buffer, or a larger arena, on any core."""
    alignment: int
    """Every offset is a multiple of it."""
    psram: tuple[PsramHome, ...]
    """The place of everything that a command moves, by address."""
    buffers: tuple[PlannedBuffer, ...] = ()
    commands: tuple[Command, ...] = ()
    cores: tuple[PlannedCore, ...] = ()
    """The plans of several cores, by number; ``buffers``, ``commands`` and ``cascades`` are then empty."""
    cascades: tuple[CascadeOps, ...] = ()
    """Ops whose steps take turns, in the order in which they run."""
    order: tuple[str, ...] = ()
    """The names of all ops, branches and loops in order of execution; empty for the workload's own order."""
    bounds: tuple[ProvenCycles, ...] = ()
    """Cycles that no plan of some space beats, each with its proof."""
    arena_bytes: int = 0
    """That of the one core."""
