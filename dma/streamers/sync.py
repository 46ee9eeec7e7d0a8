"""``sync``: every load is issued at the step that needs it and waited for at once.

The baseline: no DMA cycle is hidden behind compute.

Source: Wang et al. 2025, Table 3, before optimisation (docs/references.md).
"""

from __future__ import annotations

from chipmodel.model.program import Op, Program, ops
from dma.residency.greedy import Reserve
from dma.residency.tiling import slice_bytes, sliced
from dma.schedule.steps import Emission
from dma.schedule.streamer import IssuedTransfer, IssuePlan, MemoryBudget, Streamer, WeightSlices


def least_weights(program: Program, op: Op, weight_floor: int) -> int:
    """Bytes to keep free for one weight buffer of ``op``: its block, but at most ``weight_floor`` bytes and
    at least one output channel of it."""
    block = program.block_bytes(op)
    channel = slice_bytes(program, op, 1) if op.work.channels > 1 else block
    return min(block, max(channel, weight_floor))


def _reserve(program: Program, weight_floor: int) -> Reserve:
    return lambda op: least_weights(program, op, weight_floor)


def _slices(memory: MemoryBudget) -> WeightSlices:
    program = memory.program
    channels: dict[str, int] = {}
    for op, claim in zip(ops(program.body), memory.claims, strict=True):
        limit = max(least_weights(program, op, memory.weight_floor), memory.budget - claim)
        channels[op.name] = sliced(program, op, limit, memory.granule) or 1
    return WeightSlices(channels, lambda op: slice_bytes(program, op, channels[op.name]))


def _issue(_: MemoryBudget, emission: Emission) -> IssuePlan:
    issued: list[IssuedTransfer] = []
    for need in emission.needs:
        position = need.first if need.direction == "load" else need.last
        issued.append(IssuedTransfer(need, need.buffer, position, position))
    return IssuePlan(issued, {})


STREAMER = Streamer("sync", double_buffered=False, reserve=_reserve, slices=_slices, issue=_issue)
