"""NPU cycles on Arm's Ethos-U: on U55 and U65 an output block after block, each in steps of the MAC array.

While a block is computed, the one before it passes the output stage, and the next one's input is read. So
each block takes the longest of the three, and an op at least what its operands take on the port to SRAM.
Weights are decoded meanwhile, those of a step for 8 output channels in 32 cycles. Source: ethos-u-vela 5.2.0,
npu_performance.py, which is Arm's own estimate; with ``border_blocks: whole`` it is that to the cycle.

Element-wise work passes the output stage alone; ``OUTPUTS`` says at which rate. Layers of Ethos-U85 are in
``chipmodel.npu.ethos_u85``.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from math import ceil, prod

from chipmodel.geometry.layout import IMAGE_AXES
from chipmodel.geometry.rounding import round_up
from chipmodel.hardware.chip import Npu
from chipmodel.hardware.ethos_npu import EthosNpu
from chipmodel.hardware.ethos_u85 import EthosU85
from chipmodel.model.program import DTYPE_BITS, Op
from chipmodel.model.work import Conv, Matmul, Pool, Recurrent, SingleWork, Vector
from chipmodel.npu.ethos_blocks import choose_blocks, one_row
from chipmodel.npu.ethos_layers import (
    BRICK,
    CHANNELS,
    Layer,
    convs_of_mean,
    grouped,
    is_depthwise,
    layer_of,
)
from chipmodel.npu.ethos_stages import LayerParts
from chipmodel.npu.ethos_u85 import u85_layer_cycles

Ethos = EthosNpu | EthosU85

_TABLES = (
    *("sigmoid", "tanh", "leaky_relu", "hard_swish", "hard_sigmoid"),
    *("swish", "gelu", "elu", "exp", "mish"),
)
OUTPUTS = {
    "add": "add",
    "sub": "add",
    "mul": "multiply",
    "div": "multiply",
    **dict.fromkeys(_TABLES, "table"),
}
"""The output of an element-wise op by its kind, else ``plain``. A table is looked up by adding zero."""
WIDE_OUTPUTS = {"add": "wide", "multiply": "wide_multiply", "plain": "wide_unary", "table": "wide_unary"}
"""The same on 32 bits."""
DENOMINATOR = 1 << 20
"""The largest one of the cycles of a layer, which are computed in floats."""
SOFTMAX_PASSES = 5
"""Passes of softmax over all elements on 32 bits, after the maximum and before the sum is taken of them: the
difference and its exponential, a shift, the sum, the product, a shift (ethos-u-vela, softmax.py)."""
SOFTMAX_LINE = 25
"""Passes over the sums alone: the reciprocal, by three iterations of Newton's method."""


def ethos_cycles(npu: Npu, ethos: Ethos, op: Op, work: SingleWork) -> int:
    """Core cycles of ``work``, the whole of ``op`` or a part of it; at least 1."""
    bits = DTYPE_BITS[op.dtype]
    if isinstance(work, Vector):
        return max(1, ceil(_vector_cycles(ethos, op, work)))
    if isinstance(work, Recurrent):
        return max(1, ceil(width_factor(npu, bits) * _recurrent_cycles(ethos, work, bits)))
    if convs := convs_of_mean(op.kind, work):
        layers = (layer_of(conv, bits, True)[1] for conv in convs)
        cycles = sum(layer_cycles(ethos, layer, op.kind) for layer in layers) + adding_up(ethos, convs)
        return max(1, ceil(width_factor(npu, bits) * cycles))
    times, layer = layer_of(work, bits, is_depthwise(op, work))
    return max(1, ceil(times * width_factor(npu, bits) * layer_cycles(ethos, layer, op.kind)))


def cycles_of_parts(npu: Npu, ethos: Ethos, op: Op, works: Sequence[SingleWork]) -> list[int]:
    """``ethos_cycles`` of parts of ``op``; of convolutions on U55 many take hardly longer than one."""
    bits = DTYPE_BITS[op.dtype]
    windows = [work for work in works if isinstance(work, Conv | Pool | Matmul)]
    if isinstance(ethos, EthosU85) or len(windows) < len(works) or convs_of_mean(op.kind, op.work):
        return [ethos_cycles(npu, ethos, op, work) for work in works]
    layers = [layer_of(work, bits, is_depthwise(op, work)) for work in windows]
    cycles = cycles_of_layers(ethos, [layer for _, layer in layers], op.kind)
    factor = width_factor(npu, bits)
    return [max(1, ceil(n * factor * each)) for (n, _), each in zip(layers, cycles, strict=True)]


