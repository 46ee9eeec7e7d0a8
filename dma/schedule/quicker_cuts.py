"""A schedule's ops cut so that they end earlier.

The first op begins with the first part of what it reads (``dma.schedule.early_start``); others
are computed faster in stripes (``dma.residency.faster_cuts``). Ops that are in stripes for want of memory may
be cut by time (``dma.residency.best_cuts``) instead of by bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from chipmodel.hardware.chip import Chip
from chipmodel.model.program import Op, Program
from chipmodel.model.schedule import Schedule, steps
from dma.residency.best_cuts import best_cut
from dma.residency.faster_cuts import faster_cuts, may_be_cut
from dma.residency.greedy import Residency
from dma.residency.tiling import NONE_KEPT, Tiling
from dma.schedule.early_start import early_start
from dma.schedule.forecast import TransferTimes
from dma.schedule.streamer import GivenCuts, MemoryBudget, WeightSlices

LEAST_GAIN = 0.002
"""Share of a schedule's cycles that a cut has to save: less is not worth another schedule."""
LEAST_STRIPED_GAIN = LEAST_GAIN / 20
"""The same of stripes that an op is computed faster in: they move nothing, and many ops may have some (with
1/20 SqueezeNet on ``alif-e7`` takes 0.5 % fewer cycles, measured)."""


def quicker_cuts(program: Program, chip: Chip, schedule: Schedule, cycles: float) -> GivenCuts | None:
    """Return the tilings with which ops end earlier that are whole in ``schedule``, which takes ``cycles``;
    None where that gains hardly anything."""
    least, times = LEAST_GAIN * cycles, TransferTimes(chip)
    if cycles - sum(times.of(each) for each in schedule.transfers) <= least:
        return None  # the DMA engine hardly rests
    able = in_slices(program, schedule)
    tilings = faster_cuts(able, chip.npu, LEAST_STRIPED_GAIN * cycles)
    passing: tuple[str, ...] = ()
    first = program.body[0]
    if able and able[0] == (first, able[0][0].work.channels):
        early = early_start(program, times, able[0][0], least)
        if early:
            tilings[able[0][0].name] = early.tiling
            passing = early.passing if early.tiling.striped else ()
    return GivenCuts(tilings, {op.name: width for op, width in able}, passing) if tilings else None


def in_slices(program: Program, schedule: Schedule) -> list[tuple[Op, int]]:
    """Return the ops of which each step has all rows, and the output channels of the first step."""
    rows: dict[str, int] = {}
    widths: dict[str, int] = {}
    for step in steps(schedule.body):
        rows[step.op] = min(len(step.rows), rows.get(step.op, len(step.rows)))
        widths.setdefault(step.op, len(step.channels))
    whole = {op.name for op in program.ops() if rows.get(op.name) == op.work.rows}
    able = (op for op in program.ops() if may_be_cut(op) and op.name in whole)
    return [(op, widths[op.name]) for op in able]


def cut_by_time(memory: MemoryBudget, op: Op, left: int) -> Tiling | None:
    """Return the stripes of ``op`` and its weight slices in ``left`` bytes that are fastest, or None."""
    cut = best_cut(memory.program, memory.chip, op, left, memory.residency.kept.get(op.name, NONE_KEPT))
    return None if cut is None else cut.tiling


def with_cuts(memory: MemoryBudget, cuts: GivenCuts, slices: WeightSlices) -> MemoryBudget:
    """Return ``memory`` with the tilings of those ops that are not in stripes for want of memory, nor have
    other ``slices`` of weights."""
    tilings = {
        op.name: cuts.tilings[op.name]
        for op in memory.program.ops()
        if op.name in cuts.tilings
        and op.name not in memory.residency.striped
        and slices.channels[op.name] == cuts.slices[op.name]
    }
    first = next(memory.program.ops())
    passing = [name for name in first.inputs if name in cuts.passing]
    if passing and first.name in tilings:
        found = [memory.residency.segments.get(name, ()) for name in passing]
        if all(len(each) == 1 and each[0].loaded for each in found):
            memory = replace(memory, residency=_in_stripes(memory, first, passing))
        else:
            del tilings[first.name]
    return replace(memory, tilings=tilings)


def _in_stripes(memory: MemoryBudget, op: Op, passing: Sequence[str]) -> Residency:
    """What stays in SharedMemory where inputs of the first op pass in parts."""
    residency, through = memory.residency, [*memory.residency.through]
    through[0] -= sum(memory.program.tensors[name].bytes for name in passing)
    return replace(
        residency,
        segments={name: each for name, each in residency.segments.items() if name not in passing},
        striped=residency.striped | {op.name},
        kept={**residency.kept, op.name: frozenset((*op.inputs, *op.outputs)).difference(passing)},
        through=tuple(through),
    )
