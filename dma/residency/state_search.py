"""What stays in SharedMemory, by a state search over the memory tiers of a chip.

Source: the tiered-memory patent (CN, 2022) (docs/references.md).
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from chipmodel.errors import DoesNotFit
from chipmodel.hardware.chip import Chip
from chipmodel.model.identity import Same
from chipmodel.model.program import Program
from chipmodel.model.tier_states import BlockStates, BlockStay, StateSearch
from dma.residency.by_ways import StayingTensors
from dma.residency.chip_tiers import SHARED, ChipTierProblem
from dma.residency.greedy import Reserve, Residency, decide
from solvers.tiers.problem import TierProblem, TierState
from solvers.tiers.search import TierSearchResult
from solvers.tiers.settings import STANDARD, TierCost, TierSettings


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
    tiers = ChipTierProblem(program, chip, budget, reserve, settings)
    found = tiers.found()
    whole = _in_all_of_the_memory(Same(program), Same(chip), settings)
    residency = residency_of(tiers, found.state)
    return replace(residency, search=replace(whole, planned=round(found.state.cycles)))


def residency_of(tiers: ChipTierProblem, state: TierState) -> Residency:
    """Return the residency of a state. An op loads its tensors in Psram whole where there is room; in another
    one they pass in stripes."""
    program, names = tiers.program, tiers.names
    here = [
        {
            name: tier == SHARED
            for name, block in tiers.index.items()
            if (tier := state.tier_at(block, at)) is not None
        }
        for at in range(len(tiers.table.ops))
    ]
    in_parts: list[bool] = []
    for op, places in zip(tiers.table.ops, here, strict=True):
        slow = {name for name in (*op.inputs, *op.outputs) if not places[name]}
        alive = sum(program.tensors[name].bytes for name, stays in places.items() if stays or name in slow)
        whole = alive + tiers.reserve(op) <= tiers.budget and op.sliced not in slow
        in_parts.append(bool(slow) and not whole and not op.allocates)
    under = {names[new]: names[old] for new, old in enumerate(state.under) if old is not None}
    unknown = [0] * len(here)
    staying = StayingTensors(tiers.table.ops, here, here, in_parts, unknown, under)
    return decide(program, tiers.budget, tiers.reserve, begun=staying)


@lru_cache(maxsize=8)
def _in_all_of_the_memory(program: Same[Program], chip: Same[Chip], settings: TierSettings) -> StateSearch:
    """The search where nothing is kept for weights and fragments: its baseline is the same whatever the
    settings, the streamer, and how often the plan had to be made again in less memory."""
    size = chip.value.shared_memory.bytes
    tiers = ChipTierProblem(program.value, chip.value, size, lambda _: 0, settings)
    return state_search(tiers.problem, tiers.found(), settings.cost)


def state_search(problem: TierProblem, found: TierSearchResult, unit: TierCost) -> StateSearch:
    """Return the states of a search by the names of tiers, ops and blocks."""
    return StateSearch(
        unit=unit,
        tiers=tuple((tier.name, tier.capacity) for tier in problem.tiers),
        steps=tuple(step.name for step in problem.steps),
        initial=_states(problem, found.initial),
        found=_states(problem, found.state),
        planned=round(found.state.cycles),
    )


def _states(problem: TierProblem, state: TierState) -> BlockStates:
    stays: list[BlockStay] = []
    for block, places, under in zip(problem.blocks, state.stays, state.under, strict=True):
        for at in places if block.bytes else ():
            over = problem.blocks[under].name if under is not None and at is places[0] else ""
            stays.append(BlockStay(block.name, block.bytes, at.tier, at.offset, at.start, at.stop, over))
    return BlockStates(round(state.cycles), tuple(stays))