def adding_up(ethos: Ethos, convs: tuple[Conv, ...]) -> Fraction:
    """Cycles to add up the sums of a mean on 32 bits and to scale the last one, which U85 does in passing."""
    if isinstance(ethos, EthosU85):
        return Fraction(0)
    size = Fraction(round_up(convs[0].out_c, BRICK))
    added = max(size * ethos.output("wide"), ethos.port(8 * size, 4 * size))
    return (len(convs) - 1) * added + max(size * ethos.output("wide_unary"), ethos.port(4 * size, size))


def width_factor(npu: Npu, bits: int) -> Fraction:
    """How many times slower operands of more than 16 bits are, which the NPU cannot multiply."""
    return Fraction(1) if bits <= 16 else npu.macs_per_cycle[16] / npu.macs_per_cycle[32]


@lru_cache(maxsize=1 << 15)
def layer_cycles(ethos: Ethos, layer: Layer, kind: str) -> Fraction:
    """Cycles of convolutions, dense layers and pooling."""
    if isinstance(ethos, EthosU85):
        return u85_layer_cycles(ethos, layer)
    return cycles_of_layers(ethos, (layer,), kind)[0]


def cycles_of_layers(ethos: EthosNpu, layers: Sequence[Layer], kind: str) -> list[Fraction]:
    """``layer_cycles`` of several, of which those that differ in sizes alone take hardly longer than one."""
    found = [Fraction(0)] * len(layers)
    for numbers, alike in grouped(layers):
        (like, made, given), blocks = alike, choose_blocks(ethos, alike)
        parts = LayerParts(ethos, like, kind, made, one_row(ethos, like))
        for number, cycles in zip(numbers, parts.cycles(blocks, given).tolist(), strict=True):
            found[number] = Fraction(cycles).limit_denominator(DENOMINATOR)
    return found


def _recurrent_cycles(ethos: Ethos, work: Recurrent, bits: int) -> Fraction:
    """Time steps one after another: a dense layer of the inputs, one of the hidden state, and the gates."""
    gates = work.gates * work.hidden
    total = work.batch * gates * ethos.output("table")
    for inner in (work.inputs, work.hidden):
        _, layer = layer_of(Matmul(work.batch, max(1, inner), gates), bits, False)
        total += layer_cycles(ethos, layer, "dense")
    return work.steps * work.directions * total


def vector_rate(ethos: Ethos, kind: str, bits: int) -> Fraction:
    """Cycles of an output element of element-wise work; of softmax of each element of its input."""
    if kind in ("softmax", "log_softmax"):
        return ethos.output("max_pool") + SOFTMAX_PASSES * ethos.output("wide")
    output = OUTPUTS.get(kind, "plain")
    if bits > 16:
        return ethos.output(WIDE_OUTPUTS[output])
    return max(ethos.output(each, bits) for each in {output, "add" if output == "table" else output})


def is_packed(ethos: Ethos, depth: int) -> bool:
    """Whether element-wise work of so few channels takes tensors that are not padded to bricks."""
    return isinstance(ethos, EthosU85) and depth < CHANNELS


def _vector_cycles(ethos: Ethos, op: Op, work: Vector) -> Fraction:
    depth = min(channels_of(op, work), work.elements)
    padded = work.elements if is_packed(ethos, depth) else -(-work.elements // depth) * round_up(depth, BRICK)
    computed = ceil(vector_rate(ethos, op.kind, DTYPE_BITS[op.dtype]) * padded)
    if op.kind in ("softmax", "log_softmax"):
        computed += ceil(SOFTMAX_LINE * BRICK * work.lines * ethos.output("wide"))
    share = Fraction(padded, work.elements)
    read, written = work.in_bytes * share, work.out_bytes * share
    return max(Fraction(computed), ethos.port(read, written))


def channels_of(op: Op, work: Vector) -> int:
    """Return the channels of the output, or the elements of a row if the op does not say them.

    The last axis of a matrix are channels, also in four axes, where it has more rows than an image. Vela
    turns a softmax so that those of one sum are channels (ethos-u-vela, softmax.py)."""
    if op.kind in ("softmax", "log_softmax"):
        return max(1, work.elements // work.lines)
    if not op.views or not op.views[-1]:
        return max(1, work.elements // work.rows)
    shape = op.views[-1]
    if len(shape) == IMAGE_AXES and not (min(shape[1:3]) > 1 and op.work.rows == prod(shape[:-1])):
        return max(1, shape[1])
    return max(1, shape[-1])
