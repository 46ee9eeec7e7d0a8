"""Which ops Arm's compiler Vela runs on an Ethos-U NPU; it leaves all others to the CPU.

Source: SUPPORTED_OPS.md, written by ``vela --supported-ops-report`` of ethos-u-vela 4.5.0 and 5.2.0 (PyPI),
for networks of TensorFlow Lite. Of the conditions on single operators those are here that programs can tell:
types, strides, the order of a transpose, factors of a resize, lines of a softmax, the depth of an argmax, the
axes of a mean.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path

from chipmodel.hardware.ethos_npu import EthosNpu
from chipmodel.hardware.ethos_u85 import EthosU85
from chipmodel.model.attributes import AlongAxis, AxisOrder, OverAxes
from chipmodel.model.program import Op, Program
from chipmodel.model.work import Conv, Matmul, Pool, Recurrent, Vector
from chipmodel.rewrites.op_shapes import SeenTensor, seen_inputs, seen_outputs

_U55 = """ABS ADD ARG_MAX AVERAGE_POOL_2D CONCATENATION CONV_2D DEPTHWISE_CONV_2D EXP FULLY_CONNECTED
HARD_SWISH LEAKY_RELU LOGISTIC MAXIMUM MAX_POOL_2D MEAN MINIMUM MIRROR_PAD MUL PACK PAD PRELU QUANTIZE RELU
RELU6 RESHAPE RESIZE RSQRT SLICE SOFTMAX SPLIT SQUARED_DIFFERENCE STRIDED_SLICE SUB TANH TRANSPOSE
TRANSPOSE_CONV UNIDIRECTIONAL_SEQUENCE_LSTM UNPACK"""
_U55_SINCE_5 = "BATCH_MATMUL ELU GELU LOG NEG REDUCE_MAX REDUCE_MIN REVERSE_V2 SUM TILE"
_U85 = """BATCH_MATMUL CAST DIV EQUAL GATHER GREATER GREATER_EQUAL LESS_EQUAL LOG LOGICAL_AND LOGICAL_NOT
LOGICAL_OR NOT_EQUAL REDUCE_MAX REDUCE_MIN REVERSE_V2 SCATTER_ND SELECT_V2 SUM TILE"""
_U85_SINCE_5 = "ELU GELU LESS NEG"
OPERATORS: Mapping[tuple[str, bool], frozenset[str]] = {
    ("vela-4.5", False): frozenset(_U55.split()),
    ("vela-5.2", False): frozenset(f"{_U55} {_U55_SINCE_5}".split()),
    ("vela-4.5", True): frozenset(f"{_U55} {_U85}".split()),
    ("vela-5.2", True): frozenset(f"{_U55} {_U85} {_U85_SINCE_5}".split()),
}
"""Operators that the NPU runs, by the compiler and whether it is Ethos-U85, not U55 or U65. ``RESIZE`` is
RESIZE_BILINEAR and RESIZE_NEAREST_NEIGHBOR."""
with Path(__file__).with_suffix(".csv").open(encoding="utf-8", newline="") as _table:
    OF_KIND: Mapping[str, str] = {row["kind"]: row["operators"] for row in csv.DictReader(_table)}
"""The operators that make an op of a kind, all of which have to be on the list; a kind that is not here runs
on the CPU. None for what only moves bytes of a network that runs again and again."""
_WIDE = frozenset({"ADD", "ARG_MAX", "MIRROR_PAD", "MUL", "SUB", "TRANSPOSE"})
"""Operators that take 32 bits."""
MOST_LINES = 65535
"""Lines of a softmax for Vela 4.5: the product of the width and height of its input."""
MOST_CLASSES = 127
"""Depth of an argmax on Ethos-U55 and U65."""
MOST_STRIDE = 3
MOST_IN_MEAN = 4096
"""Width or depth over which a mean is taken."""
FACTORS = (2, 4, 8)
"""Factors by which Ethos-U55 and U65 enlarge images."""


def left_by_vela(ethos: EthosNpu | EthosU85, program: Program) -> tuple[Op, ...]:
    """Return the ops that are left to the CPU; none that the user gave cycles."""
    ops = (each for op in program.ops() for each in op.cascade or (op,))
    return tuple(op for op in ops if op.cycles is None and not _on_npu(ethos, program, op))


def _on_npu(ethos: EthosNpu | EthosU85, program: Program, op: Op) -> bool:
    small, needed = isinstance(ethos, EthosNpu), _operators_of(op)
    if needed is None or not needed <= OPERATORS[ethos.compiler, not small]:
        return False
    if "float" in op.dtype or op.dtype.endswith("64"):
        return False
    if "MEAN" in needed and not _mean_fits(op, seen_inputs(op, program.tensors)[0]):
        return False
    return not small or (_types_fit(op, needed) and _shapes_fit(program, op, ethos.compiler))


def _operators_of(op: Op) -> frozenset[str] | None:
    """The operators of TensorFlow Lite that make an op; None where there are none."""
    match op.work:
        case Conv(window=window, depthwise=depthwise):
            plain = "DEPTHWISE_CONV_2D" if depthwise else "CONV_2D"
            return frozenset({"TRANSPOSE_CONV" if window.transposed else plain})
        case Pool():
            kinds = {"max": "MAX_POOL_2D", "average": "AVERAGE_POOL_2D"}
            operators = {operator for word, operator in kinds.items() if word in op.kind}
            return frozenset(operators) or None
        case Matmul():
            return frozenset({"FULLY_CONNECTED" if op.constants else "BATCH_MATMUL"})
        case Recurrent(gates=4, directions=1, backward=False):
            return frozenset({"UNIDIRECTIONAL_SEQUENCE_LSTM"})
        case Vector():
            return None if op.kind not in OF_KIND else frozenset(OF_KIND[op.kind].split())
        case _:
            return None


def _types_fit(op: Op, needed: frozenset[str]) -> bool:
    if "BATCH_MATMUL" in needed:
        return op.dtype == "int8"
    return not op.dtype.endswith("32") or needed <= _WIDE


def _shapes_fit(program: Program, op: Op, compiler: str) -> bool:
    """Whether Ethos-U55 and U65 take an op of these sizes."""
    before, after = seen_inputs(op, program.tensors), seen_outputs(op, program.tensors)
    match op.work:
        case Conv() | Pool():
            return _strides_fit(op.work, compiler)
        case Vector(attributes=AxisOrder(order)) if op.kind == "transpose":
            return compiler != "vela-4.5" or _turns_two(order, before[0], after[0])
        case Vector(attributes=AlongAxis(_, size)) if op.kind == "softmax":
            return compiler != "vela-4.5" or before[0].elements <= MOST_LINES * size
        case Vector(attributes=AlongAxis(_, size)) if op.kind == "argmax":
            return size <= MOST_CLASSES
        case Vector() if op.kind == "resize":
            return _enlarges(before[0].shape, after[0].shape)
        case _:
            return op.kind != "channel_shuffle" or compiler != "vela-4.5"


def _mean_fits(op: Op, before: SeenTensor) -> bool:
    """Whether the mean is over no batch, and over the depth only where height, width or depth is 1."""
    match op.work:
        case Vector(attributes=OverAxes(axes)):
            pass
        case Vector(attributes=AlongAxis(axis)):
            axes = (axis,)
        case _:
            return True
    order = tuple(range(len(before.shape)))
    if before.stored.layout == "image" and len(order) > 2:  # TensorFlow Lite has the channels last.
        order = (0, *order[2:], 1)
    lying = [before.shape[axis] for axis in order]
    height, width, depth = range(len(lying) - 3, len(lying))
    reduced = {order.index(axis) for axis in axes}
    batched = any(lying[axis] > 1 for axis in reduced if axis < height)
    mixed = depth in reduced and height >= 0 and 1 not in lying[height:]
    return not batched and not mixed and all(lying[a] <= MOST_IN_MEAN for a in reduced & {width, depth})


def _strides_fit(work: Conv | Pool, compiler: str) -> bool:
    window = work.window
    strides = (window.stride_h * (window.out_h > 1), window.stride_w * (window.out_w > 1))
    if window.transposed or max(strides) <= MOST_STRIDE:
        return True
    pads = window.pad_top or window.pad_left or window.pad_bottom or window.pad_right
    free = not pads and (window.dilation_h, window.dilation_w) == (1, 1)
    return free and compiler != "vela-4.5" and not (isinstance(work, Conv) and work.depthwise)


def _turns_two(order: tuple[int, ...], before: SeenTensor, after: SeenTensor) -> bool:
    """Whether a transpose exchanges two axes, the last of three staying, as written or as they lie in memory.
    Axes of one element do not count."""
    written = tuple(range(len(order)))
    for given, made in ((written, written), (before.order or written, after.order or written)):
        old = [axis for axis in given if before.shape[axis] > 1]
        moved = [old.index(order[axis]) for axis in made if after.shape[axis] > 1]
        if moved == sorted(moved) or moved in ([1, 0], [1, 0, 2]):
            return True
    return False


def _enlarges(before: tuple[int, ...], after: tuple[int, ...]) -> bool:
    """Whether images grow by one of ``FACTORS`` in both axes, with or without their corners in place."""
    changed = [(old, new) for old, new in zip(before, after, strict=False) if old != new]
    if all(old == 1 for old, _ in changed):
        return True
    return any(
        all(new == factor * old for old, new in changed)
        or all(new - 1 == factor * (old - 1) for old, new in changed)
        for factor in FACTORS
    )
