"""Sets of cascades with which a program needs the least SharedMemory.

Each straight chain is cut so that its largest segment is as small as possible, and then, for that and for
slightly larger budgets, so that it takes the fewest cycles. The bytes of the chosen cascades are computed
exactly, and chains are cut again until no estimate is left in the cut.

Source: chipmodel.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from chipmodel.cascades.recomputed import computed
from chipmodel.hardware.chip import Chip
from chipmodel.model.program import Program
from dma.cascade_choice.chain_geometry import MAX_OPS
from dma.cascade_choice.cuts import Cut, cheapest_cut, least_maximum
from dma.cascade_choice.limited_memory import limited_memory_candidates
from dma.cascade_choice.reloads import Reloading
from dma.cascade_choice.segmented_chains import (
    BANDS,
    Candidate,
    PlacedSegment,
    SegmentedChain,
    cascade_choices,
    exact_bytes,
    is_possible,
    segmented_chains,
    with_bands,
    with_reloads,
)

LOOSER = (Fraction(1), Fraction(33, 32), Fraction(9, 8))
"""Budgets, in shares of the least: the packer's fragmentation may favour another set."""
RELOADED = (1 / 16, 1 / 256)
"""Weights of an op that a cascade may load again, as shares of the least memory without that."""
WORTHWHILE = 0.98
"""Share of the least memory with rows alone, above which bands are not worth their halo."""
MOST_CUTS = 64
"""Cuts of a chain after which estimates that still change stay as they are."""

FURTHER_CUTS = 4
"""Cuts that are looked at without the largest segments of those before."""
TOO_HIGH = Fraction(9, 8)
"""How many times the least an estimate of it may be, at most (ResNet-8: 1.09 times)."""
HIDDEN = 1 << 62
"""Bytes of a segment that no cut shall have."""


def least_memory_candidates(
    program: Program, chip: Chip, recompute: float | None = None, chained: bool = False
) -> tuple[Candidate, ...]:
    """Sets of cascades for the smallest SharedMemory, the one that is expected to need the least first.

    With ``recompute`` they may compute rows again, up to so many times the multiply-accumulates of the
    program, bands of columns included. Without it rows are kept, and bands as wide as they like. ``chained``
    is as in ``ChainGeometry``.
    """
    rolls = chip.npu.rolling_buffers
    plain = segmented_chains(program, chip, rolls, 0, chained=chained)
    least = max((least_maximum(chain.table, chain.table.bytes) for chain in plain), default=0)
    rows = [with_reloads(chain, rolls, Reloading(least, RELOADED, MAX_OPS)) for chain in plain]
    if recompute is not None:
        extra = int((recompute - 1) * computed(program))
        limited = dict.fromkeys(limited_memory_candidates(rows, rolls, least, extra, RELOADED))
        return tuple(each for each in limited if is_possible(program, each))
    exact = [_ExactChain(chain, rolls) for chain in rows]
    least = max((chain.least() for chain in exact), default=0)
    reloading = Reloading(least - 1, RELOADED, MAX_OPS)
    in_bands = (with_reloads(with_bands(chain, rolls, least), rolls, reloading, BANDS) for chain in rows)
    banded = [_ExactChain(chain, rolls) for chain in in_bands]
    less = max((chain.least() for chain in banded), default=0)
    shares = LOOSER[:1] if less < WORTHWHILE * least else ()  # plans in bands have many steps
    found = [*_candidates(program, banded, less, rolls, shares)]
    found += [each for each in _candidates(program, exact, least, rolls, LOOSER) if each not in found]
    return tuple(found)


def _candidates(
    program: Program, chains: Sequence[_ExactChain], least: int, rolls: bool, shares: Sequence[Fraction]
) -> list[Candidate]:
    """Sets of cascades for budgets that are these shares of the least."""
    found: list[Candidate] = []
    for budget in (int(least * share) for share in shares):
        candidate = cascade_choices([each for chain in chains for each in chain.fastest(budget)], rolls)
        if candidate not in found and is_possible(program, candidate):
            found.append(candidate)
    return found


class _ExactChain:
    """A straight chain, in which the bytes of every cascade that was ever chosen are exact."""

    def __init__(self, chain: SegmentedChain, rolls: bool) -> None:
        self.chain, self.rolls, self.table = chain, rolls, chain.table
        self.bytes = self.table.bytes.copy()
        """The bytes of each segment by number: estimated, or exact."""
        self.known: set[int] = set()
        self.beyond_all = 1 + int(self.table.cycles.sum())

    def least(self) -> int:
        """The bytes of the largest segment, in the cut where they are the fewest. An estimate that is too
        high may hide a better cut: so cuts without the largest segments of the best ones are looked at too.
        """
        least = size = self.settled()
        hidden: dict[int, int] = {}
        for _ in range(FURTHER_CUTS):
            largest = [n for n in self.cut(size).numbers if self.bytes[n] == size]
            hidden |= {same: size for n in largest for same in self.table.same(n)}
            self.bytes[list(hidden)] = HIDDEN
            size = self.settled()
            if size > TOO_HIGH * least:
                break
        self.bytes[list(hidden)] = list(hidden.values())
        return self.settled()

    def settled(self) -> int:
        """The least bytes of the largest segment, after those of all cascades in such a cut are exact."""
        for _ in range(MOST_CUTS):
            budget = least_maximum(self.table, self.bytes)
            if not self.corrects(self.cut(budget)):
                break
        return least_maximum(self.table, self.bytes)

    def fastest(self, budget: int) -> list[PlacedSegment]:
        """The fastest cut into segments of at most ``budget`` bytes."""
        for _ in range(MOST_CUTS):
            cut = self.cut(budget)
            if not self.corrects(cut):
                break
        return [(self.chain, self.table.segment(number)) for number in self.cut(budget).numbers]

    def cut(self, budget: int) -> Cut:
        return cheapest_cut(self.table, self.table.cycles + np.where(self.bytes > budget, self.beyond_all, 0))

    def corrects(self, cut: Cut) -> bool:
        """Whether the bytes of any cascade in the cut are not what was estimated; they are then."""
        changed = False
        for number in cut.numbers:
            segment = self.table.segment(number)
            if not segment.heights or number in self.known:
                continue
            exact = exact_bytes(self.chain, segment, self.rolls)
            for same in self.table.same(number):
                self.known.add(same)
                changed = changed or exact != self.bytes[same]
                self.bytes[same] = exact
        return changed
