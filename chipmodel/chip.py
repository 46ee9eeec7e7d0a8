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


Arbitration = Literal["npu first", "dma first", "round robin"]


@dataclass(frozen=True, slots=True)
class Banks:
    """``shared_memory.model: banks``. Each of ``count`` banks serves ``ports`` accesses a cycle; who
    asks for more waits a cycle, and asks again.

    ``interleave: words`` gives word number ``n`` of ``word_bytes`` to bank ``n mod count``; ``blocks``
    gives each bank one stretch of addresses. The CPU always goes first, then who ``arbitration`` says.
    """

    count: int
    word_bytes: int
    interleave: Literal["words", "blocks"] = "words"
    ports: int = 1
    arbitration: Arbitration = "npu first"


@dataclass(frozen=True, slots=True)
class SharedMemory:
    """The on-chip SRAM that holds intermediate tensors and DMA buffers."""

    bytes: int
    alignment: int
    """Every buffer's offset is a multiple of this many bytes."""
    banks: Banks | None = None
    """None: the NPU, the DMA engine and the CPU never wait for one another."""


@dataclass(frozen=True, slots=True)
class Psram:
    """The off-chip memory that holds weights, the program's inputs and outputs, and spilled tensors."""

    bytes: int
    clock_mhz: Fraction
    bytes_per_clock: Fraction
    device: Device | None = None
    """The part, at ``clock_mhz``, where the DMA engine is modelled burst by burst."""
    collision: Literal["none", "expected", "worst", "phase"] = "none"
    """Which of its bursts meet a refresh and wait longer: none, the expected share, every one, or those
    that the simulated time says."""


@dataclass(frozen=True, slots=True)
class Route:
    """One direction of the DMA engine: a transfer is cut into Psram bursts of ``burst_bytes``, and
    each pays ``burst_overhead_clocks`` Psram clocks beside its data."""

    setup_cycles: int
    burst_bytes: int
    burst_overhead_clocks: Fraction


@dataclass(frozen=True, slots=True)
class Channels:
    """``count`` transfers are in service at once. Each sets up on its own; their bursts share the one
    engine, the oldest transfer's first (``in order``) or a burst of each in turn (``round robin``)."""

    count: int = 1
    arbitration: Literal["in order", "round robin"] = "in order"


@dataclass(frozen=True, slots=True)
class Dma:
    """``dma.model: line``. ``outstanding`` bursts are asked for at once, which hides their overhead
    behind one another's data."""

    load: Route
    store: Route
    channels: Channels = Channels()
    outstanding: int = 1
    port_bytes: int = 8
    """What a beat brings to or takes from SharedMemory."""


@dataclass(frozen=True, slots=True)
class BurstDma:
    """``dma.model: bursts``. The engine reads a burst of beats, then writes it; a beat takes a cycle.

    Its Psram controller fetches ``prefetch_lines`` bursts beside the one asked for, and each access
    waits ``crossing_clocks`` Psram clocks between the two clock domains. Transfers of up to
    ``short_bytes`` run at the engine's own pace.
    """

    setup_cycles: int
    beat_bytes: int
    burst_beats: int
    gap_cycles: int
    """Core cycles between reading a burst and the next, beside its beats."""
    prefetch_lines: int
    crossing_clocks: int
    short_bytes: int
    channels: Channels = Channels()
    overlap: bool = False
    """Whether a burst is read while the one before it is written."""


@dataclass(frozen=True, slots=True)
class Cpu:
    """What the CPU does beside the program: every ``shared_every`` core cycles it takes a word of
    SharedMemory (bank after bank), every ``psram_every`` a line of ``line_bytes`` of Psram. 0: never."""

    shared_every: int = 0
    psram_every: int = 0
    line_bytes: int = 32


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
    cpu: Cpu = Cpu()

    def milliseconds(self, cycles: int) -> float:
        """``cycles`` of the core clock as wall time, for printing."""
        return float(cycles / (self.core_mhz * 1000))
