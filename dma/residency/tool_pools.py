"""Tensors that a chip's own tool leaves in Psram, where the NPU then reads and writes them byte by byte.

The tool has two pools in SharedMemory, and fills them with the largest tensors first; what has room in
neither stays off chip. No op works in place for it. What only a pooling reads never lies whole: the tool
pools it as it is made.

Source: chipmodel; chosen by the published use of external RAM on STM32N6 (docs/decisions, 0121).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import ceil

from chipmodel.hardware.chip import Chip
from chipmodel.model.plan import Buffer, Problem
from chipmodel.model.program import Op, Program, with_ops
from chipmodel.model.work import Pool
from dma.residency.greedy import ResidencyTable
from solvers.core.first_fit import PlacedByTime, lowest_fit


def as_tool_keeps(program: Program, chip: Chip) -> Program:
    """Return ``program`` with the cycles that its ops take for tensors in Psram, by the tool of ``chip``."""
    left = tensors_left(program, chip)

    def slower(op: Op) -> Op:
        moved = sum(program.tensors[name].bytes for name in (*op.inputs, *op.outputs) if name in left)
        return replace(op, psram_cycles=ceil(moved * chip.vendor.psram_byte_cycles))

    return replace(program, body=with_ops(program.body, slower)) if left else program


def tensors_left(program: Program, chip: Chip) -> frozenset[str]:
    """Return the tensors that have room in neither pool of the tool; none where no more is known of them."""
    if not chip.vendor.psram_byte_cycles:
        return frozenset()
    pooled = _pooled(program)
    apart = replace(program, body=with_ops(program.body, lambda op: replace(op, overwrites=None, absorbs=())))
    table = ResidencyTable(apart)
    alive = table.residency(table.initial_decisions()).segments
    left: Sequence[Buffer] = [
        Buffer(name, program.tensors[name].bytes, tuple(i for each in parts for i in table.live(each)))
        for name, parts in alive.items()
        if name not in pooled
    ]
    capacity, first = chip.shared_memory.bytes, chip.vendor.pool_bytes
    for size in (min(first, capacity), max(0, capacity - first)):
        left = _without_room(left, size)
    return frozenset(buffer.name for buffer in left)


def _pooled(program: Program) -> frozenset[str]:
    """The tensors that only poolings read."""
    others = {name for op in program.ops() if not isinstance(op.work, Pool) for name in op.inputs}
    read = {name for op in program.ops() if isinstance(op.work, Pool) for name in op.inputs}
    return frozenset(read - others - {*program.inputs, *program.outputs})


def _without_room(buffers: Sequence[Buffer], size: int) -> list[Buffer]:
    """The buffers that have no room in a pool, the largest placed first, each as low as it can be."""
    placed = PlacedByTime(Problem(tuple(buffers)))
    left: list[Buffer] = []
    for index in sorted(range(len(buffers)), key=lambda i: -buffers[i].bytes):
        offset = lowest_fit(buffers[index], *placed.rivals(index))
        if offset + buffers[index].bytes <= size:
            placed.add(index, offset)
        else:
            left.append(buffers[index])
    return left
