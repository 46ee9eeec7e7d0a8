"""Where the tensors lie in each tier of memory at each step, before and after a search over such states.

Source: the tiered-memory patent (CN, 2022), figures 3 and 4 (docs/references.md).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from chipmodel.records import dataclass


@dataclass(frozen=True, slots=True)
class BlockStay:
    """Where a block lies at the steps ``[start, stop)``: tier by index, offset and bytes."""

    block: str
    bytes: int
    tier: int
    offset: int
    start: int
    stop: int
    over: str = ""
    """The block that it overwrites at ``start``, its last step; empty for none."""


@dataclass(frozen=True, slots=True)
class BlockStates:
    """What lies where at every step, and the cost of all accesses and transfers, rounded."""

    cost: int
    stays: tuple[BlockStay, ...]

    def busy(self, step: int, tier: int) -> Iterator[BlockStay]:
        """The source's busy list: what lies in a tier at a step, by offset."""
        alive = (stay for stay in self.stays if stay.tier == tier and stay.start <= step < stay.stop)
        return iter(sorted(alive, key=lambda stay: (stay.offset, stay.block)))


@dataclass(frozen=True, slots=True)
class StateSearch:
    """The states of the initial rule and of the search in all of the memory, whatever the plan keeps free for
    weights, and the cost of the state that the plan was made of."""

    unit: Literal["cycles", "bytes"]
    tiers: tuple[tuple[str, int | None], ...]
    """Name and bytes (None: unlimited), from fast to slow."""
    steps: tuple[str, ...]
    """The name of each step's op."""
    initial: BlockStates
    found: BlockStates
    planned: int
