"""The smallest SharedMemory that a program runs in, and the cycles with more."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import ClassVar

from chipmodel.model.schedule import CascadePlan
from chipmodel.records import dataclass


@dataclass(frozen=True, slots=True)
class MemoryPlan:
    """A plan in some bytes of SharedMemory, its peak at most that. Where it moves tensors, others than
    inputs and outputs of the program go to Psram and come back."""

    shared_memory_bytes: int
    total_cycles: int
    peak_bytes: int
    moves_tensors: bool
    streamer: str
    macs: int
    """Multiply-accumulates of all steps, those that are computed again too."""
    cascades: tuple[CascadePlan, ...] = ()
    in_place_by_rows: Mapping[str, int] = field(default_factory=dict[str, int])
    """Ops whose output takes their input's memory row by row, with the most rows of a step."""
    channel_slices: Mapping[str, int] = field(default_factory=dict[str, int])
    """Ops that run in slices of channels, with the number of these."""


@dataclass(frozen=True, slots=True)
class MemoryPoint:
    """Plans in the same SharedMemory, layer by layer and with cascades where they help; None for none."""

    shared_memory_bytes: int
    layer_by_layer: MemoryPlan | None
    with_cascades: MemoryPlan | None


@dataclass(frozen=True, slots=True)
class MemoryAnswer:
    """The smallest SharedMemory in which no tensor but inputs and outputs of a program crosses the Psram,
    layer by layer and with cascades, and plans for sizes from the smallest on."""

    workload: str
    chip: str
    macs: int
    """Multiply-accumulates of the program."""
    recompute: float | None
    """The most times these that a plan may compute, rows of cascades again; None: they keep rows."""
    capacity_bytes: int
    """What the chip has."""
    lower_bound_bytes: int
    """Bytes below which there is no such plan in the listed ways (``dma.columns.ladder``); 0 where that is
    not known."""
    layer_by_layer: MemoryPlan
    with_cascades: MemoryPlan
    front: tuple[MemoryPoint, ...] = ()
    cut_short: tuple[str, ...] = ()
    """What a time limit left out."""
    FORMAT: ClassVar = "chipmodel-memory/1"
