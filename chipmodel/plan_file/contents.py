"""What a plan file holds: offsets, lifetimes and commands, for a run time or a checker to use."""

from __future__ import annotations

from dataclasses import dataclass

from chipmodel.model.commands import Command
from chipmodel.model.interval import Interval

FORMAT = "chipmodel-plan/2"
FORMAT_OF_CORES = "chipmodel-plan/2-cores"
"""Of a plan for several cores: ``cores`` in place of ``buffers`` and ``commands``."""


@dataclass(frozen=True, slots=True)
class PlannedBuffer:
    """A buffer of the plan: where it is, and the positions at which it is alive."""

    name: str
    offset: int
    bytes: int
    live: tuple[Interval, ...]


@dataclass(frozen=True, slots=True)
class PlannedCore:
    """What one of several cores does in its memory."""

    peak_bytes: int
    buffers: tuple[PlannedBuffer, ...]
    commands: tuple[Command, ...]


@dataclass(frozen=True, slots=True)
class PlanFile:
    """All that a plan file says. ``chip`` and ``overrides`` are the options that named the chip."""

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
    """By number, where there are several; then ``buffers`` and ``commands`` are empty."""
    alignment: int = 1
    """What every offset is a multiple of."""
    order: tuple[str, ...] = ()
    """The names of all ops, branches and loops as they run (``order.names_in_order``); empty where that is
    the order that the workload gives."""
