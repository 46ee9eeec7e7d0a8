"""NPU cycles in the ``array`` model: MACs padded to the array, operands through the ports, a launch.

A part of an op is launched, computed, and its operands pass the ports on SharedMemory. How much time operands
take is the chip's (``npu.operands``): none (``free``), beside computing (``overlap``), the same with reads
and writes in turn (``one port``), or all in turn (``serial``). Work without MACs is its bytes through the
ports, or a window's elements through the array; some kinds may run on the CPU instead
(``cpu.cycles_per_element``).
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from math import ceil

import numpy as np
from numpy.typing import NDArray

from chipmodel.geometry.rounding import round_up
from chipmodel.geometry.window import Window
from chipmodel.hardware.chip import Npu
from chipmodel.model.attributes import Scaling
from chipmodel.model.cascade_work import Band
from chipmodel.model.program import DTYPE_BITS, Op
from chipmodel.model.work import Conv, Matmul, Pool, Recurrent, SingleWork, Vector
from chipmodel.records import dataclass

IN_TURN = ("serial", "one port")
"""Where reads and writes take turns (``npu.operands``)."""
ROUNDING = 1e-6
"""Cycles by which sums of floats may be too high."""


@dataclass(frozen=True, slots=True)
class OpKind:
    """What a part of an op's work does not show of the op."""

    depthwise: bool | None = None
    """Whether it is a depthwise convolution; None: as the work looks."""
    cpu_cycles: Fraction = Fraction(0)
    """Core cycles of an element where the op runs on the CPU; 0: on the NPU."""


def kind_of_op(npu: Npu, op: Op) -> OpKind:
    """What the cycles of a part depend on besides its work."""
    depthwise = op.kind == "depthwise_conv" or (isinstance(op.work, Conv) and op.work.depthwise)
    kind = cpu_kind(op)
    cycles = npu.costs.on_cpu.get(kind, Fraction(0))
    if cycles and kind == "resize_linear" and op.views:
        cycles += npu.costs.resize_pixel_cycles / op.views[-1][1]  # an image has its channels second
    return OpKind(depthwise, cycles)


_CPU_KINDS = {**dict.fromkeys(("softmax", "log_softmax"), "softmax"), "batch_norm": "batch_norm"}


def cpu_kind(op: Op) -> str:
    """The kind of ``CPU_KINDS`` that an op is of, empty for none."""
    if op.kind in ("add", "sub", "mul", "div") and isinstance(op.work, Vector) and op.work.broadcast:
        return "broadcast"
    if op.kind == "resize" and isinstance(op.work, Vector):
        scaling = op.work.attributes
        return "resize_linear" if isinstance(scaling, Scaling) and scaling.mode != "nearest" else ""
    return _CPU_KINDS.get(op.kind, "")


def array_cycles(npu: Npu, work: SingleWork, dtype: str, kind: OpKind) -> int:
    """Core cycles of ``work``, which is launched once. Its parts together take no less."""
    launch = npu.costs.launch_cycles
    if isinstance(work, Vector):
        if kind.cpu_cycles:
            return max(1, launch + ceil(work.elements * kind.cpu_cycles))
        return max(1, launch + ceil(_through_ports(npu, Fraction(work.in_bytes), Fraction(work.out_bytes))))
    compute = _computing(npu, work, dtype)
    if npu.costs.operands == "free":
        return max(1, launch + ceil(compute))
    element = _passing(npu, work, dtype, kind)
    moved = _through_ports(npu, elements_read(work) * element, elements_written(work) * element)
    both = compute + moved if npu.costs.operands == "serial" else max(compute, moved)
    return max(1, launch + ceil(both))


def conv_cycles_by_rows(npu: Npu, op: Op, channels: int, band: Band | None) -> list[int]:
    """Return ``array_cycles`` of 1, 2, 3 ... rows by so many channels of a convolution of one image, in the
    columns of a ``band``; nothing of other ops. All but what is read is in proportion to the rows made."""
    work, costs = op.work, npu.costs
    if not isinstance(work, Conv) or work.solid or work.batch > 1 or work.window.transposed:
        return []
    window = work.window.in_band(band.columns) if band else work.window
    if window.in_w == window.kernel_w == 1:
        return []
    row, rows = replace(work, window=window).part(1, channels), np.arange(1, work.rows + 1)
    element = _passing(npu, row, op.dtype, kind_of_op(npu, op))
    made = rows * float(_computing(npu, row, op.dtype))
    reading = _read_by_rows(window) * float(row.in_c * window.in_w * element / npu.read_bytes_per_cycle)
    writing = rows * float(elements_written(row) * element / npu.write_bytes_per_cycle)
    moved = reading + writing if costs.operands in IN_TURN else np.maximum(reading, writing)
    if costs.operands != "free":
        made = made + moved if costs.operands == "serial" else np.maximum(made, moved)
    found: list[int] = np.maximum(1, np.ceil(made - ROUNDING).astype(np.int64) + costs.launch_cycles).tolist()
    return found


@lru_cache(maxsize=1 << 10)
def _read_by_rows(window: Window) -> NDArray[np.int64]:
    """The rows of the input that 1, 2, 3 ... rows touch."""
    return np.array([rows_read(replace(window, out_h=rows)) for rows in range(1, window.out_h + 1)], np.int64)


