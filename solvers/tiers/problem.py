"""The problem of state search over memory tiers: tiers, steps, blocks, and the cost of each access.

One step for each op. A *block* is alive from its first step, which writes it, to its last; at every step it
lies in one tier, at one place. Costs are exact rationals of cycles.

Source: the tiered-memory patent (CN, 2022) (docs/references.md).
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from chipmodel.records import dataclass

Cost = Callable[[int], int | Fraction]
"""Cycles for a number of bytes."""


@dataclass(frozen=True, slots=True)
class Tier:
    """A memory. ``read`` and ``write`` are an op's costs for a block in it (the source's ``L_out + d /
    W_out`` and ``L_in + d / W_in``), ``leave`` and ``enter`` those of a transfer to or from another place."""

    name: str
    capacity: int | None
    """Bytes; None is unlimited, which only the last tier may be."""
    read: Cost
    write: Cost
    leave: Cost
    enter: Cost
    alignment: int = 1
    copies: bool = True
    """Whether a block that holds data may be moved to another place of this tier, at ``leave + enter``."""


@dataclass(frozen=True, slots=True)
class TierBlock:
    """Bytes that are alive at the steps ``[start, stop)``; other blocks and tasks name it by its index."""

    name: str
    bytes: int
    start: int
    stop: int
    alignment: int = 1
    pinned: int | None = None
    """The only tier (its index) that it may lie in."""
    overwrites: tuple[int, ...] = ()
    """The blocks whose bytes it may lie on, at its first step, which must be their last."""
    home: int | None = None
    """The tier that holds it before its first step: an input. It must be brought from there to any other."""
    ends: int | None = None
    """The tier that it must lie in, or have a copy in, after its last step: an output."""
    swaps: bool = True
    """Whether it may change its place while it holds data."""
    holes: tuple[tuple[int, int], ...] = ()
    """Intervals ``[start, stop)`` of its life in which it holds no data and its place is free for others, in
    order. Only for a block that does not change its place."""

    def alive(self, step: int) -> bool:
        """Whether it holds data at a step."""
        return self.start <= step < self.stop and not any(a <= step < b for a, b in self.holes)

    def spans(self) -> tuple[tuple[int, int], ...]:
        """Return the block's life without the holes."""
        edges = (self.start, *(edge for hole in self.holes for edge in hole), self.stop)
        return tuple(zip(edges[::2], edges[1::2], strict=True))


@dataclass(frozen=True, slots=True)
class TierAccess:
    """An op's read or write of a block. ``staged`` bytes of the first tier are needed meanwhile if the block
    lies in another tier: the staging buffer between the two."""

    block: int
    writes: bool
    staged: int = 0
    moved: int | None = None
    """How many bytes it reads or writes; None for all of them."""


@dataclass(frozen=True, slots=True)
class TierStep:
    """An op: its accesses (``tasks``), how often it runs (its costs are multiplied by that), and the bytes of
    the first tier that it reserves."""

    tasks: tuple[TierAccess, ...]
    times: int = 1
    reserve: int = 0
    name: str = ""
    cuts: bool = False
    """Whether the op is cut into parts if one of its blocks lies outside of the first tier; then it may not
    overwrite what its later parts still read."""


@dataclass(frozen=True, slots=True)
class TierProblem:
    """``tiers`` from fast to slow; only the last of them may have no capacity.

    If it has none, a block's copy in it stays valid until the block is written again, so that it can return
    there at no cost.
    """

    tiers: tuple[Tier, ...]
    blocks: tuple[TierBlock, ...]
    steps: tuple[TierStep, ...]


@dataclass(frozen=True, slots=True)
class TierStay:
    """Where a block lies at the steps ``[start, stop)``."""

    tier: int
    offset: int
    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class TierState:
    """The source's memory state: where every block lies at every step, and the cost of all accesses."""

    cycles: Fraction
    stays: tuple[tuple[TierStay, ...], ...]
    """For each block, in order of time."""
    under: tuple[int | None, ...]
    """For each block, the block that it overwrites, if any."""

    def tier_at(self, block: int, step: int) -> int | None:
        """The tier of a block at a step; None where it is not alive."""
        return next((s.tier for s in self.stays[block] if s.start <= step < s.stop), None)
