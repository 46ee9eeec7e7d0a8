"""How wide slices of weights are, and the cycles that an op takes in parts."""

from __future__ import annotations

from chipmodel.hardware.chip import Chip, Npu
from chipmodel.model.program import Op, Program
from chipmodel.npu.cycles import op_cycles
from dma.residency.tiling import Tiling, sliced


def quickest_slices(program: Program, chip: Chip, op: Op, limit: int) -> int | None:
    """Return the output channels of slices of weights of at most ``limit`` bytes (``tiling.sliced``).

    Of an op with one row, to which launches matter most, they are as many as fit where that takes the NPU
    less time than multiples of what its array computes at once.
    """
    even = sliced(program, op, limit, chip.npu.array[1])
    most = sliced(program, op, limit, 1)
    if op.work.rows > 1 or even is None or most is None:
        return even
    return min(even, most, key=lambda width: tiled_cycles(chip.npu, op, Tiling(op.work.rows, width)))


def tiled_cycles(npu: Npu, op: Op, tiling: Tiling) -> int:
    """Return the NPU cycles of all tiles of ``op``."""
    return sum(
        count * times * op_cycles(npu, op, rows, channels)
        for rows, count in tiling.stripes(op).sizes().items()
        for channels, times in tiling.slices(op).sizes().items()
    )
