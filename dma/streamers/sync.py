"""``sync``: every load is issued at the step that needs it and waited for at once.

The baseline of the control-flow paper's Table 3: no DMA cycle is hidden behind compute.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from chipmodel.model.program import Op, Program, ops
from chipmodel.model.schedule import BufferSpec
from dma.residency.greedy import Reserve
from dma.residency.tiling import slice_bytes, sliced
from dma.schedule.policy import Issued, Policy, Room
from dma.schedule.steps import Emission


def least_weights(program: Program, op: Op, keep: int) -> int:
    """Bytes to keep free for one weight buffer of ``op``: its block, but no more than ``keep`` of it,
    nor less than one output channel's."""
    block = program.block_bytes(op)
    channel = slice_bytes(program, op, 1) if op.work.channels > 1 else block
    return min(block, max(channel, keep))


def _reserve(program: Program, keep: int) -> Reserve:
    return lambda op: least_weights(program, op, keep)


def _channels(room: Room) -> tuple[Mapping[str, int], Callable[[Op], int]]:
    channels: dict[str, int] = {}
    for op, claim in zip(ops(room.program.body), room.claims, strict=True):
        least = least_weights(room.program, op, room.keep)
        limit = max(least, room.budget - claim)
        channels[op.name] = sliced(room.program, op, limit, room.granule) or 1
    return channels, lambda op: slice_bytes(room.program, op, channels[op.name])


def _issue(room: Room, emission: Emission) -> tuple[list[Issued], dict[str, BufferSpec]]:
    issued: list[Issued] = []
    for need in emission.needs:
        position = need.first if need.direction == "load" else need.last
        issued.append(Issued(need, need.buffer, position, position))
    return issued, {}


POLICY = Policy(
    name="sync",
    title="every load at its own step, waited for at once",
    source="S2 (control-flow paper), Table 3, column before optimisation",
    double=False,
    reserve=_reserve,
    channels=_channels,
    issue=_issue,
)
