"""Whether a plan fits the chip: its peak in SharedMemory, and its weights and tensors in Psram."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from chipmodel.chip.chip import Chip
from chipmodel.model.program import Program, ops
from chipmodel.model.schedule import Schedule

MemoryName = Literal["SharedMemory", "Psram"]


@dataclass(frozen=True, slots=True)
class MemoryNeed:
    """Bytes of one memory that a plan needs, and that the chip has."""

    memory: MemoryName
    field: str
    """The chip's field of the capacity, as ``--set`` takes it."""
    bytes: int
    capacity_bytes: int

    @property
    def fits(self) -> bool:
        """Whether the plan is within the capacity."""
        return self.bytes <= self.capacity_bytes


@dataclass(frozen=True, slots=True)
class Fit:
    """What a plan needs of both memories."""

    shared_memory: MemoryNeed
    psram: MemoryNeed
    weight_bytes: int
    """The program's weights, each counted once. They lie in Psram throughout, whatever the plan."""

    @property
    def fits(self) -> bool:
        """Whether the plan is within the capacity of both memories."""
        return self.shared_memory.fits and self.psram.fits

    @property
    def exceeded(self) -> tuple[MemoryNeed, ...]:
        """The memories that are too small for the plan; why it does not fit."""
        return tuple(need for need in (self.shared_memory, self.psram) if not need.fits)

    @property
    def too_many_weights(self) -> bool:
        """Whether the weights alone exceed Psram, so that no plan fits."""
        return self.weight_bytes > self.psram.capacity_bytes


def plan_fit(program: Program, chip: Chip, schedule: Schedule, peak: int) -> Fit:
    """Whether a plan with the given peak in SharedMemory (bytes) fits ``chip``."""
    return Fit(
        MemoryNeed("SharedMemory", "shared_memory.bytes", peak, chip.shared_memory.bytes),
        MemoryNeed("Psram", "psram.bytes", psram_bytes(schedule), chip.psram.bytes),
        used_weight_bytes(program),
    )


def psram_bytes(schedule: Schedule) -> int:
    """The end of the highest weights or tensor in Psram."""
    return max((transfer.home.stop for transfer in schedule.transfers), default=0)


def used_weight_bytes(program: Program) -> int:
    """Bytes of the weights that any op has, each counted once."""
    used = {name for op in ops(program.body) for name in op.weights}
    return sum(program.weights[name].bytes for name in used)
