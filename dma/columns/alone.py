"""One op on its own, in stripes of rows and slices of channels, as the kernel takes it."""

from __future__ import annotations

from functools import partial

import numpy as np

from chipmodel.geometry.interval import Interval
from chipmodel.hardware.chip import Chip
from chipmodel.model.program import NO_SHARE, Op, Program
from chipmodel.model.work import Conv, Matmul, Pool, Recurrent, Vector
from dma.columns.ladder import cuts
from dma.columns.numbers import SharedNumbers
from dma.columns.plan_ways import PartCut
from dma.residency.loaded_rings import may_roll
from dma.residency.rings import distance
from dma.residency.tiling import row_blocks
from solvers.columns.kernel import INPUT, OUTPUT, Stretch

NONE = np.zeros(0, np.int64)


def op_alone(
    program: Program,
    chip: Chip,
    numbers: SharedNumbers,
    op: Op,
    own: PartCut | None,
    loads: int | None,
    tight: bool,
    taken: str | None,
) -> Stretch | None:
    """Return the stretch of one op, whatever the numbers of its tensors; None where its parts are none of
    those that are listed.

    ``loads`` are the DMA cycles of its weights where they may be there before (None: they are not). ``own``
    is a cut beside those of the ladder; see ``dma.columns.ladder.cuts`` for ``tight``. The output may have
    the memory of the input ``taken``: row by row, unless the op overwrites it at once.
    """
    if not _is_listed(program, op):
        return None
    names = list(dict.fromkeys((*op.inputs, *op.outputs)))
    rows = {name: (op.work.rows, int(OUTPUT), 0) for name in op.outputs}
    needs: list[tuple[int, int, int]] = []
    by_channels: list[int] = []
    for operand, name in enumerate(op.inputs):
        share = op.reads(operand, Interval(0, 1), Interval(0, 1))
        if share == NO_SHARE or share.banded:
            return None
        whole = program.tensors[name].bytes % share.of_rows == 0
        rolls = chip.npu.rolling_buffers and may_roll(op, operand) and whole
        rows[name] = share.of_rows, INPUT, int(rolls)
        needs.append((names.index(name), *numbers.rows_read_alone(op, operand, share.of_rows)))
        by_channels.append(int(len(share.channels) < share.of_channels))
    described = [(program.tensors[n].bytes, rows[n][0], -1, *rows[n][1:], 1) for n in names]
    size, ends = program.block_bytes(op), (len(needs), 0, len(op.outputs))
    scratch = op.scratch.bytes if op.scratch else 0
    parts = cuts(op, partial(numbers.cycles, op), own, tight)
    choices = [(*part, _beside(program, op, taken, *part[:2])) for part in parts]
    return Stretch(
        np.array([(op.work.rows, 0, size, int(loads is None), scratch, op.work.macs, 0, *ends)], np.int64),
        np.array(needs, np.int64),
        np.array([names.index(name) for name in op.outputs], np.int64),
        np.array(described, np.int64),
        np.array(choices, np.int64),
        np.zeros(1, np.int64),
        np.array(by_channels, np.int64),
        NONE,
        op.work.channels,
        (),
        loads or 0,
        (names.index(taken), names.index(op.outputs[0])) if taken else None,
        isinstance(op.work, Recurrent),
        taken != op.overwrites,
    )


def _beside(program: Program, op: Op, taken: str | None, rows: int, channels: int) -> int:
    """The bytes that an output takes beside an input of which it has the memory, by a part's rows and
    channels: later parts read what the first one would overwrite. Row by row, a rolling buffer has both."""
    if taken is None:
        return 0
    old, made = program.tensors[taken].bytes, program.tensors[op.outputs[0]].bytes
    if taken == op.overwrites:
        return 0 if rows >= op.work.rows and channels >= op.work.channels else made
    return made if rows >= op.work.rows else min(made, max(distance(program, op, taken, rows), made - old))


def _is_listed(program: Program, op: Op) -> bool:
    """Whether every part of an op makes its rows and channels of each output, apart from any other op."""
    work = op.work
    if op.absorbs or op.gathers or op.allocates or op.sliced or op.by_rows or op.cascade or not op.outputs:
        return False
    if isinstance(work, Vector):
        known = not work.cut
    elif isinstance(work, Recurrent):
        known = not work.backward
    else:
        known = isinstance(work, Conv | Pool | Matmul) and not row_blocks(work)
    sizes = {name: program.tensors[name].bytes for name in op.outputs}
    every = Interval(0, work.rows), Interval(0, work.channels)
    return known and all(op.writes(name, *every).bytes(size) == size for name, size in sizes.items())
