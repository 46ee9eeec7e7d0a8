"""Whether a plan fits the chip: its peak in SharedMemory, and its weights and tensors in Psram."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from chipmodel.geometry.interval import Interval
from chipmodel.geometry.rounding import round_up
from chipmodel.hardware.chip import Chip
from chipmodel.hardware.further_memories import GROUP
from chipmodel.model.program import Program, ops
from chipmodel.model.schedule import PSRAM, WEIGHTS, Schedule
from chipmodel.records import dataclass

OFF_CHIP_ALIGNMENT = 64
"""Bytes: weights and tensors begin on multiples of it off chip, at least a line of every controller."""


@dataclass(frozen=True, slots=True)
class MemoryNeed:
    """Bytes of one memory that a plan needs, and that the chip has."""

    memory: str
    """``SharedMemory``, ``Psram``, ``memory of the weights``, or the name of a further one."""
    field: str
    """The chip's field of the capacity, as ``--set`` takes it."""
    bytes: int
    capacity_bytes: int
    KEYS: ClassVar = ("name=memory", "bytes", "capacity_bytes", "fits")

    @property
    def fits(self) -> bool:
        """Whether the plan is within the capacity."""
        return self.bytes <= self.capacity_bytes


@dataclass(frozen=True, slots=True)
class Fit:
    """What a plan needs of each memory."""

    shared_memory: MemoryNeed
    psram: MemoryNeed
    weight_bytes: int
    """The program's weights, each counted once. They lie off chip throughout, whatever the plan."""
    weights: MemoryNeed | None = None
    """What the weights need of a memory of their own; None where they lie in Psram."""
    further: tuple[MemoryNeed, ...] = ()
    """What it needs of each further memory of the chip."""

    @property
    def fits(self) -> bool:
        """Whether the plan is within the capacity of every memory."""
        return not self.exceeded

    @property
    def exceeded(self) -> tuple[MemoryNeed, ...]:
        """The memories that are too small for the plan; why it does not fit."""
        needs = (self.shared_memory, self.psram, self.weights, *self.further)
        return tuple(need for need in needs if need is not None and not need.fits)

    @property
    def too_many_weights(self) -> bool:
        """Whether the weights alone exceed the memory that they lie in, so that no plan fits."""
        return self.weight_bytes > (self.weights or self.psram).capacity_bytes


def plan_fit(program: Program, chip: Chip, schedule: Schedule, peak: int) -> Fit:
    """Whether a plan with the given peak in SharedMemory (bytes) fits ``chip``."""
    own, weights = chip.weights, None
    if own:
        size = own_weight_bytes(schedule, chip)
        weights = MemoryNeed("memory of the weights", "weights.bytes", size, own.memory.bytes)
    return Fit(
        MemoryNeed("SharedMemory", "shared_memory.bytes", peak, chip.shared_memory.bytes),
        MemoryNeed("Psram", "psram.bytes", psram_bytes(schedule, chip), chip.psram.bytes),
        used_weight_bytes(program),
        weights,
        tuple(_further_needs(schedule, chip)),
    )


def too_many_weights(program: Program, chip: Chip) -> bool:
    """Whether the weights alone exceed the memory that they lie in, so that no plan fits."""
    memory = chip.weights.memory if chip.weights else chip.psram
    return used_weight_bytes(program) > memory.bytes


def further_addresses(chip: Chip) -> dict[str, Interval]:
    """Return the addresses off chip of each further memory by name, after those of Psram and weights."""
    found: dict[str, Interval] = {}
    start = chip.off_chip_bytes
    for memory in chip.memories:
        start = round_up(start, OFF_CHIP_ALIGNMENT)
        found[memory.name] = Interval(start, start + memory.bytes)
        start += memory.bytes
    return found


def _further_needs(schedule: Schedule, chip: Chip) -> Iterator[MemoryNeed]:
    homes = [(t.memory, t.home) for t in schedule.transfers]
    homes += [(move.memory, move.target) for move in schedule.moves]
    for name, addresses in further_addresses(chip).items():
        end = max((home.stop for memory, home in homes if memory == name), default=addresses.start)
        yield MemoryNeed(name, f"{GROUP}.{name}.bytes", end - addresses.start, len(addresses))


def psram_bytes(schedule: Schedule, chip: Chip) -> int:
    """Bytes of Psram up to the end of the highest tensor, or weights that lie there."""
    return max(0, off_chip_bytes(schedule) - own_weight_bytes(schedule, chip))


def own_weight_bytes(schedule: Schedule, chip: Chip) -> int:
    """Bytes of the weights' own memory that they take; 0 where they lie in Psram."""
    if not chip.weights:
        return 0
    homes = {t.home for t in schedule.transfers if t.part.weights and not t.memory}
    homes |= {move.home for move in schedule.moves if move.source == WEIGHTS}
    homes.update(schedule.weights_in_place.values())
    return sum(-(-len(home) // OFF_CHIP_ALIGNMENT) * OFF_CHIP_ALIGNMENT for home in homes)


def off_chip_bytes(schedule: Schedule) -> int:
    """The end of the highest weights or tensor off chip: in the weights' own memory, then Psram."""
    homes = [t.home for t in schedule.transfers if not t.memory]
    homes += [move.home for move in schedule.moves if move.source in (PSRAM, WEIGHTS)]
    homes += [move.target for move in schedule.moves if move.memory == PSRAM]
    return max((home.stop for home in (*homes, *schedule.weights_in_place.values())), default=0)


def used_weight_bytes(program: Program) -> int:
    """Bytes of the weights that any op has, each counted once."""
    used = {name for op in ops(program.body) for name in op.constants}
    return sum(program.weights[name].bytes for name in used)
