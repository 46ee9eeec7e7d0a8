"""What stays in SharedMemory, by a state search over the memory tiers of a chip.

Source: the tiered-memory patent (CN, 2022) (docs/references.md).
"""

from __future__ import annotations

from dataclasses import replace

from chipmodel.errors import DoesNotFit
from chipmodel.hardware.chip import Chip
from chipmodel.model.program import Program
from chipmodel.model.schedule import StateCost
from dma.residency.chip_tiers import ChipTierProblem
from dma.residency.greedy import Reserve, Residency, decide
from dma.residency.tier_segments import residency_of
from solvers.tiers.settings import STANDARD, TierSettings


def decide_tiers(
    program: Program,
    chip: Chip,
    budget: int,
    reserve: Reserve,
    spill: bool = True,
    settings: TierSettings = STANDARD,
) -> Residency:
    """Decide by the state search what stays in SharedMemory, of which ``budget`` bytes may be used. The
    search ends by its own limit, no deadline: a state that is found in less time is worse for the search, but
    its schedule may be faster. Raises DoesNotFit, naming the op, where ``budget`` bytes are not enough."""
    try:
        return decide(program, budget, reserve, spill=False)
    except DoesNotFit:
        if not spill:
            raise
    tiers = ChipTierProblem(program, chip, budget, reserve, settings, further=True)
    found = tiers.found()
    cost = StateCost(round(found.initial_cycles), round(found.state.cycles), settings.cost)
    return replace(residency_of(tiers, found.state), cost=cost)
