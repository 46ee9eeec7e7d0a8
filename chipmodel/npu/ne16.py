"""Cycles of the NE16 engine of the PULP platform (in GAP9), and of the cores beside it.

The engine computes a *subtile* after another: 3 x 3 outputs (2 x 2 of a convolution with stride 2) by up to
32 output channels. For every 16 input channels it loads 5 x 5 positions (3 x 3 for 1 x 1 kernels), then
passes over the output channels: one cycle for each bit of a channel's weights, as it is bit-serial, or one
for all bits of 1 x 1 kernels. Scale, shift and bias follow, and the outputs of a position leave in one cycle.
A depthwise subtile has 16 channels. A dense layer of one row takes 256 inputs at a time (linear mode).

What the engine cannot do the cores do: other kernels, other strides, dilation, products of two activations,
float types, pooling; element-wise work is its bytes through the ports.

Source: pulp-platform/ne16 (RTL, ctrl/ne16_ctrl_fsm.sv and accumulator/), the latencies of its stages as in
pulp-platform/dory, GAP9_NE16/Tiler/Ne16PerfModel.py; subtiles of 2 x 2 and linear mode as GreenWaves' kernels
use them (GAP SDK, CNN_BasicKernels_NE16.c); linear mode's loads as in gvsoc/gvsoc-pulp, pulp/ne16.
"""

from __future__ import annotations

from math import ceil
from typing import Literal

from chipmodel.hardware.chip import Npu
from chipmodel.hardware.ne16_npu import Ne16Npu
from chipmodel.model.program import DTYPE_BITS, Op
from chipmodel.model.work import Conv, Matmul, Pool, Recurrent, SingleWork, Vector
from chipmodel.npu.array import elements_written, macs_per_cycle, taps
from chipmodel.records import dataclass

Mode = Literal["3x3", "1x1", "depthwise", "linear", "cores"]

OUTPUT_CHANNELS = 32
INPUT_CHANNELS = 16
DEPTHWISE_CHANNELS = 16
LINEAR_INPUTS = 256
SIDE = 3
STRIDED_SIDE = 2
"""Rows and columns of outputs in a subtile, and with stride 2."""
LOAD_CYCLES: dict[Mode, int] = {"3x3": 6 + 25, "1x1": 10 + 9, "depthwise": 6 + 25, "linear": 6 + 16}
"""Return the cycles to read a subtile's input: fill the FIFOs, then one position per cycle."""
FIFO_CYCLES = 6
"""Latency of reading weights, and before them of the offset of unsigned weights."""
INDEX_CYCLES = 2
NORM_CYCLES = 8 + 9 + 8
"""Shifts of 32 channels, 4 a cycle; latencies of scaling and of adding the bias."""
SCALES_A_CYCLE, BIASES_A_CYCLE = 4, 8
STREAM_OUT_CYCLES = 3 + 1
"""In addition to one for each position of the subtile."""


