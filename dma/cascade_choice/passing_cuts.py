"""Cuts of a chain where tensors do not fit SharedMemory: around a segment they stay, or all are in Psram.

A segment whose tensors are in Psram loads and stores them in stripes, a step at a time, and a window's halo
rows again for each step; with room for two stripes of each it computes meanwhile. A single op is cut as
``dma.residency.best_cuts`` does it. What a tensor takes that stays on one side only is not counted.

Source: chipmodel.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from chipmodel.model.schedule import PlainTraffic
from dma.cascade_choice.cuts import EXCLUDED, TransferEstimate, cheapest_cut
from dma.cascade_choice.row_reach import row_reach
from dma.cascade_choice.segmented_chains import SegmentedChain
from dma.cascade_choice.stripe_heights import Counts
from dma.residency.best_cuts import best_cut
from dma.residency.tiling import NONE_KEPT


def passing_cut(
    times: TransferEstimate, chain: SegmentedChain, capacity: int, alone: dict[str, int]
) -> tuple[int, ...]:
    """Return the numbers of the segments of the fastest such cut; ``alone`` is as in ``passing_cycles``."""
    table = chain.table
    passing = passing_cycles(times, chain, capacity, alone)
    costs = np.where(table.bytes <= capacity, table.cycles, passing) + times.of_each("weights", table.weights)
    return cheapest_cut(table, np.where(chain.allowed, costs, EXCLUDED)).numbers


def passing_cycles(
    times: TransferEstimate, chain: SegmentedChain, capacity: int, alone: dict[str, int]
) -> Counts:
    """The cycles of each segment with all tensors around it in Psram, without its weights' loads; those of
    single ops, by name, are kept in ``alone``."""
    table, geometry = chain.table, chain.geometry
    stripes, ends, moved = (np.zeros(len(table), np.int64) for _ in range(3))
    for traffic, here, size, steps in _stripes(chain):
        cycles = times.of_each(traffic, size)
        stripes[here] += size
        ends[here] += cycles
        moved[here] += cycles * steps
    size = table.least + stripes
    meanwhile = np.maximum(table.cycles + ends, moved)
    found: Counts = np.where(size + stripes <= capacity, meanwhile, table.cycles + moved)
    found[~chain.allowed | (size > capacity)] = EXCLUDED
    loads = times.of_each("weights", table.weights).tolist()
    for op, number in zip(geometry.ops, table.bounds[1:-1], strict=True):
        if op.name not in alone:
            cut = best_cut(geometry.program, geometry.chip, op, capacity, NONE_KEPT)
            alone[op.name] = cut.cycles - loads[number] if cut else EXCLUDED
        found[number] = alone[op.name]
    return found


def _stripes(chain: SegmentedChain) -> Iterator[tuple[PlainTraffic, Counts, Counts, Counts]]:
    """What cascades load and store around them: their numbers, the bytes of each step, and the steps."""
    geometry, table = chain.geometry, chain.table
    program, around = geometry.program, geometry.around
    makers = {name: index for index, op in enumerate(geometry.ops) for name in op.outputs}
    options = np.hstack([each.heights for each in table.sources])
    before = np.cumsum([0, *(each.heights.shape[1] for each in table.sources)])
    for index, op in enumerate(geometry.inner):
        inside = table.cascaded & (table.starts <= index) & (index < table.stops)
        if not geometry.fits[index] or not inside.any():
            continue
        rows, heights = geometry.op_rows[index], np.ones(len(table), np.int64)
        heights[inside] = options[index, (before[table.source] + table.options)[inside]].clip(max=rows)
        for operand, name in enumerate(op.inputs):
            reach, maker = row_reach(op, operand, geometry.rows), makers.get(name, -1)
            if maker < index and op.inputs.index(name) == operand:
                here = (inside & (table.starts > maker)).nonzero()[0]
                first = np.minimum(rows // 2 // heights[here] * heights[here], rows - heights[here])
                read = reach.stops(first + heights[here]) - reach.starts(first)
                size = -(-program.tensors[name].bytes * read // reach.rows)
                yield "load", here, size, np.where(read < reach.rows, -(-rows // heights[here]), 1)
        for name in op.outputs:
            last = table.count if name in around.outer else around.touched[name].stop - 1 - geometry.first
            here = (inside & (table.stops <= last)).nonzero()[0]
            size = -(-program.tensors[name].bytes * heights[here] // rows)
            yield "store", here, size, -(-rows // heights[here])
