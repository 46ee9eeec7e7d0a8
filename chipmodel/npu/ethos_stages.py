"""Cycles of parts of a layer on Ethos-U55 and U65: a block after another, each by its longest stage.

Numbers are floats; where Vela rounds them, or where they become whole cycles, ``ROUNDING`` is less than any
fraction that counts. Source: ethos-u-vela 5.2.0, npu_performance.py.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from chipmodel.hardware.ethos_npu import EthosNpu
from chipmodel.npu.ethos_blocks import BlockSizes
from chipmodel.npu.ethos_layers import (
    BRICK,
    DECODED,
    DECODED_CHANNELS,
    SCALE_BYTES,
    SCALES_AHEAD,
    UNITS,
    Counts,
    Layer,
    Sizes,
    input_passes,
    kernel_steps,
    weight_bytes,
)

Cycles = NDArray[np.float64]

ROUNDING = 1e-6
"""More than the error of floats."""


class LayerParts:
    """Parts of such sizes of ``layer``, or of layers like it, the ``flat`` ones of which are one row."""

    def __init__(self, ethos: EthosNpu, layer: Layer, kind: str, parts: Sizes, flat: bool) -> None:
        self.ethos, self.layer, self.kind = ethos, layer, kind
        self.rows, self.columns, self.channels = parts
        self.given = parts.depth if layer.equal_depth else np.full_like(parts.depth, layer.input.depth)
        self.flat = flat and layer.traversal != "pooling"
        self.turned = (parts.width % 2 == 0) & self.flat
        """Whether a micro-block of two rows is laid along the row."""

    def cycles(self, blocks: BlockSizes, given: Sizes) -> Cycles:
        """Cycles of each part in its block, whose input is ``given``."""
        high, wide = (
            np.minimum(blocks.output.height, self.rows),
            np.minimum(blocks.output.width, self.columns),
        )
        tile = high, wide, np.minimum(blocks.output.depth, self.channels)
        inside = np.minimum(blocks.input.height, given.height) * np.minimum(blocks.input.width, given.width)
        longest, remains, counts = self._computed(tile, self._transfer(blocks, tile, inside))
        computed = np.floor((longest * counts).sum(axis=(0, 1, 2)) + remains + ROUNDING)
        return np.asarray(np.maximum(computed, self._port(blocks, inside)))

    def least_of_blocks(self, blocks: BlockSizes, inside: Cycles) -> Cycles:
        """The most cycles of parts of a block, if others follow, that reads ``inside`` elements a channel."""
        tile = self.rows, self.columns, self.channels
        self.turned |= self.flat
        longest, _, _ = self._computed(tile, self._transfer(blocks, tile, inside))
        return np.asarray(np.maximum(longest[0, 0, 0] - 1, self._port(blocks, inside)))

    def _transfer(self, blocks: BlockSizes, tile: tuple[Counts, ...], inside: Cycles) -> Cycles:
        """Cycles to read the input of a block and to write its output, one after the other."""
        read, written = self._bursts(blocks)
        high, wide, deep = tile
        moved = inside * np.minimum(blocks.input.depth, self.given) * read + high * wide * deep * written
        return moved + self.ethos.sram_read_latency + self.ethos.sram_write_latency

    def _port(self, blocks: BlockSizes, inside: Cycles) -> Cycles:
        """Cycles of all reads and writes on the port to SRAM."""
        layer, (read, written) = self.layer, self._bursts(blocks)
        again = -(-self.rows // blocks.output.height) * -(-self.columns // blocks.output.width)
        weights = again * weight_bytes(layer) * self.channels
        again = again if layer.equal_depth else again * -(-self.channels // blocks.output.depth)
        loaded = inside * bricks(self.given) * len(layer.kernel_parts) * again * read
        moved = layer.bits // 8 * (loaded + self.rows * self.columns * bricks(self.channels) * written)
        return moved + weights * self.ethos.weights_on_port / float(self.ethos.read_bytes_per_cycle)

    def _bursts(self, blocks: BlockSizes) -> tuple[Cycles, Cycles]:
        """Cycles of a byte that is read, and written: a row of a brick may be shorter than a burst."""
        ethos, line = self.ethos, BRICK * self.layer.bits // 8
        read, written = (
            ethos.sram_burst / np.minimum(ethos.sram_burst, line * wide)
            for wide in (blocks.input.width, blocks.output.width * ethos.cores)
        )
        return read / float(ethos.read_bytes_per_cycle), written / float(ethos.write_bytes_per_cycle)

    def _computed(self, tile: tuple[Counts, ...], transfer: Cycles) -> tuple[Cycles, Cycles, Counts]:
        """Cycles of the longest stage of the blocks by size, what remains after the first one, and how many
        blocks there are of each size."""
        ethos, layer = self.ethos, self.layer
        high = np.where(self.turned, 1, ethos.micro_block_height)
        wide = np.where(self.turned, ethos.columns_first, ethos.micro_block_width)
        (h, n), (w, m), (d, k) = map(self._along, (self.rows, self.columns, self.channels), tile)
        h, n, w, m = h[:, None, None], n[:, None, None], w[:, None], m[:, None]
        computed = self._computing(-(-h // high) * -(-w // wide), -(-d // ethos.micro_block_depth))
        output = np.ceil(float(output_rate(ethos, layer, self.kind)) * (h * w * d) - ROUNDING)
        if layer.traversal != "pooling":
            output = np.maximum(output, SCALE_BYTES * d * ethos.sram_read_latency / SCALES_AHEAD)
        command = (transfer + output + computed) / UNITS
        longest = np.maximum(np.maximum(computed, output), command)
        return longest, np.maximum(np.minimum(computed, output), command)[0, 0, 0], n * m * k

    def _along(self, size: Counts, part: Counts) -> tuple[Counts, Counts]:
        """Lengths of the blocks along an axis, the largest first, and how many there are of each."""
        if not self.ethos.partial_blocks:
            return part[None], (-(-size // part))[None]
        rest = size % part
        return np.stack((part, rest)), np.stack((size // part, np.minimum(rest, 1)))

    def _computing(self, flat: Counts, deep: Counts) -> Cycles:
        """Cycles of the MAC array for blocks of ``flat`` micro-blocks by ``deep`` in depth."""
        ethos, layer = self.ethos, self.layer
        passes, reads = input_passes(layer)
        delay = ethos.wide_delay_cycles if layer.wide else ethos.delay_cycles
        delay *= passes if layer.traversal == "convolution" else 1
        total = np.zeros(np.broadcast_shapes(flat.shape, deep.shape))
        for steps, cycles in kernel_steps(layer):
            total += np.maximum(decoding(ethos, layer), cycles * flat) * (steps * passes * deep)
            total += delay * (flat == 1) * np.where(deep == 1, steps, (steps - 1) * deep)
        return np.asarray(reads * total / ethos.cores)


def bricks(channels: Counts) -> Counts:
    """The channels with which tensors lie between ops."""
    return -(-channels // BRICK) * BRICK


def decoding(ethos: EthosNpu, layer: Layer) -> int:
    """Cycles in which the weights of a step are decoded."""
    return 0 if layer.traversal == "pooling" else DECODED * ethos.micro_block_depth // DECODED_CHANNELS


def output_rate(ethos: EthosNpu, layer: Layer, kind: str) -> Fraction:
    """Cycles of an output element in the output stage."""
    if layer.wide:
        return ethos.output("multiply")
    return ethos.output("max_pool" if kind == "max_pool" else "plain")
