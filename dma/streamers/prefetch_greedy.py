"""``prefetch-greedy``: weights as early as memory allows, in memory that nothing else needs.

Two things make ping-pong slow where memory is scarce. Its buffers are alive under every op, so tensors
leave SharedMemory for them; and a load is issued one slice ahead, so the DMA engine is idle while early ops
compute long, and late ops wait for it. Here an op keeps free for weights only what it reads itself (as in
``sync``), the state search over memory tiers decides about the rest (``dma.residency.state_search``), and
every slice is loaded into the memory that is then free (``dma.streamers.weight_region``), its first bytes
before the rest where these fit earlier: a slice is cut into pieces of output channels, so that its buffer
grows while it is filled, and takes no byte before it has to, although the op runs as a whole. Small slices
free their bytes sooner, large ones need fewer set-ups; so several slice limits are tried, and the fastest
forecast is used, ``sync``, ``ping-pong`` and ``weight-pipeline`` included (``dma.streamers.race``).

Source: chipmodel.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from chipmodel.model.program import ops
from dma.schedule.operands import Emission
from dma.schedule.streamer import (
    IssuedTransfer,
    IssuePlan,
    MemoryBudget,
    Streamer,
    StreamerPortfolio,
)
from dma.streamers import ping_pong, sync, weight_pipeline
from dma.streamers.idle_time import in_idle_time
from dma.streamers.ping_pong import TensorIssuer, stripes
from dma.streamers.sync import equal_slices, one_buffer
from dma.streamers.weight_pipeline import Room, issued_weights, room_of
from dma.streamers.weight_region import issue_positions

NAME = "prefetch-greedy"
SLICE_LIMITS = ((8, 1), (8, 2), (64, 6), (64, 24), (64, 48))
"""What is tried, as (weight floor divisor, slices at once): a slice takes at most an equal part of the memory
that the op's tensors leave. Small ones fill what a loop keeps: 18 % fewer cycles of ``lstm_decoder``."""

IssueWeights = Callable[[MemoryBudget, Emission, list[IssuedTransfer], Room], IssuePlan]
"""Decides about the weights, given the other transfers and the bytes available for weights at each op."""


def by_slice_limits(weights: IssueWeights, name: str = NAME) -> tuple[Streamer, ...]:
    """Return streamers that issue weights in one way, with slices of several sizes."""
    return tuple(
        Streamer(
            name=f"{name} {divisor} {slices_at_once}",
            double_buffered=True,
            reserve=one_buffer,
            slices=partial(equal_slices, slices_at_once=slices_at_once),
            issue=partial(_issue, slices_at_once=slices_at_once, weights=weights),
            weight_floor_divisors=(divisor,),
            searches_tiers=True,
        )
        for divisor, slices_at_once in SLICE_LIMITS
    )


def _issue(memory: MemoryBudget, emission: Emission, slices_at_once: int, weights: IssueWeights) -> IssuePlan:
    slice_at = equal_slices(memory, slices_at_once).bytes_at
    tensors = TensorIssuer(memory, emission, slice_at)
    others = [*stripes(emission), *tensors.transfers()]
    free: dict[str, int] = {}
    for op in ops(memory.program.body):
        free[op.name] = slice_at(op) + max(tensors.slack[op.name], 0)
    issued, buffers = weights(memory, emission, others, room_of(emission, free))
    return IssuePlan([*others, *issued], buffers)


def early(memory: MemoryBudget, emission: Emission, others: list[IssuedTransfer], room: Room) -> IssuePlan:
    """Issue every slice as early as the ``room`` at each step allows, then as late as that costs no time."""
    return IssuePlan(issued_weights(memory, emission, others, room, issue_positions), {})


STREAMERS = by_slice_limits(in_idle_time)
PORTFOLIO = StreamerPortfolio(NAME, (sync.STREAMER, ping_pong.STREAMER, weight_pipeline.STREAMER, *STREAMERS))
