"""``sync``: every load is issued at the step that needs it and waited for at once.

The baseline: no DMA cycle is hidden behind compute.

Source: Wang et al. 2025, Table 3, before optimisation (docs/references.md).
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from chipmodel.model.program import Program, ops
from chipmodel.model.schedule import steps
from dma.residency.greedy import Reserve
from dma.residency.slice_widths import quickest_slices
from dma.residency.tiling import least_weights, slice_bytes
from dma.schedule.operands import Emission
from dma.schedule.streamer import IssuedTransfer, IssuePlan, MemoryBudget, Streamer, WeightSlices


def one_buffer(program: Program, weight_floor: int) -> Reserve:
    """Return a reserve in which each op keeps room for one weight buffer."""
    return lambda op: least_weights(program, op, weight_floor)


def equal_slices(memory: MemoryBudget, slices_at_once: int, block: int = 0) -> WeightSlices:
    """Return slices of which ``slices_at_once`` fit into the memory that the op's tensors leave; weights of
    more than ``block`` bytes, if any are too many, in slices of at most so many, of which two fit."""
    program = memory.program
    channels: dict[str, int] = {}
    for op, claim in zip(ops(program.body), memory.claims, strict=True):
        part = (memory.budget - claim) // slices_at_once
        if 0 < block < program.block_bytes(op):
            part = min(block, (memory.budget - claim) // 2)
        limit = max(least_weights(program, op, memory.weight_floor), part)
        channels[op.name] = quickest_slices(program, memory.chip, op, limit) or 1
    return WeightSlices(channels, lambda op: slice_bytes(program, op, channels[op.name]))


def _issue(_: MemoryBudget, emission: Emission, early: bool = False) -> IssuePlan:
    computed = [step.op for step in steps(emission.body)] if early else []
    issued: list[IssuedTransfer] = []
    for need in emission.needs:
        position = need.first if need.direction == "load" else need.last
        further = early and need.kind == "weights" and position and computed[position - 1] == need.op
        issued.append(IssuedTransfer(need, need.buffer, position - bool(further), position))
    return IssuePlan(issued, {})


def in_blocks(block: int) -> Streamer:
    """Return ``sync`` for a tool that loads more than ``block`` bytes of weights in blocks of at most that
    size, each while the one before it computes."""
    slices = partial(equal_slices, slices_at_once=1, block=block)
    return replace(STREAMER, slices=slices, issue=partial(_issue, early=True))


STREAMER = Streamer(
    "sync",
    double_buffered=False,
    reserve=one_buffer,
    slices=partial(equal_slices, slices_at_once=1),
    issue=_issue,
)
