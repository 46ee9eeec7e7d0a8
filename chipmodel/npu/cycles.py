"""NPU cycles of an op or a part of one, by the chip's NPU model.

``luna`` follows the vendor's profiler (``chipmodel.npu.luna``); ``array`` is padded MACs, operands through
the ports and a launch (``chipmodel.npu.array``); ``vector-cpu`` is a CPU's kernels behind a data cache
(``chipmodel.npu.vector_cpu``); ``ethos-u55`` follows Arm's compiler (``chipmodel.npu.ethos``); ``ne16`` is
that engine of the PULP platform, a subtile after another (``chipmodel.npu.ne16``).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from math import ceil

from chipmodel.hardware.chip import Npu
from chipmodel.hardware.luna_npu import LunaNpu
from chipmodel.model.cascade_work import Band, CascadeWork
from chipmodel.model.program import DTYPE_BITS, Op
from chipmodel.model.schedule import Phase, PhaseKind
from chipmodel.model.work import Conv, Matmul, Pool, SingleWork, Vector
from chipmodel.npu.array import Division, kind_of_op, least_array_cycles, work_cycles
from chipmodel.npu.ethos import ethos_cycles
from chipmodel.npu.ethos_bound import least_ethos_cycles
from chipmodel.npu.luna import least_matmul, op_cost
from chipmodel.npu.luna_convolution import PartCounts, least_part_cost
from chipmodel.npu.ne16 import least_ne16_cycles, ne16_cycles
from chipmodel.npu.vector_cpu import least_vector_cpu_cycles, vector_cpu_cycles


def op_cycles(npu: Npu, op: Op, rows: int, channels: int, band: Band | None = None) -> int:
    """Core cycles of ``rows`` output rows by ``channels`` output channels of ``op``, in all columns or those
    of a ``band``."""
    if op.cycles is not None:
        columns = Fraction(1) if band is None else Fraction(len(band.columns), band.of)
        return ceil(columns * op.cycles * rows * channels / (op.work.rows * op.work.channels))
    if isinstance(op.work, CascadeWork):
        return ceil(Fraction(cascade_cycles(npu, op) * rows, op.work.rows))
    work = _part(op.work, rows, channels, band)
    if npu.luna:
        return max(1, ceil(op_cost(npu.luna, op.kind, work, DTYPE_BITS[op.dtype]).cycles))
    if npu.vector:
        return vector_cpu_cycles(npu, npu.vector, op, work)
    if npu.ethos:
        return ethos_cycles(npu, npu.ethos, op, work)
    if npu.ne16:
        return ne16_cycles(npu, npu.ne16, op, work)
    return work_cycles(npu, work, op.dtype, kind_of_op(npu, op))


def _part(work: SingleWork, rows: int, channels: int, band: Band | None) -> SingleWork:
    """The work of a part, for its cost only."""
    if band is not None and isinstance(work, Conv | Pool | Vector):
        work = _in_band(work, band)
    return work if rows == work.rows and channels == work.channels else work.part(rows, channels)


def _in_band(work: Conv | Pool | Vector, band: Band) -> Conv | Pool | Vector:
    """The work of all rows of ``band``, for its cost only."""
    if isinstance(work, Conv | Pool):
        return replace(work, window=work.window.in_band(band.columns))
    elements, in_bytes, out_bytes = (
        -(-each * len(band.columns) // band.of) for each in (work.elements, work.in_bytes, work.out_bytes)
    )
    return Vector(elements, in_bytes, out_bytes, work.rows, attributes=work.attributes)


def cascade_cycles(npu: Npu, op: Op) -> int:
    """Core cycles of all steps of a cascade, one after another."""
    assert isinstance(op.work, CascadeWork)
    counts = Counter((step.op, len(step.rows), step.band) for step in op.work.steps)
    return sum(
        times * op_cycles(npu, op.cascade[index], rows, op.cascade[index].work.channels, band)
        for (index, rows, band), times in counts.items()
    )


def op_phases(npu: Npu, op: Op, rows: int, channels: int, band: Band | None = None) -> tuple[Phase, ...]:
    """``op_cycles`` by cause, all passes together; empty where the model does not know."""
    if op.cycles is not None or not npu.luna or isinstance(op.work, CascadeWork):
        return ()
    work = _part(op.work, rows, channels, band)
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


def busy_cycles(
    npu: Npu, op: Op, work: SingleWork, stripes: int = 1, slices: int = 1, columns: bool = False
) -> int:
    """A lower bound on the cycles of ``work`` in at least ``stripes`` of rows by ``slices`` of channels,
    however it is cut. Parts may cost less than the whole op, because LUNA charges for each piece of an input
    that exceeds its buffer."""
    if npu.vector:
        return least_vector_cpu_cycles(npu, npu.vector, op, work, Division(stripes, slices))
    if npu.ethos:
        return least_ethos_cycles(npu, npu.ethos, op, work, Division(stripes, slices))
    if npu.ne16:
        return least_ne16_cycles(npu, npu.ne16, op, work, Division(stripes, slices))
    if not npu.luna:
        return least_array_cycles(npu, work, op.dtype, Division(stripes, slices), kind_of_op(npu, op))
    unlimited = replace(npu.luna, input_buffer=1 << 60)
    bits = DTYPE_BITS[op.dtype]
    cost = op_cost(unlimited, op.kind, work, bits)
    parts = stripes * slices - 1
    match op.work:
        case Conv() | Pool() if isinstance(work, Conv | Pool):
            depthwise = bool(kind_of_op(npu, op).depthwise)
            groups = 1 if depthwise or isinstance(op.work, Pool) else op.work.groups
            more = least_part_cost(
                npu.luna, work, bits, PartCounts(stripes, slices, groups, depthwise, columns)
            )
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
