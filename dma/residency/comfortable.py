"""The SharedMemory beyond which a program hardly gains anything."""

from __future__ import annotations

from chipmodel.model.program import Program
from dma.residency.greedy import ResidencyTable


def comfortable_memory(program: Program) -> int:
    """Bytes in which all tensors that live at once fit whole next to the two largest blocks of weights."""
    table = ResidencyTable(program)
    through = table.residency(table.initial_decisions()).through
    weights = sorted(program.block_bytes(op) for op in program.ops())
    return max(through, default=0) + sum(weights[-2:])
