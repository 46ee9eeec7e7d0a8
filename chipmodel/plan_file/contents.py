"""Contents of plan files: offsets, lifetimes and commands, for a run time or a checker."""

from __future__ import annotations

from dataclasses import dataclass

from chipmodel.model.commands import Command
from chipmodel.model.interval import Interval

FORMAT = "chipmodel-plan/2"
FORMAT_OF_CORES = "chipmodel-plan/2-cores"
"""Format of a plan for several cores, with ``cores`` in place of ``buffers`` and ``commands``."""


@dataclass(frozen=True, slots=True)
class PlannedBuffer:
    """A buffer of the plan: its offset and size, and the positions at which it is alive."""

    name: str
    offset: int
    bytes: int
    live: tuple[Interval, ...]


@dataclass(frozen=True, slots=True)
class PlannedCore:
    """The plan of one of several cores."""

    peak_bytes: int
    buffers: tuple[PlannedBuffer, ...]
    commands: tuple[Command, ...]


@dataclass(frozen=True, slots=True)
class PlanFile:
    """A plan file. ``chip`` and ``overrides`` are the options that selected the chip."""

    workload: str
    chip: str
    overrides: tuple[str, ...]
    packer: str
    streamer: str
    capacity_bytes: int
    peak_bytes: int
    buffers: tuple[PlannedBuffer, ...]
    commands: tuple[Command, ...]
    cores: tuple[PlannedCore, ...] = ()
    """The plans of several cores, by number; ``buffers`` and ``commands`` are then empty."""
    alignment: int = 1
    """Every offset is a multiple of it."""
    order: tuple[str, ...] = ()
    """The names of all ops, branches and loops in order of execution (``op_order.names_in_order``); empty for
    the workload's own order."""
