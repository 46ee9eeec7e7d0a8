"""What an op costs on LUNA's NPU, by cause, and at least."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from math import ceil

from chipmodel.hardware.chip import Npu
from chipmodel.hardware.luna_npu import LunaNpu
from chipmodel.model.identity import Same
from chipmodel.model.program import DTYPE_BITS, Op
from chipmodel.model.schedule import Phase, PhaseKind
from chipmodel.model.work import Conv, Pool, SingleWork, Vector, Work
from chipmodel.npu.array import kind_of_op
from chipmodel.npu.luna import op_cost
from chipmodel.npu.luna_convolution import least_further_cost


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


def least_luna_cycles(npu: Npu, luna: LunaNpu, op: Op, work: SingleWork, columns: bool) -> int:
    """The least core cycles of ``work`` in any parts, with ``columns`` of columns too. Parts may cost less
    than the whole op, because LUNA charges for each piece of an input that exceeds its buffer."""
    bits, depthwise = DTYPE_BITS[op.dtype], bool(kind_of_op(npu, op).depthwise)
    return _least_cycles(Same(luna), op.kind, op.work, work, bits, depthwise, columns)


@lru_cache(maxsize=1 << 14)
def _least_cycles(
    luna: Same[LunaNpu], kind: str, whole: Work, work: SingleWork, bits: int, depthwise: bool, columns: bool
) -> int:
    """Cached, as layers repeat, and several bounds ask for each."""
    cost = op_cost(replace(luna.value, input_buffer=1 << 60), kind, work, bits)
    if not isinstance(whole, Conv | Pool) or not isinstance(work, Conv | Pool):
        return int(cost.cycles)
    if whole.batch > 1:
        return int(cost.cycles - cost.input_load)  # of several images the last input rows may never be read
    groups = 1 if depthwise or isinstance(whole, Pool) else whole.groups
    return int(cost.cycles + least_further_cost(luna.value, work, bits, groups, depthwise, columns))
