"""Cycles of ops on LUNA's NPU, computed from shapes as the vendor's profiler for ARCS does.

All operands lie in SharedMemory. Nothing is rounded: the ports move 8 bytes in and 16 bytes out a cycle, so
a cost is a multiple of 1/16, and the profiler itself prints quarters. Source: LISTENAI/thinker, commit
562ddc70 (tests/data/hardware, luna_*.csv).
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from chipmodel.geometry.rounding import ceil_div, round_up
from chipmodel.hardware.luna_npu import LunaNpu, NpuCost
from chipmodel.model.work import Conv, Matmul, Pool, Recurrent, SingleWork, Vector
from chipmodel.npu.luna_convolution import conv_cost, depthwise_cost, pooling_cost


def matmul_cost(parameters: LunaNpu, work: Matmul, bits: int = 8) -> NpuCost:
    """A matrix product: load left, load right, then the longer of computing and storing, all padded.

    Results are as wide as the operands. Each product of a batch is charged as an op of its own.
    """
    width = parameters.width(bits)
    rows, inner = round_up(work.rows_, width.rows), round_up(work.inner, width.inner)
    cols = round_up(work.cols, width.cols)
    setup = rows // width.rows * parameters.matmul_rows_setup
    compute = Fraction(rows * inner * cols, width.macs_per_cycle) + setup
    store = Fraction(rows * cols * width.bytes, parameters.store_bytes_per_cycle)
    return NpuCost(
        configuration=Fraction(parameters.matmul_configuration),
        input_load=Fraction(rows * inner * width.bytes, parameters.load_bytes_per_cycle),
        weight_load=Fraction(inner * cols * width.bytes, parameters.load_bytes_per_cycle),
        compute=compute,
        store=max(Fraction(0), store - compute),
    ).times(work.batch)


def vector_cost(parameters: LunaNpu, kind: str, elements: int, bits: int = 8) -> NpuCost:
    """An element-wise op on ``elements`` elements; each operand is read at the rate of its ``kind``.

    Raises BadInput where ``kind`` is not one of ``parameters.vector_kinds``.
    """
    vector = parameters.vector_kind(kind)
    total = elements * parameters.width(bits).bytes
    load = Fraction(total, vector.bytes_per_cycle)
    store = Fraction(total, parameters.store_bytes_per_cycle)
    return NpuCost(
        configuration=Fraction(vector.configuration), input_load=load, store=max(Fraction(0), store - load)
    )


def softmax_cost(parameters: LunaNpu, elements: int, rows: int = 1) -> NpuCost:
    """``rows`` softmaxes over ``elements`` each, in blocks; the vendor's tables have single rows only.

    Each block has a setup of its own, so a long softmax costs more than 5 cycles an element.
    """
    blocks = ceil_div(elements, parameters.softmax_block)
    return NpuCost(
        configuration=Fraction(parameters.softmax_configuration),
        compute=Fraction(
            rows * (blocks * parameters.softmax_block_setup + elements * parameters.softmax_element)
        ),
    )


# Kinds that are charged as the vendor's add, relu, mul and sigmoid, and as a copy within SharedMemory.
ADD_KINDS = ("add", "sub")
RELU_KINDS = ("relu", "clip", "leaky_relu", "prelu", "abs", "neg", "max", "min")
MUL_KINDS = ("mul", "div")
SIGMOID_KINDS = (
    *("sigmoid", "tanh", "gelu", "silu", "hard_swish", "hard_sigmoid"),
    *("elu", "exp", "log", "erf", "softplus"),
)
COPY_KINDS = (
    *("copy", "concat", "split", "slice", "transpose", "pad", "resize", "cast", "embedding", "gather"),
    *("collect", "shift", "expand", "tile", "depth_to_space", "space_to_depth"),
)


@lru_cache(maxsize=8192)
def op_cost(parameters: LunaNpu, kind: str, work: SingleWork, bits: int) -> NpuCost:
    """The cost of an op of any ``kind`` on operands of ``bits``.

    Kinds that the vendor's tables lack are charged as a similar one (assumed): curves as sigmoid, gates as
    relu, all other work without MACs as a mul of the larger of its input and output.
    """
    match work:
        case Conv() if kind == "depthwise_conv":
            return depthwise_cost(parameters, work, bits)
        case Conv():
            return conv_cost(parameters, work, bits)
        case Pool():
            return pooling_cost(parameters, work, bits)
        case Matmul():
            return matmul_cost(parameters, work, bits)
        case Recurrent():
            step = Matmul(work.batch, work.inputs + work.hidden, work.gates * work.hidden)
            return matmul_cost(parameters, step, bits).times(work.steps * work.directions)
        case Vector():
            return _vector_op_cost(parameters, kind, work, bits)


def copy_cost(parameters: LunaNpu, size: int) -> NpuCost:
    """Moving ``size`` bytes within SharedMemory."""
    return NpuCost(
        configuration=Fraction(parameters.copy_configuration),
        input_load=size / parameters.copy_bytes_per_cycle,
    )


def _vector_op_cost(parameters: LunaNpu, kind: str, work: Vector, bits: int) -> NpuCost:
    if kind in COPY_KINDS:
        return copy_cost(parameters, work.out_bytes)
    if kind in ("softmax", "log_softmax"):
        return softmax_cost(parameters, -(-work.elements // work.lines), work.lines)
    alike = (("add", ADD_KINDS), ("relu", RELU_KINDS), ("mul", MUL_KINDS), ("sigmoid", SIGMOID_KINDS))
    for name, kinds in alike:
        if kind in kinds:
            return vector_cost(parameters, name, work.elements, bits)
    widest = -(-max(work.in_bytes, work.out_bytes) // parameters.width(bits).bytes)
    return vector_cost(parameters, "mul", widest, bits)
