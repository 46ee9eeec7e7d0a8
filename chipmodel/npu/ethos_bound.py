"""The least cycles on Ethos-U55 of work that is cut in any way, for lower bounds.

Blocks are chosen for each part, so that a part may take a better one than the whole. What no choice changes:
steps of the MAC array for each output element, decoding the weights once for each part, the output stage, and
the bytes that are written; and of windows what an element takes at least in the block that is best for it.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from math import ceil

import numpy as np

from chipmodel.geometry.layout import IMAGE_AXES
from chipmodel.geometry.rounding import round_up
from chipmodel.hardware.chip import Npu
from chipmodel.hardware.ethos_npu import EthosNpu
from chipmodel.hardware.ethos_u85 import EthosU85
from chipmodel.model.program import DTYPE_BITS, Op
from chipmodel.model.work import Conv, Matmul, Pool, Recurrent, SingleWork, Vector
from chipmodel.npu.ethos import Ethos, adding_up, channels_of, is_packed, vector_rate, width_factor
from chipmodel.npu.ethos_blocks import LARGEST, BlockSizes, fits, input_block, one_row, sides
from chipmodel.npu.ethos_layers import (
    BRICK,
    Layer,
    Sizes,
    convs_of_mean,
    input_passes,
    is_depthwise,
    kernel_steps,
    layer_of,
)
from chipmodel.npu.ethos_stages import LayerParts, decoding, output_rate
from chipmodel.npu.ethos_u85 import least_u85_cycles

ROUNDING = 1e-9
"""The share by which a bound of floats is lowered: far more than their error."""


def least_ethos_cycles(npu: Npu, ethos: Ethos, op: Op, work: SingleWork, columns: bool) -> int:
    """The least core cycles of ``work`` of ``op`` in any parts, with ``columns`` of columns too."""
    bits = DTYPE_BITS[op.dtype]
    match work:
        case Vector():
            rate = vector_rate(ethos, op.kind, bits)
            port = ethos.port(Fraction(work.in_bytes), Fraction(work.out_bytes))
            padding = _least_padding(ethos, op, work, columns)
            return max(1, ceil(padding * max(rate * work.elements, port)))
        case Recurrent():
            return max(1, int(width_factor(npu, bits) * _recurrent(ethos, work, bits)))
        case Conv() | Pool() | Matmul():
            if convs := convs_of_mean(op.kind, work):
                sums = ((replace(op, kind="depthwise_conv", work=conv), conv) for conv in convs)
                total = sum(least_ethos_cycles(npu, ethos, *each, columns) for each in sums)
                return max(1, total + int(width_factor(npu, bits) * adding_up(ethos, convs)))
            times, layer = layer_of(work, bits, is_depthwise(op, work))
            least = _least_layer(ethos, layer, op.kind, times, columns)
            if isinstance(op.work, Conv | Pool) and not isinstance(ethos, EthosU85):
                blocks = _in_best_blocks(ethos, op, op.work, bits, columns)
                least = max(least, Fraction(blocks * (1 - ROUNDING)))
            return max(1, int(width_factor(npu, bits) * least))


def _recurrent(ethos: Ethos, work: Recurrent, bits: int) -> Fraction:
    """Time steps one after another, as in ``ethos_cycles``: of all hidden units, or of slices of them, which
    are one hidden unit with more gates and inputs (``Recurrent.part``)."""
    gates = work.gates * work.hidden
    whole, sliced = (work.inputs, work.hidden), (work.inputs + work.hidden - 1, 1)

    def layer(inner: int) -> Fraction:
        times, dense = layer_of(Matmul(work.batch, max(1, inner), gates), bits, False)
        return _least_layer(ethos, dense, "dense", times, False)

    least = min(sum(map(layer, inners)) for inners in {whole, sliced})
    return work.steps * work.directions * (work.batch * gates * ethos.output("table") + least)


def _least_layer(ethos: Ethos, layer: Layer, kind: str, times: int, columns: bool) -> Fraction:
    if isinstance(ethos, EthosU85):
        return times * least_u85_cycles(ethos, layer, times == 1)
    return max(times * _written(ethos, layer, kind), _computed(ethos, layer, times, columns))


def _least_padding(ethos: Ethos, op: Op, work: Vector, columns: bool) -> Fraction:
    """How many times more elements there are with channels padded to whole bricks, in all parts of which even
    the smallest, a row or a column of it, has all channels; 1 where that is not known."""
    if work.cut is not None or not op.views or len(op.views[-1]) != IMAGE_AXES:
        return Fraction(1)
    channels = channels_of(op, work)
    if is_packed(ethos, channels):
        return Fraction(1)
    smallest = Fraction(work.elements, work.rows * (op.views[-1][-1] if columns else 1))
    return Fraction(round_up(channels, BRICK), channels) if smallest >= channels else Fraction(1)


def _written(ethos: EthosNpu, layer: Layer, kind: str) -> Fraction:
    """What the output stage and the port take for all output elements."""
    stored = layer.bits // 8 / ethos.write_bytes_per_cycle
    return layer.output.elements * max(output_rate(ethos, layer, kind), stored)


def _computed(ethos: EthosNpu, layer: Layer, times: int, columns: bool) -> Fraction:
    """What the MAC array takes: its micro-blocks in use as far as any parts allow, and no less than decoding
    the weights once. Images and groups may share a part, so work with several is not rounded."""
    passes, reads = input_passes(layer)
    positions = Fraction(layer.output.height * layer.output.width, ethos.columns_first)
    if times == 1 and layer.output.height > 1:
        positions = _micro_blocks(ethos, layer, columns)
    layers = Fraction(layer.output.depth, ethos.micro_block_depth)
    decoded = Fraction(0)
    if times == 1:
        layers, decoded = Fraction(ceil(layers)), Fraction(decoding(ethos, layer))
    steps = sum(count * max(decoded, cycles * positions) for count, cycles in kernel_steps(layer))
    return times * layers * passes * reads * steps / ethos.cores


def _micro_blocks(ethos: EthosNpu, layer: Layer, columns: bool) -> Fraction:
    """The fewest micro-blocks that cover the rows and columns of the output, in any stripes, and with
    ``columns`` in any bands. Each covers at most one element of which row and column are multiples of its
    sides. A micro-block that a row of even width turns along itself covers no more elements."""
    rows, width = layer.output.height, layer.output.width
    high, wide = ethos.micro_block_height, ethos.micro_block_width
    if high == 1 or layer.kernel[0] > 1 or (width % 2 and not columns):
        return Fraction(-(-rows // high) * -(-width // wide))
    return Fraction(rows * round_up(width, 2), ethos.columns_first)


def _in_best_blocks(ethos: EthosNpu, op: Op, work: Conv | Pool, bits: int, columns: bool) -> float:
    """The least cycles of ``op`` in any parts, with ``columns`` also in bands, and in any blocks: those of
    the block that is best for an element of the output."""
    times, layer = layer_of(work, bits, is_depthwise(op, work))
    window, made = work.window, layer.output
    rows = work.batch * window.out_h  # a part may have rows of several images
    if window.in_w == window.kernel_w == window.out_w == 1:
        rows, made, columns = 1, replace(made, width=rows), True  # one line, which lies along the columns
    heights = {rows, 1} if layer.kernel[0] == 1 else {rows}
    sized = (replace(layer, output=replace(made, height=high)) for high in heights)
    least = min(_least_of_element(ethos, each, op.kind, window.transposed, columns) for each in sized)
    return times * layer.output.elements * least


@lru_cache(maxsize=1 << 14)
def _least_of_element(ethos: EthosNpu, layer: Layer, kind: str, rows_cut: bool, columns_cut: bool) -> float:
    """The least cycles of an output element. Parts of an axis that is cut read their share of the input, at
    least, and else as if they might read all of it (``part`` in ``chipmodel.model.work``)."""
    made, given = layer.output, layer.input
    most = round_up(min(made.depth, LARGEST[2]), ethos.micro_block_depth)
    depths = np.arange(ethos.micro_block_depth, most + 1, ethos.micro_block_depth)
    tried = (sides(ethos, size, axis) for axis, size in enumerate((made.height, made.width)))
    deep, high, wide = np.meshgrid(depths, *tried, indexing="ij")
    read, flat = input_block(ethos, layer, high, wide, deep), one_row(ethos, layer)
    possible = fits(ethos, layer, (high, wide, deep), read, flat)
    possible[:, 0, 0] = True  # what ``choose_blocks`` takes where no block fits
    blocks = BlockSizes(*(Sizes(*(array[possible] for array in each)) for each in ((high, wide, deep), read)))
    tile = np.minimum(blocks.output.height, made.height), np.minimum(blocks.output.width, made.width)
    most_high = given.height * (tile[0] / made.height if rows_cut else 1)
    most_wide = given.width * (tile[1] / made.width if columns_cut else 1)
    inside = np.minimum(blocks.input.height, most_high) * np.minimum(blocks.input.width, most_wide)
    parts = LayerParts(ethos, layer, kind, Sizes(*tile, np.minimum(blocks.output.depth, made.depth)), flat)
    return float((parts.least_of_blocks(blocks, inside) / (tile[0] * tile[1] * parts.channels)).min())
