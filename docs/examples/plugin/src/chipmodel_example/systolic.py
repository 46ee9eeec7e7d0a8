"""NPU model ``systolic``: a weight-stationary array, which is filled with weights and drained for every tile.

A convolution is a matrix product of its kernels and of its windows. A tile of ``rows`` inputs by ``columns``
outputs stays in the array while all windows pass through it, one a cycle.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import ceil

from chipmodel.plugins import Conv, Matmul, Npu, Op, Parameter, SingleWork, Vector

title = "weight-stationary systolic array"
source = "Kung and Leiserson 1979, as chipmodel-example models it"
parameters = {
    "rows": Parameter("lanes", low=1, whole=True),
    "columns": Parameter("lanes", low=1, whole=True),
    "launch_cycles": Parameter("core cycles", default="0", whole=True),
}


def cycles(npu: Npu, numbers: Mapping[str, Fraction], op: Op, work: SingleWork) -> int:
    """Core cycles of ``work``, which is all of ``op`` or a part of it."""
    computing = max(1, _computing(npu, numbers, work), _least(numbers, work))
    return int(numbers["launch_cycles"]) + computing


def least_cycles(npu: Npu, numbers: Mapping[str, Fraction], op: Op, work: SingleWork) -> int:
    """A lower bound in any parts: at least one is launched, and no parts have fewer MACs together."""
    return int(numbers["launch_cycles"]) + _least(numbers, work)


def _least(numbers: Mapping[str, Fraction], work: SingleWork) -> int:
    return ceil(work.macs / (numbers["rows"] * numbers["columns"]))


def _computing(npu: Npu, numbers: Mapping[str, Fraction], work: SingleWork) -> int:
    rows, columns = int(numbers["rows"]), int(numbers["columns"])
    if isinstance(work, Conv):
        window = work.window
        inner = work.in_c // work.groups * window.kernel_h * window.kernel_w
        tiles = work.groups * ceil(inner / rows) * ceil(work.out_c // work.groups / columns)
        return work.batch * tiles * (window.out_h * window.out_w + rows + columns)
    if isinstance(work, Matmul):
        tiles = ceil(work.inner / rows) * ceil(work.cols / columns)
        return work.batch * tiles * (work.rows_ + rows + columns)
    if isinstance(work, Vector):
        return ceil((work.in_bytes + work.out_bytes) / npu.read_bytes_per_cycle)
    return ceil(work.macs / columns)  # pooling and recurrent layers use one row
