"""Ops in order, with the weights that each needs and the tensors between them, in integers.

All numbers are the least that any plan may have, so that the answer is a lower bound for every plan.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class FluidOp:
    """One run of an op. It may be one of several neighbours that run as a cascade."""

    weights: int = 0
    """Bytes of weights that no earlier run of the same iteration has had."""
    set_up: int = 0
    """DMA cycles to start a load of them; one load may have those of a whole cascade."""
    joins: bool = False
    """Whether it may be in one cascade with the run before."""
    kept: int = 0
    """Bytes that may be left from earlier iterations, of its weights and of those that come after it."""
    shares: bool = False
    """Whether it also has weights that an earlier run has had."""


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
    absorbed: frozenset[int] = frozenset()
    """The runs that build their output around it: on their own they read none of it."""
    until: int | None = None
    """The run after which it may be part of another tensor's bytes."""
    held: int | None = None
    """The run that completes it, up to which it stays."""

    @property
    def complete(self) -> int | None:
        """The run that makes it, or completes it."""
        return self.made if self.held is None else self.held

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
    repeats: tuple[tuple[int, int, int], ...] = ()
    """Start, stop and times of runs that come so many times in a row, each time with what the time before has
    left. Inner ones first; neither the first nor the last run is in one."""
    followed_in: int = 0
    """Bytes of SharedMemory by which it is decided what is followed; 0 for ``capacity``."""
    keeps: bool = False
    """Whether tensors that are ``held`` are so up to their last reader, so that no plan sends one out."""
