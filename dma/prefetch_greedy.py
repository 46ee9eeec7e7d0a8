"""``prefetch-greedy``: reserve for weights what an op itself needs, then load as early as memory allows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction

from chipmodel.program import Op, Program, ops
from chipmodel.schedule import BufferSpec
from dma import ping_pong, sync, weight_pipeline
from dma.emit import Emission
from dma.ping_pong import Neighbours, stripes
from dma.policy import Issued, Policy, Room
from dma.residency import Reserve
from dma.sync import least_weights
from dma.tiling import slice_bytes, sliced
from dma.weight_pipeline import stretches
from dma.weight_region import issue_positions


def greedy(part: int, pieces: int, ahead: Fraction) -> Policy:
    def channels(room: Room) -> tuple[Mapping[str, int], Callable[[Op], int]]:
        return _channels(room, pieces)

    def issue(room: Room, emission: Emission) -> tuple[list[Issued], dict[str, BufferSpec]]:
        return _issue(room, emission, _channels(room, pieces)[1], ahead)

    return Policy(
        name=f"prefetch-greedy-{part}-{pieces}-{ahead}",
        title="",
        source="",
        double=True,
        reserve=_reserve,
        channels=channels,
        issue=issue,
        parts=(part,),
        tiers=True,
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


def _issue(
    room: Room, emission: Emission, beside: Callable[[Op], int], ahead: Fraction
) -> tuple[list[Issued], dict[str, BufferSpec]]:
    neighbours = Neighbours(room, emission, beside)
    issued = [*stripes(emission), *neighbours.tensors()]
    free = {
        op.name: beside(op) + int(max(neighbours.slack[op.name], 0) * ahead) for op in ops(room.program.body)
    }
    for needs, stretch in list(stretches(room.chip, emission, issued, free)):
        for need, position in zip(needs, issue_positions(stretch), strict=True):
            issued.append(Issued(need, need.buffer, position, need.first))
    return issued, {}


POLICY = Policy(
    name="prefetch-greedy",
    title="weights as early as memory allows",
    source="",
    double=True,
    reserve=_reserve,
    channels=sync.POLICY.channels,
    issue=sync.POLICY.issue,
    rivals=(
        sync.POLICY,
        ping_pong.POLICY,
        weight_pipeline.POLICY,
        *(
            greedy(part, pieces, ahead)
            for part in (8, 64)
            for pieces in (1, 2, 4, 8)
            for ahead in (Fraction(1), Fraction(1, 2), Fraction(0))
        ),
    ),
)
