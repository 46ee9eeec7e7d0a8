"""The smallest SharedMemory that a program runs in, and the cycles with more."""

from __future__ import annotations

from dataclasses import dataclass

from chipmodel.model.schedule import CascadePlan


@dataclass(frozen=True, slots=True)
class MemoryPlan:
    """A plan in ``bytes`` of SharedMemory, its peak at most that. Where it ``moves`` tensors, some go to
    Psram and come back, or pass through SharedMemory in stripes."""

    bytes: int
    cycles: int
    peak: int
    moves: bool
    streamer: str
    macs: int
    """Multiply-accumulates of all steps, those that are computed again too."""
    cascades: tuple[CascadePlan, ...] = ()
    in_rows: tuple[tuple[str, int], ...] = ()
    """Ops whose output takes their input's memory row by row, with the most rows of a step."""
    in_slices: tuple[tuple[str, int], ...] = ()
    """Ops that run in slices of channels, with the number of these."""
    twice: tuple[str, ...] = ()
    """Ops that run twice."""


@dataclass(frozen=True, slots=True)
class MemoryPoint:
    """Plans in the same SharedMemory, layer by layer and with cascades where they help; None for none."""

    bytes: int
    layerwise: MemoryPlan | None
    cascaded: MemoryPlan | None


@dataclass(frozen=True, slots=True)
class MemoryAnswer:
    """The smallest SharedMemory in which no tensor but inputs and outputs of a program crosses the Psram,
    layer by layer and with cascades, and plans for sizes from the smallest on."""

    program: str
    chip: str
    alignment: int
    capacity: int
    """What the chip has, in bytes."""
    lower_bound: int
    """Bytes below which there is no such plan (``dma.cascade_choice.memory_bound`` says of what kind)."""
    layerwise: MemoryPlan
    cascaded: MemoryPlan
    front: tuple[MemoryPoint, ...] = ()
    macs: int = 0
    """Multiply-accumulates of the program."""
    recompute: float | None = None
    """The most times these that a plan may compute, rows of cascades again; None: they keep rows."""
    cut_short: tuple[str, ...] = ()
    """What a time limit left out."""
