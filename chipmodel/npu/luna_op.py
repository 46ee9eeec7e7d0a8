"""What an op costs on LUNA's NPU, by cause, and at least."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import ceil

from chipmodel.hardware.chip import Npu
from chipmodel.hardware.luna_npu import LunaNpu
from chipmodel.model.program import DTYPE_BITS, Op
from chipmodel.model.schedule import Phase, PhaseKind
from chipmodel.model.work import Conv, Matmul, Pool, SingleWork, Vector
from chipmodel.npu.array import Division, kind_of_op
from chipmodel.npu.luna import least_matmul, op_cost
from chipmodel.npu.luna_convolution import PartCounts, least_part_cost


def luna_cycles(npu: Npu, luna: LunaNpu, op: Op, work: SingleWork) -> int:
    """Core cycles of ``work``, all of ``op`` or a part of it; at least 1."""
    return max(1, ceil(op_cost(luna, op.kind, work, DTYPE_BITS[op.dtype]).cycles))


def luna_phases(luna: LunaNpu, op: Op, work: SingleWork) -> tuple[Phase, ...]:
    """``luna_cycles`` by cause, all passes together."""
    cost = op_cost(luna, op.kind, work, DTYPE_BITS[op.dtype])
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


def least_luna_cycles(npu: Npu, luna: LunaNpu, op: Op, work: SingleWork, division: Division) -> int:
    """The least core cycles of ``work`` in that division or a finer one. Parts may cost less than the whole
    op, because LUNA charges for each piece of an input that exceeds its buffer."""
    stripes, slices = division.stripes, division.slices
    unlimited = replace(luna, input_buffer=1 << 60)
    bits = DTYPE_BITS[op.dtype]
    cost = op_cost(unlimited, op.kind, work, bits)
    parts = stripes * slices - 1
    match op.work:
        case Conv() | Pool() if isinstance(work, Conv | Pool):
            depthwise = bool(kind_of_op(npu, op).depthwise)
            groups = 1 if depthwise or isinstance(op.work, Pool) else op.work.groups
            counts = PartCounts(stripes, slices, groups, depthwise, division.columns)
            more = least_part_cost(luna, work, bits, counts)
            if groups == 1:
                more += _slice_padding(unlimited, op.kind, work, bits, slices)
            # Of several images the last input rows may never be read.
            return int(cost.cycles + more if op.work.batch == 1 else cost.cycles - cost.input_load)
        case Matmul() if op.work.batch == 1 and isinstance(work, Matmul):
            return int(least_matmul(luna, work, bits, stripes, slices))
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
