"""``prefetch-greedy``: weights as early as memory allows, in memory that nothing else wants.

Two things make ping-pong slow where memory is scarce. Its buffers are alive under every op, so tensors
leave SharedMemory for them; and a load is issued one slice ahead, so the DMA engine stands still where
early ops compute long, and late ops wait for it. Here an op keeps free for weights only what it reads
itself (as ``sync``), S1's state search decides about the rest (``dma.residency.state_search``), and every
slice is loaded into what is then free (``dma.streamers.weight_region``). Small slices fit into more places,
large ones need fewer set-ups; several limits are tried, and the quickest forecast is taken, ``sync``,
``ping-pong`` and ``weight-pipeline`` among them (``dma.streamers.race``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

from chipmodel.model.program import Op, Program, ops
from chipmodel.model.schedule import BufferSpec
from dma.residency.greedy import Reserve
from dma.residency.tiling import slice_bytes, sliced
from dma.schedule.policy import Issued, Policy, Room
from dma.schedule.steps import Emission
from dma.streamers import ping_pong, sync, weight_pipeline
from dma.streamers.ping_pong import Neighbours, stripes
from dma.streamers.sync import least_weights
from dma.streamers.weight_pipeline import stretches
from dma.streamers.weight_region import issue_positions

NAME = "prefetch-greedy"
SOURCE = "chipmodel"
LIMITS = ((8, 3), (8, 8), (64, 2), (64, 3), (64, 6), (64, 12))
"""What is tried as ``(part, pieces)``: an op may insist on the ``part``-th part of the memory for its
weights; a slice takes at most one of ``pieces`` equal parts of what the op's tensors leave."""
LEAN = (64, 6)
EIGHTHS = (8, 6, 4, 2)
"""Eighths of the free memory that hold slices ahead of their need. Packers find no room for many buffers
whose lifetimes overlap in a row where they fill all of it."""

Weights = Callable[
    [Room, Emission, list[Issued], Mapping[str, int]], tuple[list[Issued], dict[str, BufferSpec]]
]
"""Decides about the weights, beside other decisions, with so many bytes for them at each op."""


def field(weights: Weights) -> Policy:
    """A rival that holds as little as may be; its own rivals, one for each limit, begin with as much memory
    as a packer found room for that with."""
    rivals = tuple(_rival(part, pieces, EIGHTHS, weights) for part, pieces in LIMITS)
    return replace(_rival(*LEAN, (0,), weights), rivals=rivals)


def _rival(part: int, pieces: int, eighths: tuple[int, ...], weights: Weights) -> Policy:
    """The policy of one limit; with 0 eighths every load is issued where it is needed."""
    return Policy(
        name=f"{NAME} {part} {pieces} {eighths[0]}",
        title="",
        source=SOURCE,
        double=True,
        reserve=_reserve,
        channels=_CHANNELS[pieces],
        issue=partial(_issue, pieces=pieces, eighths=eighths[0], weights=weights),
        parts=(part,),
        decider="tiers",
        leaner=_rival(part, pieces, eighths[1:], weights) if eighths[1:] else None,
    )


def _reserve(program: Program, keep: int) -> Reserve:
    return lambda op: least_weights(program, op, keep)


def _channels(room: Room, pieces: int) -> tuple[Mapping[str, int], Callable[[Op], int]]:
    program = room.program
    channels: dict[str, int] = {}
    for op, claim in zip(ops(program.body), room.claims, strict=True):
        limit = max(least_weights(program, op, room.keep), (room.budget - claim) // pieces)
        channels[op.name] = sliced(program, op, limit, room.granule) or 1
    return channels, lambda op: slice_bytes(program, op, channels[op.name])


_CHANNELS = {pieces: partial(_channels, pieces=pieces) for _, pieces in LIMITS}
"""One function for each number of pieces: policies that cut alike share their steps (``stream.Known``)."""


def _issue(
    room: Room, emission: Emission, pieces: int, eighths: int, weights: Weights
) -> tuple[list[Issued], dict[str, BufferSpec]]:
    beside = _channels(room, pieces)[1]
    neighbours = Neighbours(room, emission, beside)
    others = [*stripes(emission), *neighbours.tensors()]
    free: dict[str, int] = {}
    for op in ops(room.program.body):
        free[op.name] = beside(op) + max(neighbours.slack[op.name], 0) * eighths // 8
    issued, buffers = weights(room, emission, others, free)
    return [*others, *issued], buffers


def early(
    room: Room, emission: Emission, others: list[Issued], free: Mapping[str, int]
) -> tuple[list[Issued], dict[str, BufferSpec]]:
    """Every slice as early as ``free`` bytes at each op allow, and from there as late as costs nothing."""
    issued: list[Issued] = []
    for needs, stretch in stretches(room.chip, emission, others, free):
        for need, position in zip(needs, issue_positions(stretch), strict=True):
            issued.append(Issued(need, need.buffer, position, need.first))
    return issued, {}


POLICY = replace(
    sync.POLICY,
    name=NAME,
    title="weights as early as memory allows; the best size of slices",
    source=SOURCE,
    rivals=(sync.POLICY, ping_pong.POLICY, weight_pipeline.POLICY, field(early)),
)
