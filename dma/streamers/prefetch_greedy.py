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
    MemoryProbe,
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
SLICE_LIMITS = ((8, 1), (8, 2), (8, 3), (64, 2), (64, 3), (64, 6), (64, 12))
"""What is tried, as (weight floor divisor, slices at once): a slice takes at most an equal part of the memory
that the op's tensors leave. Measured: none is best everywhere (docs/decisions)."""
FINER_LIMITS = ((64, 24), (64, 48))
"""The same for ample memory: weights give way sooner, slice by slice."""
PROBE_LIMIT = (64, 6)
"""The limit of the streamer that is tried first, with every load where it is needed."""
FREE_EIGHTHS = (8, 6, 4, 2)
"""Eighths of the free memory that may hold slices before they are needed, from most to least. Packers find no
plan for many buffers with overlapping lifetimes that fill all of it; half of it is forecast to cost 0 to 2 %
(measured on ResNet-18 and GoogLeNet, docs/decisions)."""

IssueWeights = Callable[[MemoryBudget, Emission, list[IssuedTransfer], Room], IssuePlan]
"""Decides about the weights, given the other transfers and the bytes available for weights at each op."""


def probe(weights: IssueWeights, *others: IssueWeights, name: str = NAME) -> MemoryProbe:
    """Return a probe that holds as little as possible; its followers use one slice limit each, and first all
    of the free memory, then smaller parts of it, each with ``weights`` and then the ``others``."""

    def followers(limits: tuple[tuple[int, int], ...]) -> tuple[tuple[Streamer, ...], ...]:
        return tuple(
            tuple(
                _streamer(name, limit, eighths, each)
                for eighths in FREE_EIGHTHS
                for each in (weights, *others)
            )
            for limit in limits
        )

    lean = _streamer(name, PROBE_LIMIT, 0, (weights, *others)[-1])
    return MemoryProbe(lean, followers(SLICE_LIMITS), followers(FINER_LIMITS))


def _streamer(name: str, limit: tuple[int, int], eighths: int, weights: IssueWeights) -> Streamer:
    """The streamer of one slice limit; with 0 eighths every load is issued where it is needed."""
    divisor, slices_at_once = limit
    return Streamer(
        name=f"{name} {divisor} {slices_at_once} {eighths}",
        double_buffered=True,
        reserve=one_buffer,
        slices=_SLICES[slices_at_once],
        issue=partial(_issue, slices_at_once=slices_at_once, eighths=eighths, weights=weights),
        weight_floor_divisors=(divisor,),
        decider="tiers",
    )


_SLICES = {count: partial(equal_slices, slices_at_once=count) for _, count in SLICE_LIMITS + FINER_LIMITS}
"""One function for each number of slices: streamers that cut alike share steps (``build.BuildCache``)."""


def _issue(
    memory: MemoryBudget, emission: Emission, slices_at_once: int, eighths: int, weights: IssueWeights
) -> IssuePlan:
    slice_at = equal_slices(memory, slices_at_once).bytes_at
    tensors = TensorIssuer(memory, emission, slice_at)
    others = [*stripes(emission), *tensors.transfers()]
    free: dict[str, int] = {}
    for op in ops(memory.program.body):
        free[op.name] = slice_at(op) + max(tensors.slack[op.name], 0) * eighths // 8
    issued, buffers = weights(memory, emission, others, room_of(emission, free))
    return IssuePlan([*others, *issued], buffers)


def early(memory: MemoryBudget, emission: Emission, others: list[IssuedTransfer], room: Room) -> IssuePlan:
    """Issue every slice as early as the ``room`` at each step allows, then as late as that costs no time."""
    return IssuePlan(issued_weights(memory, emission, others, room, issue_positions), {})


SCREENING = _streamer(NAME, PROBE_LIMIT, FREE_EIGHTHS[0], early)
"""The streamer by whose forecast a program is compared with the same in other forms: it needs no more memory
than any other one, and is mostly near the best of them."""

LARGE_SLICES = tuple(
    _streamer(NAME, limit, FREE_EIGHTHS[0], weights)
    for weights, limits in ((in_idle_time, ((8, 1), (64, 2), PROBE_LIMIT)), (early, ((8, 1), (64, 2))))
    for limit in limits
)
"""Streamers for ops in stripes: weights that are cut are loaded again for every stripe, so these have the
largest slices. The first two are the fastest where packers find a plan."""

PROBE = probe(in_idle_time, early)
PORTFOLIO = StreamerPortfolio(NAME, (sync.STREAMER, ping_pong.STREAMER, weight_pipeline.STREAMER, PROBE))
