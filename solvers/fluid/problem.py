"""Ops in order, with the weights that each needs and the tensors between them, in integers.

All numbers are the least that any plan may have, so that the answer is a lower bound for every plan.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

PART_COUNTS = (2, 3, 5, 9, 17, 33, 65)
"""Numbers of stripes, or of slices, for which further cycles are known."""


@dataclass(frozen=True, slots=True)
class FluidOp:
    """One run of an op. It may be one of a *group* of neighbours that run as a cascade."""

    cycles: int
    """NPU cycles in one part."""
    striped: tuple[int, ...] = ()
    """Further cycles in at least as many stripes as each of ``PART_COUNTS``; none where empty."""
    sliced: tuple[int, ...] = ()
    """The same for slices of channels, which divide the weights."""
    weights: int = 0
    """Bytes of weights that no earlier run of the same iteration has had."""
    set_up: int = 0
    """DMA cycles to start the load of them; one load may have those of a whole group."""
    joins: bool = False
    """Whether it may be in one group with the run before."""
    kept: int = 0
    """Bytes that may be left from earlier iterations, of its weights and of those that come after it."""


@dataclass(frozen=True, slots=True)
class FluidTensor:
    """A tensor that run ``made`` makes (None: it comes from Psram), and that the runs ``reads`` read."""

    bytes: int
    made: int | None
    reads: tuple[int, ...]
    loads: tuple[int, ...]
    """DMA cycles to load what each of ``reads`` reads, if it is not in SharedMemory."""
    store: int = 0
    """DMA cycles to store it, so that it can be loaded again."""
    stored: int = 0
    """DMA cycles to store it as a result of the program; 0 for other tensors."""
    in_place: frozenset[int] = frozenset()
    """The runs that read it and may write over it, or build their output around it."""
    until: int | None = None
    """The run after which it may be part of another tensor's bytes."""

    @property
    def last(self) -> int | None:
        """The last run up to which it has bytes of its own and is needed; None where nothing reads it."""
        if not self.reads:
            return None
        return self.reads[-1] if self.until is None else min(self.reads[-1], self.until)


@dataclass(frozen=True, slots=True)
class FluidProblem:
    """``capacity`` bytes of SharedMemory, empty at first.

    A byte of weights takes ``each`` DMA cycles, and a byte of anything at most ``most_each``.
    """

    ops: tuple[FluidOp, ...]
    tensors: tuple[FluidTensor, ...]
    capacity: int
    each: Fraction
    most_each: Fraction
    set_up: int = 0
    """The most DMA cycles to start a transfer, of those that its set-ups, loads and stores are given with."""
    last_part: int = 0
    """DMA cycles after the last part of the last run, in any number of parts."""
