"""Sets of cascades with which a program needs the least SharedMemory.

Each straight run is cut so that its largest segment is as small as possible, and then, for that and for
slightly larger budgets, so that it takes the fewest cycles.

Source: chipmodel.
"""

from __future__ import annotations

from fractions import Fraction

from chipmodel.chip.chip import Chip
from chipmodel.model.program import Program
from dma.cascades.cuts import cheapest_cut, least_maximum
from dma.cascades.segmented_runs import Candidate, cascade_choices, is_possible, segmented_runs
from dma.cascades.segments import CascadeSegment

LOOSER = (Fraction(1), Fraction(33, 32), Fraction(9, 8))
"""Budgets, in shares of the least: an estimate may be a few rows too low. Chosen."""


def least_memory_candidates(program: Program, chip: Chip, rolls: bool | None = None) -> tuple[Candidate, ...]:
    """Sets of cascades for the smallest SharedMemory, the one that is estimated to need the least first."""
    rolls = chip.npu.rolling_buffers if rolls is None else rolls
    runs = segmented_runs(program, chip, rolls, 0)
    least = max((least_maximum(len(run.geometry.ops), run.ending) for run in runs), default=0)
    beyond_all = 1 + sum(segment.cycles for run in runs for each in run.ending for segment in each)
    found: list[Candidate] = []
    for budget in (int(least * share) for share in LOOSER):

        def cost(segment: CascadeSegment, budget: int = budget) -> int:
            return segment.cycles + (beyond_all if segment.bytes > budget else 0)

        cuts = [(run, cheapest_cut(len(run.geometry.ops), run.ending, cost)) for run in runs]
        candidate = cascade_choices([(run, each) for run, cut in cuts for each in cut.segments], rolls)
        if candidate not in found and is_possible(program, candidate):
            found.append(candidate)
    return tuple(found)