def _computing(npu: Npu, work: Conv | Pool | Matmul | Recurrent, dtype: str) -> Fraction:
    """Cycles of the array, and of what it does for each element and tap."""
    if isinstance(work, Pool) and npu.costs.window_elements_per_cycle:
        slower = macs_per_cycle(npu, dtype) / npu.macs_per_cycle[8]
        return taps(work) / (npu.costs.window_elements_per_cycle * slower)
    compute = padded_macs(npu, work) / macs_per_cycle(npu, dtype)
    if not isinstance(work, Pool):
        compute += elements_written(work) * npu.costs.output_cycles
    if isinstance(work, Conv):
        compute += _taps_addressed(work) * npu.costs.tap_cycles
    return compute


def _passing(npu: Npu, work: SingleWork, dtype: str, kind: OpKind) -> Fraction:
    """Bytes of an element, as often as operands pass the ports."""
    element = Fraction(DTYPE_BITS[dtype], 8)
    if isinstance(work, Conv) and (work.depthwise if kind.depthwise is None else kind.depthwise):
        return element * _depthwise_passes(npu, work.window)
    return element


def _depthwise_passes(npu: Npu, window: Window) -> int:
    """How often the operands of a depthwise convolution pass the ports."""
    kernel = npu.costs.depthwise_kernel
    return -(-window.kernel_h // kernel) * -(-window.kernel_w // kernel) if kernel else 1


def _through_ports(npu: Npu, read: Fraction, written: Fraction) -> Fraction:
    """Cycles in which so many bytes pass the ports."""
    reading, writing = read / npu.read_bytes_per_cycle, written / npu.write_bytes_per_cycle
    return reading + writing if npu.costs.operands in IN_TURN else max(reading, writing)


def _taps_addressed(work: Conv) -> int:
    """Taps of the kernel at all positions where a CPU addresses channels one by one; else 0."""
    window = work.window
    taps = window.kernel_h * window.kernel_w
    if taps == window.stride_h * window.stride_w == 1:
        return 0
    return work.batch * window.out_h * window.out_w * taps


def taps(work: Conv | Pool | Matmul | Recurrent) -> int:
    """Multiply-accumulates, or elements of all windows."""
    if isinstance(work, Pool):
        return elements_written(work) * work.window.kernel_h * work.window.kernel_w
    return work.macs


def elements_read(work: Conv | Pool | Matmul | Recurrent) -> int:
    """Elements of operands other than weights: of a window the rows it touches, of a product the left."""
    match work:
        case Conv():
            return work.batch * work.in_c * rows_read(work.window) * work.window.in_w
        case Pool():
            return work.batch * work.channels_ * rows_read(work.window) * work.window.in_w
        case Matmul():
            return work.batch * work.rows_ * work.inner
        case Recurrent():
            return work.batch * work.steps * work.inputs


def elements_written(work: Conv | Pool | Matmul | Recurrent) -> int:
    """Elements of the outputs."""
    match work:
        case Conv():
            return work.batch * work.out_c * work.window.out_h * work.window.out_w
        case Pool():
            return work.batch * work.channels_ * work.window.out_h * work.window.out_w
        case Matmul():
            return work.batch * work.rows_ * work.cols
        case Recurrent():
            return work.batch * work.steps * work.directions * work.hidden


def rows_read(window: Window) -> int:
    """Rows of the input that the window touches. Several parts touch as many together, or more."""
    if window.transposed:
        return window.in_h
    reach = window.dilation_h * (window.kernel_h - 1) + 1
    # A part of a batch may span several images, but its window has the rows of one.
    of_image = (window.in_h + window.pad_top + window.pad_bottom - reach) // window.stride_h + 1
    images = -(-window.out_h // max(1, of_image))
    rows = (window.out_h - 1) * window.stride_h + reach
    return min(images * window.in_h, rows, window.out_h * reach)


def macs_per_cycle(npu: Npu, dtype: str) -> Fraction:
    """MACs per cycle for ``dtype``: one rate up to 8, 16 and 32 bits; floats as integers of their width."""
    bits = DTYPE_BITS[dtype]
    return npu.macs_per_cycle[8 if bits <= 8 else 16 if bits <= 16 else 32]


def padded_macs(npu: Npu, work: Conv | Pool | Matmul | Recurrent) -> int:
    """Multiply-accumulates (or window elements) once every axis is padded to the array."""
    in_lanes, out_lanes, columns = npu.array
    match work:
        case Conv() if work.depthwise:
            # One input channel feeds each output channel, so the other input lanes are idle.
            return work.batch * in_lanes * round_up(work.out_c, out_lanes) * _positions(work.window, columns)
        case Conv():
            in_c = round_up(work.in_c // work.groups, in_lanes)
            out_c = round_up(work.out_c // work.groups, out_lanes)
            return work.batch * work.groups * in_c * out_c * _positions(work.window, columns)
        case Pool():
            channels = round_up(work.channels, out_lanes)
            return work.batch * in_lanes * channels * _positions(work.window, columns)
        case Matmul():
            # As the vendor's profiler does: LUNA pads rows, inner and columns to 2, 8 and 4.
            inner = round_up(work.inner, in_lanes)
            return work.batch * round_up(work.rows_, out_lanes) * inner * round_up(work.cols, columns)
        case Recurrent():
            inner = round_up(work.inputs, in_lanes) + round_up(work.hidden, in_lanes)
            gate_rows = round_up(work.gates * work.hidden, columns)
            return work.steps * work.directions * round_up(work.batch, out_lanes) * inner * gate_rows


def _positions(window: Window, columns: int) -> int:
    """Kernel taps over all output positions, columns padded to the array's.

    A 1-D window is one column wide; its length is mapped to the array's columns instead.
    """
    high, wide = (window.in_h, window.in_w) if window.transposed else (window.out_h, window.out_w)
    if window.in_w == 1 and window.kernel_w == 1:
        high, wide = wide, high
    return high * round_up(wide, columns) * window.kernel_h * window.kernel_w
