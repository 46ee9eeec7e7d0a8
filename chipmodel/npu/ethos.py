"""NPU cycles on Arm's Ethos-U: on U55 and U65 an output block after block, each in steps of the MAC array.

While a block is computed, the one before it passes the output stage, and the next one's input is read. So
each block takes the longest of the three, and an op at least what its operands take on the port to SRAM.
Weights are decoded meanwhile, those of a step for 8 output channels in 32 cycles. Source: ethos-u-vela 5.2.0,
npu_performance.py, which is Arm's own estimate; with ``border_blocks: whole`` it is that to the cycle.

Element-wise work passes the output stage alone; ``OUTPUTS`` says at which rate. Layers of Ethos-U85 are in
``chipmodel.npu.ethos_u85``.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from itertools import product
from math import ceil

from chipmodel.geometry.layout import IMAGE_AXES
from chipmodel.geometry.rounding import round_up
from chipmodel.hardware.chip import Npu
from chipmodel.hardware.ethos_npu import EthosNpu
from chipmodel.hardware.ethos_u85 import EthosU85
from chipmodel.model.cascade_work import CascadeWork
from chipmodel.model.program import DTYPE_BITS, Op
from chipmodel.model.work import Matmul, Recurrent, SingleWork, Vector
from chipmodel.npu.ethos_blocks import Block, choose_block, one_row
from chipmodel.npu.ethos_layers import (
    BRICK,
    CHANNELS,
    DECODED,
    DECODED_CHANNELS,
    SCALE_BYTES,
    SCALES_AHEAD,
    UNITS,
    Layer,
    Size,
    input_passes,
    is_depthwise,
    kernel_steps,
    layer_of,
    weight_bytes,
)
from chipmodel.npu.ethos_u85 import u85_layer_cycles

Ethos = EthosNpu | EthosU85

OUTPUTS = {
    **dict.fromkeys(("add", "sub"), "add"),
    **dict.fromkeys(("mul", "div"), "multiply"),
    **dict.fromkeys(
        (
            "sigmoid",
            "tanh",
            "leaky_relu",
            "hard_swish",
            "hard_sigmoid",
            "swish",
            "gelu",
            "elu",
            "exp",
            "mish",
        ),
        "table",
    ),
}
"""The output of an element-wise op by its kind; of all others ``plain``. A table is looked up by an addition
of zero."""
WIDE_OUTPUTS = {"add": "wide", "multiply": "wide_multiply", "plain": "wide_unary", "table": "wide_unary"}
"""The same on 32 bits."""
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
    times, layer = layer_of(work, bits, is_depthwise(op, work))
    return max(1, ceil(times * width_factor(npu, bits) * layer_cycles(ethos, layer, op.kind)))


def idle_rows(ethos: Ethos, op: Op) -> float:
    """Return the share of the rows of blocks that lie below the output: stripes may have blocks of fewer
    rows."""
    if isinstance(ethos, EthosU85) or isinstance(op.work, Vector | Recurrent | CascadeWork):
        return 0.0
    layer = layer_of(op.work, DTYPE_BITS[op.dtype], is_depthwise(op, op.work))[1]
    rows, high = layer.output.height, choose_block(ethos, layer).output.height
    return 1 - rows / round_up(rows, high)


def width_factor(npu: Npu, bits: int) -> Fraction:
    """How many times slower operands of more than 16 bits are, which the NPU cannot multiply."""
    return Fraction(1) if bits <= 16 else npu.macs_per_cycle[16] / npu.macs_per_cycle[32]


@lru_cache(maxsize=1 << 15)
def layer_cycles(ethos: Ethos, layer: Layer, kind: str) -> Fraction:
    """Cycles of convolutions, dense layers and pooling."""
    if isinstance(ethos, EthosU85):
        return u85_layer_cycles(ethos, layer)
    block = choose_block(ethos, layer)
    return max(_block_cycles(ethos, layer, block, kind), _port_cycles(ethos, layer, block))


def _block_cycles(ethos: EthosNpu, layer: Layer, block: Block, kind: str) -> Fraction:
    """Cycles of all blocks without what the port to SRAM adds: of each the longest stage, and after the last
    the stage that remains."""
    tile, micro = block.output.within(layer.output), (ethos.block_height, ethos.block_width)
    if one_row(ethos, layer) and layer.output.width % 2 == 0 and layer.traversal != "pooling":
        tile, micro = Size(1, tile.width, tile.depth), (1, ethos.columns_first)
    total = last = Fraction(0)
    for size, count in _tiles(layer.output, tile, ethos.partial_blocks):
        computed, written = _stages(ethos, layer, block, (size, micro), kind)
        total += max(computed, written) * count
        last = last or min(computed, written)
    return Fraction(int(total + last))


def _tiles(whole: Size, tile: Size, partial: bool) -> list[tuple[Size, int]]:
    """The blocks by size, the largest first, and how many there are of each."""
    down = _along(whole.height, tile.height, partial)
    across, deep = _along(whole.width, tile.width, partial), _along(whole.depth, tile.depth, partial)
    return [(Size(h, w, d), n * m * k) for (h, n), (w, m), (d, k) in product(down, across, deep)]


def _along(size: int, part: int, partial: bool) -> list[tuple[int, int]]:
    if not partial:
        return [(part, -(-size // part))]
    whole, rest = divmod(size, part)
    return [(part, whole), (rest, 1)] if rest else [(part, whole)]


def _stages(
    ethos: EthosNpu, layer: Layer, block: Block, tile: tuple[Size, tuple[int, int]], kind: str
) -> tuple[Fraction, Fraction]:
    """Cycles of a block of some size, in micro-blocks of so many rows and columns, in the MAC array and in
    the output stage."""
    size, (high, wide) = tile
    micro_blocks = -(-size.height // high) * -(-size.width // wide), -(-size.depth // ethos.block_depth)
    computed = Fraction(_computing(ethos, layer, *micro_blocks), ethos.cores)
    written = Fraction(ceil(output_rate(ethos, layer, kind) * size.elements))
    if layer.traversal != "pooling":
        written = max(written, Fraction(SCALE_BYTES * size.depth * ethos.read_latency, SCALES_AHEAD))
    command = (_transfer(ethos, layer, block) + written + computed) / UNITS
    return max(computed, command), max(written, command)


def _computing(ethos: EthosNpu, layer: Layer, flat: int, deep: int) -> int:
    """Cycles of the MAC array for a block of ``flat`` micro-blocks by ``deep`` in depth."""
    passes, reads = input_passes(layer)
    decoded = decoding(ethos, layer)
    delay = ethos.wide_delay_cycles if layer.wide else ethos.delay_cycles
    total = 0
    for steps, cycles in kernel_steps(layer):
        total += max(decoded, cycles * flat) * steps * passes * deep
        if flat == 1:
            waits = steps if deep == 1 else (steps - 1) * deep
            total += delay * waits * (passes if layer.traversal == "convolution" else 1)
    return total * reads


def decoding(ethos: EthosNpu, layer: Layer) -> int:
    """Cycles in which the weights of a step are decoded."""
    return 0 if layer.traversal == "pooling" else DECODED * ethos.block_depth // DECODED_CHANNELS


def output_rate(ethos: EthosNpu, layer: Layer, kind: str) -> Fraction:
    """Cycles of an output element in the output stage."""
    if layer.wide:
        return ethos.output("multiply")
    return ethos.output("max_pool" if kind == "max_pool" else "plain")


def _transfer(ethos: EthosNpu, layer: Layer, block: Block) -> Fraction:
    """Cycles to read the input of a block and to write its output, one after the other."""
    read = block.input.within(layer.input).elements * _burst_factor(ethos, layer, block.input)
    written = block.output.within(layer.output).elements * _written_burst_factor(ethos, layer, block.output)
    moved = read / ethos.read_bytes_per_cycle + written / ethos.write_bytes_per_cycle
    return ethos.read_latency + ethos.write_latency + moved


def _burst_factor(ethos: EthosNpu, layer: Layer, block: Size) -> Fraction:
    """How many times longer accesses take than their bytes: a row of a brick may be shorter than a burst."""
    return Fraction(ethos.sram_burst, min(ethos.sram_burst, BRICK * layer.bits // 8 * block.width))


def _written_burst_factor(ethos: EthosNpu, layer: Layer, block: Size) -> Fraction:
    """The same for writes, of which each core makes a brick."""
    return _burst_factor(ethos, layer, replace(block, width=block.width * ethos.cores))


def _port_cycles(ethos: EthosNpu, layer: Layer, block: Block) -> Fraction:
    """Cycles of all reads and writes of activations on the port to SRAM."""
    whole, output, within = layer.output, block.output.within(layer.output), block.input.within(layer.input)
    blocks = -(-whole.height // output.height) * -(-whole.width // output.width)
    if not layer.equal_depth:
        blocks *= -(-whole.depth // output.depth)
    parts = len(layer.kernel_parts)
    read = within.height * within.width * round_up(layer.input.depth, BRICK) * parts * blocks
    written = whole.height * whole.width * round_up(whole.depth, BRICK)
    element = layer.bits // 8
    weights = weight_bytes(layer) * (-(-whole.height // output.height) * -(-whole.width // output.width))
    return (
        (weights / ethos.read_bytes_per_cycle if ethos.weights_on_port else 0)
        + element * read * _burst_factor(ethos, layer, block.input) / ethos.read_bytes_per_cycle
        + element * written * _written_burst_factor(ethos, layer, block.output) / ethos.write_bytes_per_cycle
    )


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
    depth = min(_depth(op, work), work.elements)
    padded = work.elements if is_packed(ethos, depth) else -(-work.elements // depth) * round_up(depth, BRICK)
    computed = ceil(vector_rate(ethos, op.kind, DTYPE_BITS[op.dtype]) * padded)
    if op.kind in ("softmax", "log_softmax"):
        computed += ceil(SOFTMAX_LINE * BRICK * work.lines * ethos.output("wide"))
    share = Fraction(padded, work.elements)
    read, written = work.in_bytes * share, work.out_bytes * share
    return max(Fraction(computed), ethos.port(read, written))


def _depth(op: Op, work: Vector) -> int:
    """Channels of the output; where the op does not say them, the elements of a row."""
    if not op.views or not op.views[-1]:
        return max(1, work.elements // work.rows)
    shape = op.views[-1]
    return max(1, shape[1] if len(shape) == IMAGE_AXES else shape[-1])
