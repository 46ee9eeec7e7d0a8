"""The chip: SharedMemory, Psram, the DMA engine between them, the NPU, and their clocks.

All types are frozen. Sizes are bytes, times are cycles of the core clock unless a name says
otherwise, frequencies are exact rationals of MHz. Where each number of a preset comes from is kept
beside it, see ``Chip.figures``; presets are the files in ``chipmodel/chips/``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from chipmodel.npu_luna_parameters import LunaNpu
from chipmodel.psram_device import Device

Mark = Literal["published", "derived", "assumed", "given"]


@dataclass(frozen=True, slots=True)
class Figure:
    """One number of a chip file: its value as written, how well it is known, and who says so."""

    value: str
    mark: Mark
    source: str


@dataclass(frozen=True, slots=True)
class SharedMemory:
    """The on-chip SRAM that holds intermediate tensors and DMA buffers."""

    bytes: int
    alignment: int
    """Every buffer's offset is a multiple of this many bytes."""


@dataclass(frozen=True, slots=True)
class Psram:
    """The off-chip memory that holds weights, the program's inputs and outputs, and spilled tensors."""

    bytes: int
    clock_mhz: Fraction
    bytes_per_clock: Fraction
    device: Device | None = None
    """The part, at ``clock_mhz``, where the DMA engine is modelled burst by burst."""
    collision: Literal["none", "expected", "worst"] = "none"
    """Which of its bursts meet a refresh and wait longer: none, the expected share, or every one."""


@dataclass(frozen=True, slots=True)
class Route:
    """One direction of the DMA engine: a transfer is cut into Psram bursts of ``burst_bytes``, and
    each pays ``burst_overhead_clocks`` Psram clocks beside its data."""

    setup_cycles: int
    burst_bytes: int
    burst_overhead_clocks: Fraction


@dataclass(frozen=True, slots=True)
class Dma:
    """``dma.model: line``. Transfers run one at a time, in the order of issue."""

    load: Route
    store: Route


@dataclass(frozen=True, slots=True)
class BurstDma:
    """``dma.model: bursts``. The engine reads a burst of beats, then writes it; a beat takes a cycle.

    Its Psram controller fetches ``prefetch_lines`` bursts beside the one asked for, and each access
    waits ``crossing_clocks`` Psram clocks between the two clock domains. Transfers of up to
    ``short_bytes`` run at the engine's own pace. Transfers run one at a time, in the order of issue.
    """

    setup_cycles: int
    beat_bytes: int
    burst_beats: int
    gap_cycles: int
    """Core cycles between reading a burst and the next, beside its beats."""
    prefetch_lines: int
    crossing_clocks: int
    short_bytes: int


@dataclass(frozen=True, slots=True)
class Npu:
    """The MAC array and its ports on SharedMemory.

    ``macs_per_cycle`` is by the width of the operands in bits (8, 16, 32); ``array`` is what
    (input channels, output channels, columns) are padded to.
    """

    macs_per_cycle: Mapping[int, Fraction]
    array: tuple[int, int, int]
    read_bytes_per_cycle: Fraction
    write_bytes_per_cycle: Fraction
    luna: LunaNpu | None = None
    """LUNA's own mechanism, where ``npu.model`` is ``luna``; otherwise MACs over MACs per cycle."""


@dataclass(frozen=True, slots=True)
class Chip:
    """A whole chip; ``core_mhz`` is the clock that every simulated cycle counts."""

    name: str
    title: str
    core_mhz: Fraction
    shared_memory: SharedMemory
    psram: Psram
    dma: Dma | BurstDma
    npu: Npu
    figures: Mapping[str, Figure]
    """Every number of the chip by its dotted path (``psram.clock_mhz``), with its origin."""

    def milliseconds(self, cycles: int) -> float:
        """``cycles`` of the core clock as wall time, for printing."""
        return float(cycles / (self.core_mhz * 1000))
