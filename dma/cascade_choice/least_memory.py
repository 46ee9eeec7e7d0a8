"""Sets of cascades with which a program needs the least SharedMemory.

Each straight run is cut so that its largest segment is as small as possible, and then, for that and for
slightly larger budgets, so that it takes the fewest cycles. The bytes of the chosen cascades are computed
exactly, and runs are cut again until no estimate is left in the cut.

Source: chipmodel.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from chipmodel.cascades.rewrite import CascadeChoice, cascade_op
from chipmodel.hardware.chip import Chip
from chipmodel.model.cascade_work import CascadeWork
from chipmodel.model.program import Program
from dma.cascade_choice.cuts import Cut, cheapest_cut, least_maximum
from dma.cascade_choice.reloads import Reloading
from dma.cascade_choice.run_geometry import MAX_OPS
from dma.cascade_choice.segment_table import CascadeSegment
from dma.cascade_choice.segmented_runs import (
    Candidate,
    PlacedSegment,
    SegmentedRun,
    cascade_choices,
    is_possible,
    segment_reloads,
    segmented_runs,
    with_bands,
    with_reloads,
)
from dma.residency.tiling import least_stripe

LOOSER = (Fraction(1), Fraction(33, 32), Fraction(9, 8))
"""Budgets, in shares of the least. Chosen: the packer's fragmentation may favour another set."""
RELOADED = (1 / 16, 1 / 256)
"""Of the least memory without it, weights of an op that a cascade may load again. Chosen."""
WORTHWHILE = 0.98
"""Share of the least memory with rows alone, above which bands are not worth their halo. Chosen."""
MOST_CUTS = 64
"""Cuts of a run until estimates in it stay as they are. Chosen."""


def least_memory_candidates(program: Program, chip: Chip, rolls: bool | None = None) -> tuple[Candidate, ...]:
    """Sets of cascades for the smallest SharedMemory, the one that is expected to need the least first."""
    rolls = chip.npu.rolling_buffers if rolls is None else rolls
    plain = segmented_runs(program, chip, rolls, 0)
    least = max((least_maximum(run.table, run.table.bytes) for run in plain), default=0)
    reloading = Reloading(least, RELOADED, MAX_OPS)
    rows = [with_reloads(run, rolls, reloading) for run in plain]
    exact = [_ExactRun(program, run, rolls) for run in rows]
    least = max((run.least() for run in exact), default=0)
    banded = [_ExactRun(program, with_bands(run, rolls, least), rolls) for run in rows]
    less = max((run.least() for run in banded), default=0)
    shares = LOOSER[:1] if less < WORTHWHILE * least else ()  # plans in bands have many steps
    found = [*_candidates(program, banded, less, rolls, shares)]
    found += [each for each in _candidates(program, exact, least, rolls, LOOSER) if each not in found]
    return tuple(found)


def _candidates(
    program: Program, runs: Sequence[_ExactRun], least: int, rolls: bool, shares: Sequence[Fraction]
) -> list[Candidate]:
    """Sets of cascades for budgets that are these shares of the least."""
    found: list[Candidate] = []
    for budget in (int(least * share) for share in shares):
        candidate = cascade_choices([each for run in runs for each in run.fastest(budget)], rolls)
        if candidate not in found and is_possible(program, candidate):
            found.append(candidate)
    return found


class _ExactRun:
    """A straight run, in which the bytes of every cascade that was ever chosen are exact."""

    def __init__(self, program: Program, run: SegmentedRun, rolls: bool) -> None:
        self.program, self.run, self.rolls, self.table = program, run, rolls, run.table
        self.bytes = self.table.bytes.copy()
        """By number of a segment: as estimated, or exact."""
        self.known: set[int] = set()
        self.beyond_all = 1 + int(self.table.cycles.sum())

    def least(self) -> int:
        """The bytes of the largest segment, in the cut where they are the fewest."""
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
        return [(self.run, self.table.segment(number)) for number in self.cut(budget).numbers]

    def cut(self, budget: int) -> Cut:
        return cheapest_cut(self.table, self.table.cycles + np.where(self.bytes > budget, self.beyond_all, 0))

    def corrects(self, cut: Cut) -> bool:
        """Whether the bytes of any cascade in the cut are not what was estimated; they are then."""
        changed = False
        for number in cut.numbers:
            segment = self.table.segment(number)
            if not segment.heights or number in self.known:
                continue
            exact = self.exact_bytes(segment)
            for same in self.table.same(number):
                self.known.add(same)
                changed = changed or exact != self.bytes[same]
                self.bytes[same] = exact
        return changed

    def exact_bytes(self, segment: CascadeSegment) -> int:
        """The bytes of a cascade by its exact geometry; more than all others where it is impossible."""
        geometry = self.run.geometry
        ops = geometry.ops[segment.ops.start : segment.ops.stop]
        reloaded = segment_reloads(geometry, segment)
        names = tuple(op.name for op in ops)
        choice = CascadeChoice(names, segment.heights, self.rolls, reloaded, segment.bands)
        try:
            op = cascade_op(self.program, ops, choice)
        except ValueError:
            return 1 << 62
        assert isinstance(op.work, CascadeWork)
        streamed = {name for name, _ in geometry.streamed[segment.ops.start]}
        whole = frozenset((*op.inputs, *op.outputs)) - streamed
        stripes = least_stripe(self.program, op, whole) if streamed else 0
        return segment.outside + op.work.workspace + self.program.block_bytes(op) + stripes
