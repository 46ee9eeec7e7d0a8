"""Ops that the NPU computes faster in stripes of rows, all their tensors being in SharedMemory.

On Ethos-U55 the compiler's choice of a block depends on the rows of an op, and is not always the fastest:
SqueezeNet's last maximum on ``alif-e7`` takes 206,363 cycles as a whole, and 86,762 in two stripes. Such
stripes move nothing and take no memory.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial

from chipmodel.hardware.chip import Npu
from chipmodel.model.program import Op
from chipmodel.model.work import Recurrent
from chipmodel.npu.models import quickest_stripes
from dma.residency.best_cuts import tiled_cycles
from dma.residency.tiling import Tiling


def faster_cuts(widths: Iterable[tuple[Op, int]], npu: Npu, least: float) -> dict[str, Tiling]:
    """Return the stripes of ops that take more than ``least`` cycles less in them. Each op comes in slices of
    so many output channels, of which each passes through all stripes."""
    known: dict[object, Tiling | None] = {}
    found: dict[str, Tiling] = {}
    for op, width in widths:
        key = op.work, width, op.kind, op.dtype, op.further_cycles, op.weights_in_place
        if key not in known:
            known[key] = _fastest(npu, op, width, least)
        if tiling := known[key]:
            found[op.name] = tiling
    return found


def may_be_cut(op: Op) -> bool:
    """Whether an op that need not be cut may be: nothing else depends on its being whole."""
    special = op.cascade or op.allocates or op.gathers or op.absorbs or op.overwrites or op.sliced
    return not special and not isinstance(op.work, Recurrent)


def _fastest(npu: Npu, op: Op, width: int, least: float) -> Tiling | None:
    """The fastest stripes of an op; None where they save no more than ``least`` cycles."""
    cycles = partial(tiled_cycles, npu, op)
    uncut = Tiling(op.work.rows, width, channels_outer=width < op.work.channels)
    tried = [replace(uncut, rows=rows) for rows in quickest_stripes(npu, op, width)]
    found = min(tried, key=cycles, default=uncut)
    return found if cycles(uncut) - cycles(found) > least else None
