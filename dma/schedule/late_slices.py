"""The last op that waits for its weights in slices of channels: it begins when the first slice is there.

Until then the DMA engine works all the time, and nothing is left to compute meanwhile. An op before that one
would end earlier in slices too, but the next one would wait for longer.
"""

from __future__ import annotations

from dataclasses import replace

from chipmodel.model.program import Op, Program
from chipmodel.model.schedule import Schedule
from chipmodel.npu.cycles import op_cycles
from dma.residency.tiling import Tiling, slice_bytes
from dma.schedule.forecast import TransferTimes, late_weights
from dma.schedule.quicker_cuts import LEAST_GAIN, in_slices
from dma.schedule.streamer import GivenCuts

COUNTS = (2, 3, 4, 6, 8, 12, 16)
"""Numbers of slices that are tried."""


def late_slices(
    program: Program, times: TransferTimes, schedule: Schedule, cycles: float, cuts: GivenCuts | None
) -> GivenCuts | None:
    """Return ``cuts`` with the last op that waits for its weights in slices; None where that saves hardly
    anything of the ``cycles`` of ``schedule``, and for a program with branches or loops."""
    straight = all(isinstance(node, Op) for node in program.body)
    last = next(reversed(late_weights(schedule, times.chip)), None) if straight else None
    found = cuts or GivenCuts({}, {}, ())
    for op, width in in_slices(program, schedule, found.tilings) if last else ():
        if last and op.name == last.op and width == op.work.channels:
            whole = found.tilings.get(op.name, Tiling(op.work.rows, width))
            best = _soonest(program, times, op, whole, last.cycles, LEAST_GAIN * cycles)
            tilings, slices = {**found.tilings, op.name: best}, {**found.slices, op.name: width}
            return None if best == whole else found._replace(tilings=tilings, slices=slices)
    return None


def _soonest(
    program: Program, times: TransferTimes, op: Op, whole: Tiling, waits: int, least: float
) -> Tiling:
    """The slices with which an op ends first that ``waits`` so many cycles for its ``whole`` weights, which
    stay in one where that gains ``least`` cycles at most."""
    begin = waits - times("weights", program.block_bytes(op))
    cuts = [
        replace(whole, channels=-(-op.work.channels // count), channels_outer=True)
        for count in COUNTS
        if count <= op.work.channels
    ]
    ends = {tiling: _end(program, times, op, tiling, begin) for tiling in (whole, *cuts)}
    best = min(ends, key=ends.__getitem__)
    return best if ends[best] + least < ends[whole] else whole


def _end(program: Program, times: TransferTimes, op: Op, tiling: Tiling, begin: int) -> int:
    """When an op ends whose slices are loaded one after another from ``begin`` on, 0 being when it may
    start."""
    engine, clock = begin, 0
    rows = tiling.stripes(op).sizes().items()
    for channels in map(len, tiling.slices(op)):
        engine += times("weights", slice_bytes(program, op, channels))
        npu = sum(count * op_cycles(times.chip.npu, op, size, channels) for size, count in rows)
        clock = max(clock, engine) + npu
    return clock
