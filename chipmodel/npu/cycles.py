"""NPU cycles of an op or a part of one, by the chip's NPU model.

``luna`` follows the vendor's profiler (``chipmodel.npu.luna``). ``array`` pads MAC work to the array's shape
and divides it by the MACs per cycle; work without MACs takes its bytes through the NPU's ports on
SharedMemory, or a window's elements through the array.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from math import ceil

from chipmodel.chip.chip import Npu
from chipmodel.chip.luna_npu import LunaNpu
from chipmodel.model.program import DTYPE_BITS, Op
from chipmodel.model.schedule import Phase, PhaseKind
from chipmodel.model.work import CascadeWork, Conv, Matmul, Pool, Recurrent, SingleWork, Vector, Window
from chipmodel.npu.luna import least_matmul, op_cost
from chipmodel.npu.luna_convolution import PartCounts, least_part_cost


def op_cycles(npu: Npu, op: Op, rows: int, channels: int) -> int:
    """Core cycles of ``rows`` output rows by ``channels`` output channels of ``op``."""
    if op.cycles is not None:
        return ceil(Fraction(op.cycles * rows * channels, op.work.rows * op.work.channels))
    if isinstance(op.work, CascadeWork):
        return ceil(Fraction(cascade_cycles(npu, op) * rows, op.work.rows))
    whole = rows == op.work.rows and channels == op.work.channels
    work = op.work if whole else op.work.part(rows, channels)
    if npu.luna:
        return max(1, ceil(op_cost(npu.luna, op.kind, work, DTYPE_BITS[op.dtype]).cycles))
    return work_cycles(npu, work, op.dtype)


def cascade_cycles(npu: Npu, op: Op) -> int:
    """Core cycles of all steps of a cascade, one after another."""
    assert isinstance(op.work, CascadeWork)
    counts = Counter((step.op, len(step.rows)) for step in op.work.steps)
    return sum(
        times * op_cycles(npu, op.cascade[index], rows, op.cascade[index].work.channels)
        for (index, rows), times in counts.items()
    )


def op_phases(npu: Npu, op: Op, rows: int, channels: int) -> tuple[Phase, ...]:
    """``op_cycles`` by cause, all passes together; empty where the model does not know."""
    if op.cycles is not None or not npu.luna or isinstance(op.work, CascadeWork):
        return ()
    whole = rows == op.work.rows and channels == op.work.channels
    work = op.work if whole else op.work.part(rows, channels)
    cost = op_cost(npu.luna, op.kind, work, DTYPE_BITS[op.dtype])
    if isinstance(work, Vector):
        parts: tuple[tuple[PhaseKind, Fraction], ...] = (
            ("configure", cost.configuration),
            ("stream", cost.cycles - cost.configuration),
        )
    else:
        parts = (
            ("configure", cost.configuration),
            ("inputs", cost.input_load),
            ("weights", cost.weight_load),
            ("outputs", cost.compute + cost.store),
        )
    return _whole_cycles(parts)


def _whole_cycles(parts: tuple[tuple[PhaseKind, Fraction], ...]) -> tuple[Phase, ...]:
    """Phases that end on whole cycles, so that their sum equals ``op_cycles``."""
    phases: list[Phase] = []
    exact, clock = Fraction(0), 0
    for kind, cycles in parts:
        exact += cycles
        if ceil(exact) > clock:
            phases.append(Phase(kind, ceil(exact) - clock))
            clock = ceil(exact)
    return tuple(phases)


def busy_cycles(npu: Npu, op: Op, work: SingleWork, stripes: int = 1, slices: int = 1) -> int:
    """A lower bound on the cycles of ``work`` in at least ``stripes`` of rows by ``slices`` of channels,
    however it is cut. Parts may cost less than the whole op, because LUNA charges for each piece of an input
    that exceeds its buffer."""
    if not npu.luna:
        more = _part_padding(npu, work, stripes, slices)
        return max(1, ceil(_array_cycles(npu, work, op.dtype) * more))
    unlimited = replace(npu.luna, input_buffer=1 << 60)
    bits = DTYPE_BITS[op.dtype]
    cost = op_cost(unlimited, op.kind, work, bits)
    parts = stripes * slices - 1
    match op.work:
        case Conv() | Pool() if isinstance(work, Conv | Pool):
            depthwise = op.kind == "depthwise_conv" or (isinstance(op.work, Conv) and op.work.depthwise)
            groups = 1 if depthwise or isinstance(op.work, Pool) else op.work.groups
            more = least_part_cost(npu.luna, work, bits, PartCounts(stripes, slices, groups, depthwise))
            if groups == 1:
                more += _slice_padding(unlimited, op.kind, work, bits, slices)
            # Of several images the last input rows may never be read.
            return int(cost.cycles + more if op.work.batch == 1 else cost.cycles - cost.input_load)
        case Matmul() if op.work.batch == 1 and isinstance(work, Matmul):
            return int(least_matmul(npu.luna, work, bits, stripes, slices))
        case Vector():
            return int(cost.cycles + parts * cost.configuration)
        case _:
            return int(cost.cycles)


def _slice_padding(luna: LunaNpu, kind: str, work: Conv | Pool, bits: int, slices: int) -> Fraction:
    """The least that computing and weights take longer because the channels of each slice are padded."""
    whole = op_cost(luna, kind, work, bits)
    channels = max(work.channels, slices * luna.out_lanes)
    padded = op_cost(luna, kind, work.part(work.rows, channels), bits)
    computes = max(Fraction(0), padded.compute - whole.compute - whole.store)
    return computes + max(Fraction(0), padded.weight_load - whole.weight_load)


def work_cycles(npu: Npu, work: SingleWork, dtype: str) -> int:
    """Core cycles of all of ``work`` on operands of ``dtype`` in the ``array`` model; at least 1."""
    return max(1, ceil(_array_cycles(npu, work, dtype)))


def _array_cycles(npu: Npu, work: SingleWork, dtype: str) -> Fraction:
    if isinstance(work, Vector):
        return max(work.in_bytes / npu.read_bytes_per_cycle, work.out_bytes / npu.write_bytes_per_cycle)
    return padded_macs(npu, work) / macs_per_cycle(npu, dtype)


def _part_padding(npu: Npu, work: SingleWork, stripes: int, slices: int) -> Fraction:
    """The least factor on ``padded_macs`` when every part is padded to the array, not only the whole: of an
    axis in n parts each takes at least one full array."""
    _, out_lanes, columns = npu.array
    match work:
        case Conv() if work.groups == 1 or work.depthwise:
            return _parts(work.out_c, out_lanes, slices)
        case Pool():
            return _parts(work.channels, out_lanes, slices)
        case Matmul() if work.batch == 1:
            return _parts(work.rows_, out_lanes, stripes) * _parts(work.cols, columns, slices)
        case _:
            return Fraction(1)


def _parts(size: int, lanes: int, parts: int) -> Fraction:
    return max(Fraction(1), Fraction(parts * lanes, _pad(size, lanes)))


def macs_per_cycle(npu: Npu, dtype: str) -> Fraction:
    """MACs per cycle for ``dtype``: one rate up to 8, 16 and 32 bits; float types as integers of their
    width."""
    bits = DTYPE_BITS[dtype]
    return npu.macs_per_cycle[8 if bits <= 8 else 16 if bits <= 16 else 32]


def padded_macs(npu: Npu, work: Conv | Pool | Matmul | Recurrent) -> int:
    """Multiply-accumulates (or window elements) once every axis is padded to the array."""
    in_lanes, out_lanes, columns = npu.array
    match work:
        case Conv() if work.depthwise:
            # One input channel feeds each output channel, so the other input lanes are idle.
            return work.batch * in_lanes * _pad(work.out_c, out_lanes) * _positions(work.window, columns)
        case Conv():
            in_c = _pad(work.in_c // work.groups, in_lanes)
            out_c = _pad(work.out_c // work.groups, out_lanes)
            return work.batch * work.groups * in_c * out_c * _positions(work.window, columns)
        case Pool():
            return work.batch * in_lanes * _pad(work.channels, out_lanes) * _positions(work.window, columns)
        case Matmul():
            # As the vendor's profiler does: LUNA pads rows, inner and columns to 2, 8 and 4.
            inner = _pad(work.inner, in_lanes)
            return work.batch * _pad(work.rows_, out_lanes) * inner * _pad(work.cols, columns)
        case Recurrent():
            inner = _pad(work.inputs, in_lanes) + _pad(work.hidden, in_lanes)
            gate_rows = _pad(work.gates * work.hidden, columns)
            return work.steps * work.directions * _pad(work.batch, out_lanes) * inner * gate_rows


def _positions(window: Window, columns: int) -> int:
    """Kernel taps over all output positions, columns padded to the array's.

    A 1-D window is one column wide; its length is mapped to the array's columns instead.
    """
    high, wide = (window.in_h, window.in_w) if window.transposed else (window.out_h, window.out_w)
    if window.in_w == 1 and window.kernel_w == 1:
        high, wide = wide, high
    return high * _pad(wide, columns) * window.kernel_h * window.kernel_w


def _pad(size: int, multiple: int) -> int:
    return -(-size // multiple) * multiple
