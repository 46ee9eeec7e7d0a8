"""Ops in order, with the weights that each needs and the tensors between them, in integers.

All numbers are the least that any plan may have, so that the answer is a lower bound for every plan.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

PART_COUNTS = (2, 3, 5, 9, 17, 33, 65, 129, 257)
"""Numbers of stripes, or of slices, for which further cycles are known."""
UNLIMITED = 1 << 28
"""More parts than there are; times the bytes of any memory it is still a number of 64 bits."""
STRIPE_RANGES = ((2, 2), (3, 4), (5, 8), (9, 16), (17, UNLIMITED))
"""The least and the most stripes of parts that are slices, too (assumed)."""


@dataclass(frozen=True, slots=True)
class FluidOp:
    """One run of an op. It may be one of a *group* of neighbours that run as a cascade."""

    cycles: int
    """NPU cycles in one part of a group."""
    striped: tuple[int, ...] = ()
    """Further cycles in at least as many stripes as each of ``counts``, or, of an op without weights, in
    as many parts of any kind; none where empty."""
    sliced: tuple[int, ...] = ()
    """The same for slices of channels, which divide the weights. If equal to ``striped``, each further part
    of any kind takes as long."""
    weights: int = 0
    """Bytes of weights that no earlier run of the same iteration has had."""
    set_up: int = 0
    """DMA cycles to start a load of them; one load may have those of a whole group."""
    joins: bool = False
    """Whether it may be in one group with the run before."""
    kept: int = 0
    """Bytes that may be left from earlier iterations, of its weights and of those that come after it."""
    single: bool = False
    """Whether its rows and columns cannot be divided."""
    counts: tuple[int, ...] = PART_COUNTS
    """The numbers of parts of ``striped`` and ``sliced``, 2 first."""
    rows: int = 1 << 28
    """The most stripes of rows."""
    channel: int = 1
    """Bytes of weights of one channel: a slice has whole ones."""
    most_loaded: int = 0
    """The most bytes of its weights that one load brings, if they take many; 0 where one may bring all."""
    shares: bool = False
    """Whether it also has weights that an earlier run has had."""
    alone: int = 0
    """NPU cycles that it takes longer where it is in no group; below 0 for one that then takes less."""
    both: tuple[tuple[int, ...], ...] = ()
    """Further cycles in at least the stripes of each of ``ranges``, each in slices as many as each of
    ``counts``; none where empty. If each further part takes as long, these are not looked at."""
    grouped: tuple[int, ...] = ()
    """``striped`` where it is in a group; the same where empty."""
    ranges: tuple[tuple[int, int], ...] = STRIPE_RANGES
    """The least and the most stripes of parts that are slices, too; if empty, only their number counts."""
    even: bool = False
    """Whether its parts, where it is in no group, are stripes of whole rows, or slices of these by weights,
    each of which reads and makes as large a share of every tensor as of the rows, at least."""

    @property
    def linear(self) -> bool:
        """Whether each further part takes as long."""
        return bool(self.striped) and self.striped == self.sliced

    def in_both(self, number: int) -> tuple[int, ...]:
        """Return ``both`` of one of ``ranges``: if nothing is known, what stripes or slices take."""
        if self.both:
            return self.both[number]
        least = self.ranges[number][0]
        if self.linear:
            return tuple(self.striped[0] * (least * count - 1) for count in self.counts)
        counts = zip(self.counts, self.striped, strict=False)
        striped = max((cycles for count, cycles in counts if count <= least), default=0)
        return tuple(max(striped, each) for each in self.sliced or (0,) * len(self.counts))

    def further(self, stripes: int) -> int:
        """Return the cycles that it takes longer in at least so many stripes in a group."""
        if self.linear:
            return self.striped[0] * (stripes - 1)
        known = zip(self.counts, self.grouped or self.striped, strict=False)
        return max((cycles for count, cycles in known if count <= stripes), default=0)


@dataclass(frozen=True, slots=True)
class FluidTensor:
    """A tensor that run ``made`` makes (None: it comes from Psram), and that the runs ``reads`` read."""

    bytes: int
    made: int | None
    reads: tuple[int, ...]
    loads: tuple[int, ...]
    """DMA cycles to load what each of ``reads`` reads, if it is not in SharedMemory."""
    read_bytes: tuple[int, ...] = ()
    """Bytes of it that each of ``reads`` reads at least; nothing where empty."""
    written: int = 0
    """Bytes of it that run ``made`` writes at least."""
    store: int = 0
    """DMA cycles to store it, so that it can be loaded again."""
    stored: int = 0
    """DMA cycles to store it as a result of the program; 0 for other tensors."""
    in_place: frozenset[int] = frozenset()
    """The runs that read it and, where they are in no group, may write over it or build their output around
    it."""
    absorbed: frozenset[int] = frozenset()
    """Those that build their output around it: in no group they read none of it."""
    by_rows: frozenset[int] = frozenset()
    """The runs on their own that may write over it in several stripes, each what no later one reads."""
    by_all_slices: frozenset[int] = frozenset()
    """The runs of which every slice of channels reads all that the run reads."""
    evenly: frozenset[int] = frozenset()
    """The runs that read all of it, at least as large a share as that of the rows or columns they make."""
    by_every_step: frozenset[int] = frozenset()
    """The runs of which every step reads some of it."""
    overlaps: tuple[int, ...] = ()
    """Bytes that each of ``reads`` needs beyond that share for a stripe that is neither its first nor its
    last; nothing where empty."""
    by_parts: frozenset[int] = frozenset()
    """The runs on their own of which every two stripes in a row read other bytes of it."""
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
    load_set_up: int = 0
    """DMA cycles to start a load of a tensor."""
    store_set_up: int = 0
    """The same of a store."""
    last_part: int = 0
    """DMA cycles after the last part of the last run, in any number of parts."""
    repeats: tuple[tuple[int, int, int], ...] = ()
    """Start, stop and times of runs that come so many times in a row, each time with what the time before has
    left. Inner ones first; neither the first nor the last run is in one."""
