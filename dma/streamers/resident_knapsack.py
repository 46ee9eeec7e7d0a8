"""``resident-knapsack``: some weights of a loop stay for all of its iterations, the rest is
``prefetch-greedy``.

Memory that keeps weights (``dma.streamers.loop_residents``) cannot hold others before they are needed, so
there are three plans: nothing stays, as much as fits, and as much as fits beside the slice that is read next.
The one with the best forecast of the likeliest path is kept.

Source: chipmodel.
"""

from __future__ import annotations

from dma.schedule.operands import Emission
from dma.schedule.streamer import IssuedTransfer, IssuePlan, MemoryBudget, StreamerPortfolio
from dma.streamers import ping_pong_across, sync, weight_pipeline
from dma.streamers.loop_residents import LoopResidency, with_stays
from dma.streamers.prefetch_greedy import by_slice_limits, early
from dma.streamers.weight_pipeline import Room

NAME = "resident-knapsack"


def issue_with_residents(
    memory: MemoryBudget, emission: Emission, others: list[IssuedTransfer], room: Room
) -> IssuePlan:
    """Issue the weights with some that stay, or as ``prefetch_greedy.early`` does where that is as fast."""
    plans = [early(memory, emission, others, room)]
    loops = LoopResidency(memory, emission)
    for ahead in (False, True) if loops.probabilities.iterations else ():
        if stays := loops.chosen(loops.beside_slices(room, ahead)):
            taken = loops.taken(stays)
            left = [size - taken[position] for position, size in enumerate(room)]
            plans.append(with_stays(early(memory, loops.without(stays), others, left), stays))
    return loops.fastest(plans, others)


STREAMERS = by_slice_limits(issue_with_residents, NAME)
PORTFOLIO = StreamerPortfolio(
    NAME, (sync.STREAMER, ping_pong_across.STREAMER, weight_pipeline.STREAMER, *STREAMERS)
)
