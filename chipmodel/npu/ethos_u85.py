"""Cycles of convolutions, dense layers and pooling on Arm's Ethos-U85, as Arm's own compiler estimates them.

As on Ethos-U55 a block is computed while the one before it passes the output stage. A block at the border
counts by its micro-blocks; reading the first block and writing the last one come on top. Source: ethos-u-vela
5.2.0, ethos_u85_performance.cpp.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil

from chipmodel.geometry.rounding import ceil_div, round_up
from chipmodel.hardware.ethos_u85 import EthosU85
from chipmodel.npu.ethos_layers import (
    BRICK,
    CHANNELS,
    DECODED,
    DECODED_CHANNELS,
    SCALE_BYTES,
    SCALES_AHEAD,
    STEP,
    UNITS,
    Layer,
    Size,
    weight_bytes as bytes_of_weights,
)
from chipmodel.npu.ethos_u85_blocks import U85Block, choose_u85_block, takes_kernel_first

WIDE_DELAY_MACS = 128
"""MACs of the variant of which accumulators of 48 bits wait a cycle longer between steps."""


def u85_layer_cycles(npu: EthosU85, layer: Layer) -> Fraction:
    """Cycles of ``layer``, the only op that the NPU runs at a time."""
    block = choose_u85_block(npu, layer)
    return max(_block_cycles(npu, layer, block), _port_cycles(npu, layer, block))


def _block_cycles(npu: EthosU85, layer: Layer, block: U85Block) -> Fraction:
    output = block.output.within(layer.output)
    count = Fraction(_micro_blocks(layer.output, block.micro).elements)
    count /= _micro_blocks(output, block.micro).elements
    computed = Fraction(_computing(npu, layer, block))
    written = Fraction(ceil(npu.output("plain", layer.bits) * output.elements))
    if layer.traversal != "pooling":
        written = max(written, Fraction(SCALE_BYTES * output.depth * npu.sram_read_latency, SCALES_AHEAD))
    read_first = npu.sram_read_latency + _moved(npu, layer, block.input, layer.input)
    write_last = npu.sram_write_latency + _moved(npu, layer, block.output, layer.output)
    command = ((abs(write_last - read_first) if count > 1 else 0) + computed + written) / UNITS
    stages = max(computed, command), max(written, command)
    return Fraction(int(max(stages) * count + min(stages)) + read_first + write_last)


def _micro_blocks(size: Size, micro: Size) -> Size:
    pairs = (size.height, micro.height), (size.width, micro.width), (size.depth, micro.depth)
    return Size(*(ceil_div(each, unit) for each, unit in pairs))


def _moved(npu: EthosU85, layer: Layer, block: Size, whole: Size) -> int:
    """Cycles on all ports for the elements of a block."""
    taken = block.within(whole).elements * layer.bits // 8 * _burst_factor(npu, layer, block, whole)
    return int(int(taken) / npu.sram_bytes_per_cycle)


def _burst_factor(npu: EthosU85, layer: Layer, block: Size, whole: Size) -> Fraction:
    """How many times longer accesses take than their bytes: a row of a brick may be shorter than a burst, of
    which the compiler takes all bricks for one where a row of the tensor has as many bytes as channels."""
    row = BRICK * layer.bits // 8
    row = block.width * (block.depth * layer.bits // 8 if whole.width * row == block.depth else row)
    return Fraction(npu.sram_burst, min(npu.sram_burst, row))


def steps(layer: Layer, by_kernel: bool, channels: int) -> tuple[tuple[int, int], ...]:
    """For each part of the kernel: steps for a micro-block at all input channels, of which a block has
    ``channels``, and cycles of such a step."""
    times, depth = layer.bits // 8, min(channels, layer.input.depth)
    if layer.traversal == "pooling":
        return tuple((1, max(STEP, part) * layer.bits // 2) for part in layer.kernel_parts)
    if layer.traversal == "depthwise":
        return tuple((ceil_div(part, 4), STEP * times) for part in layer.kernel_parts)
    passes = ceil_div(layer.input.depth, depth)
    if not by_kernel:
        return tuple((part * times * passes, depth // CHANNELS) for part in layer.kernel_parts)
    passes *= ceil_div(depth, CHANNELS)
    return tuple((ceil_div(part, 4 // times) * passes, STEP) for part in layer.kernel_parts)


def least_u85_cycles(npu: EthosU85, layer: Layer, decodes: bool) -> Fraction:
    """The least cycles of ``layer`` in parts, which together decode all weights if any part ``decodes``."""
    output, bits = layer.output, layer.bits
    written = npu.port(Fraction(0), Fraction(output.elements * bits // 8))
    computed = Fraction(0)
    for by_kernel, channels in ((True, 16), (False, 32), (False, 64)):
        if layer.equal_depth or by_kernel == takes_kernel_first(layer):
            each = Fraction(0)
            each += sum(
                count
                * max(
                    cycles * Fraction(8 * output.elements, npu.macs),
                    decoding(npu, layer, output.depth) * decodes,
                )
                for count, cycles in steps(layer, by_kernel, channels)
            )
            computed = min(computed, each) if computed else each
    return max(computed, written, output.elements * npu.output("plain", bits))


def decoding(npu: EthosU85, layer: Layer, channels: int) -> Fraction:
    """Cycles in which the weights of a step are decoded for so many output channels."""
    if layer.traversal == "pooling":
        return Fraction(0)
    return Fraction(DECODED * channels, DECODED_CHANNELS * npu.variant.decoders)


def _computing(npu: EthosU85, layer: Layer, block: U85Block) -> int:
    """Cycles of the MAC array for a block."""
    count = _micro_blocks(block.output.within(layer.output), block.micro)
    flat, deep = count.height * count.width, count.depth
    delay = 3 if layer.wide and npu.macs <= WIDE_DELAY_MACS else 2
    passes = _passes(layer, block)
    total = 0
    for number, cycles in steps(layer, block.by_kernel, block.input.depth):
        total += int(max(decoding(npu, layer, block.micro.depth), Fraction(cycles * flat))) * number * deep
        each = number // passes
        if layer.bits == 16 and not block.by_kernel and not layer.equal_depth:
            each //= 2
        if flat == 1:
            total += delay * passes * (each if deep == 1 else (each - 1) * deep)
    return total


def _passes(layer: Layer, block: U85Block) -> int:
    """How often the steps of a kernel are gone through for all input channels."""
    if layer.equal_depth:
        return 1
    depth = min(block.input.depth, layer.input.depth)
    return ceil_div(layer.input.depth, depth) * (ceil_div(depth, CHANNELS) if block.by_kernel else 1)


def _port_cycles(npu: EthosU85, layer: Layer, block: U85Block) -> Fraction:
    """Cycles of all reads and writes of activations on the ports to SRAM, or of reading weights again."""
    whole, output, inside = layer.output, block.output.within(layer.output), block.input.within(layer.input)
    blocks = _micro_blocks(whole, output)
    again = blocks.height * blocks.width
    read = inside.height * inside.width * round_up(layer.input.depth, BRICK) * len(layer.kernel_parts) * again
    if not layer.equal_depth:
        read *= blocks.depth
    written = whole.height * whole.width * round_up(whole.depth, BRICK)
    element = layer.bits // 8
    inputs = element * read * _burst_factor(npu, layer, block.input, layer.input)
    outputs = element * written * _burst_factor(npu, layer, block.output, whole)
    port = npu.port(inputs, outputs)
    if not npu.weights_on_port:
        return port
    weights = bytes_of_weights(layer) * again
    all_bytes = (inputs + outputs + weights) / npu.sram_bytes_per_cycle
    return max(port, weights / npu.read_bytes_per_cycle, all_bytes)