@dataclass(frozen=True, slots=True)
class _Job:
    """``subtiles`` alike, each with ``passes`` over ``channels`` output channels in ``tiles``."""

    mode: Mode
    subtiles: int
    passes: int
    tiles: int
    channels: int
    words: int = 1
    """Cycles in which the outputs of a position leave."""

    def cycles(self, bits: int) -> int:
        a_channel = 1 if self.mode == "1x1" else bits + 1 if self.mode == "depthwise" else bits
        stage = LOAD_CYCLES[self.mode] + 2 * FIFO_CYCLES + INDEX_CYCLES
        positions = 1 if self.mode == "linear" else SIDE * SIDE
        norm = -(-self.channels // SCALES_A_CYCLE) + -(-self.channels // BIASES_A_CYCLE)
        end = NORM_CYCLES + STREAM_OUT_CYCLES + positions * self.words
        each = self.passes * (self.tiles * stage + self.channels * a_channel) + self.tiles * end + norm
        return self.subtiles * each


def least_ne16_cycles(npu: Npu, ne16: Ne16Npu, op: Op, work: SingleWork, columns: bool) -> int:
    """What ``work`` takes, which is the least core cycles of any parts of it.

    Parts never have fewer subtiles or tiles of channels, and all else is proportional."""
    launch = ne16.launch_cycles
    if isinstance(work, Vector):
        through = work.in_bytes / npu.read_bytes_per_cycle + work.out_bytes / npu.write_bytes_per_cycle
        return max(1, launch + ceil(through))
    mode = mode_of(ne16, op)
    if mode == "cores" or isinstance(work, Pool):
        slower = macs_per_cycle(npu, op.dtype) / npu.macs_per_cycle[8]
        inner = taps(work) / (ne16.cluster_macs_per_cycle * slower)
        return max(1, launch + ceil(inner + elements_written(work) * ne16.cluster_output))
    jobs = _jobs(mode, work, DTYPE_BITS[op.dtype] > 8)
    return max(1, launch + sum(job.cycles(ne16.weight_bits) for job in jobs))


def mode_of(ne16: Ne16Npu, op: Op) -> Mode:
    """How ``op`` and each part of it is computed."""
    work = op.work
    if DTYPE_BITS[op.dtype] > 16 or "float" in op.dtype:
        return "cores"
    match work:
        case Conv():
            return _convolution(op, work)
        case Matmul() if len(op.inputs) > 1:
            return "cores"  # the engine's weights are laid out bit by bit beforehand
        case Matmul() if work.batch * work.rows_ > 1:
            return "1x1"
        case Matmul():
            wide = DTYPE_BITS[op.dtype] > 8
            modes: tuple[Mode, Mode] = ("linear", "1x1")
            return min(modes, key=lambda mode: _cycles(ne16, mode, work, wide))
        case Recurrent():
            return "linear"
        case _:
            return "cores"


def _cycles(ne16: Ne16Npu, mode: Mode, work: SingleWork, wide: bool) -> int:
    return sum(job.cycles(ne16.weight_bits) for job in _jobs(mode, work, wide))


def _convolution(op: Op, work: Conv) -> Mode:
    window = work.window
    kernel, stride = (window.kernel_h, window.kernel_w), (window.stride_h, window.stride_w)
    dilated = max(window.dilation_h, window.dilation_w) > 1
    if window.transposed or kernel not in ((1, 1), (3, 3)):
        return "cores"
    if op.kind == "depthwise_conv" or work.depthwise:
        one_each = work.in_c == work.out_c == work.groups and DTYPE_BITS[op.dtype] <= 8
        fits = one_each and kernel == (3, 3) and stride in ((1, 1), (2, 2)) and not dilated
        return "depthwise" if fits else "cores"
    if kernel == (1, 1):
        return "1x1"
    return "cores" if dilated or stride not in ((1, 1), (2, 2)) else "3x3"


def _jobs(mode: Mode, work: SingleWork, wide: bool) -> list[_Job]:
    inputs = INPUT_CHANNELS // 2 if wide else INPUT_CHANNELS
    words = 2 if wide else 1
    match work:
        case Conv():
            side = STRIDED_SIDE if work.window.stride_h == 2 and mode != "1x1" else SIDE
            subtiles = work.batch * -(-work.window.out_h // side) * -(-work.window.out_w // side)
            groups = 1 if mode == "depthwise" else work.groups
            channels = DEPTHWISE_CHANNELS if mode == "depthwise" else OUTPUT_CHANNELS
            passes = 1 if mode == "depthwise" else -(-work.in_c // groups // inputs)
            tiles = groups * -(-(work.out_c // groups) // channels)
            return [_Job(mode, subtiles, passes, tiles, work.out_c, words)]
        case Matmul() if mode == "linear":
            tiles = -(-work.cols // OUTPUT_CHANNELS)
            return [_Job(mode, 1, -(-work.inner // LINEAR_INPUTS), tiles, work.cols, words)]
        case Matmul():
            subtiles = -(-work.batch * work.rows_ // (SIDE * SIDE))
            tiles = -(-work.cols // OUTPUT_CHANNELS)
            return [_Job(mode, subtiles, -(-work.inner // inputs), tiles, work.cols, words)]
        case Recurrent():
            times, rows = work.steps * work.directions * work.batch, work.gates * work.hidden
            tiles = -(-rows // OUTPUT_CHANNELS)
            sizes = (work.inputs, work.hidden)
            return [_Job(mode, times, -(-n // LINEAR_INPUTS), tiles, rows, words) for n in sizes if n]
        case _:
            return []
