"""The least cycles of convolutions and pooling on Ethos-U55, whatever parts they are cut into: those of the
block of the output that is best for the best part.

Parts have their own blocks, so the bound is the least cycles of an output element over all blocks that fit
SHRAM and all sizes of parts. By block: the reads and writes on the port to SRAM, of which those of inputs
overlap by the kernel; the steps of the MAC array, and decoding their weights; what a command costs. Rows and
columns are looked at separately, as if each could be cut in its own best way.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from chipmodel.geometry.rounding import round_up
from chipmodel.geometry.window import Window
from chipmodel.hardware.ethos_npu import EthosNpu
from chipmodel.model.work import Conv, Pool
from chipmodel.npu.ethos import decoding, output_rate
from chipmodel.npu.ethos_blocks import LARGEST, Counts, fits, input_block, sides
from chipmodel.npu.ethos_layers import BRICK, UNITS, Layer, input_passes, kernel_steps, layer_of, weight_bytes

Cycles = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class _PartSizes:
    """Rows, or columns, of the output in parts: how many a part may have, and how many of the input its cost
    counts at least."""

    parts: tuple[int, ...]
    inputs: tuple[int, ...]

    @property
    def size(self) -> int:
        return self.parts[-1]

    def read(self, block: Counts, inside: Counts) -> Cycles:
        """What is read for each row or column of the output, in blocks of so many that read ``inside``."""
        parts = np.array(self.parts)
        each = np.minimum(inside[:, None], np.array(self.inputs)) * -(-parts // block[:, None]) / parts
        return np.asarray(each.min(axis=1))


def least_block_cycles(
    ethos: EthosNpu, kind: str, work: Conv | Pool, bits: int, depthwise: bool, columns: bool
) -> float:
    """The least cycles of ``work`` in any parts, with ``columns`` also in bands of columns."""
    times, layer = layer_of(work, bits, depthwise)
    window, rows = work.window, _rows(work.window, work.batch)
    first, second = rows, _columns(window, columns)
    if window.in_w == window.kernel_w == window.out_w == 1:
        first, second = _PartSizes((1,), (1,)), rows  # one line, which lies along the columns
    found = [_each(ethos, layer, kind, first, second)] if first.size > 1 else []
    if first.size == 1 or layer.kernel[0] == 1:
        found.append(_each(ethos, layer, kind, _PartSizes((1,), first.inputs[:1]), second))
    return times * layer.output.elements * min(found)


def _rows(window: Window, images: int) -> _PartSizes:
    """A part has some rows of all images, and is counted as if it read the whole height of one: see ``part``
    in ``chipmodel.model.work``."""
    parts = tuple(range(1, images * window.out_h + 1))
    if not window.transposed:
        return _PartSizes(parts, (window.in_h,) * len(parts))
    return _PartSizes(parts, tuple(-(-n * window.in_h // window.out_h) for n in parts))


def _columns(window: Window, cut: bool) -> _PartSizes:
    """All columns at once, or bands of any width, which have at least their share of those of the input: see
    ``Window.in_band``."""
    if not cut:
        return _PartSizes((window.out_w,), (window.in_w,))
    parts = tuple(range(1, window.out_w + 1))
    shares = (-(-n * window.in_w // window.out_w) for n in parts)
    return _PartSizes(parts, tuple(max(min(2, window.in_w), each) for each in shares))


@lru_cache(maxsize=1 << 14)
def _each(ethos: EthosNpu, layer: Layer, kind: str, rows: _PartSizes, columns: _PartSizes) -> float:
    """The least cycles of an output element."""
    layer = replace(layer, output=replace(layer.output, height=rows.size, width=columns.size))
    high, wide = sides(ethos, layer, 0), sides(ethos, layer, 1)
    most = round_up(min(layer.output.depth, LARGEST[2]), ethos.block_depth)
    deep = np.arange(ethos.block_depth, most + 1, ethos.block_depth)
    grid = np.meshgrid(deep, high, wide, indexing="ij")
    inside = input_block(ethos, layer, grid[1], grid[2], grid[0])
    possible = fits(ethos, layer, (grid[1], grid[2], grid[0]), inside)
    possible[:, 0, 0] = True  # what ``choose_block`` takes where no block fits
    read = np.outer(rows.read(high, inside[0][0, :, 0]), columns.read(wide, inside[1][0, 0, :]))[None]
    area = np.outer(np.minimum(high, rows.size), np.minimum(wide, columns.size))[None]
    depth = np.minimum(deep, layer.output.depth)[:, None, None]
    costs = _costs(ethos, layer, kind, _BlockSizes(grid[2], area, depth, inside, read))
    return float(costs[possible].min())


@dataclass(frozen=True, slots=True)
class _BlockSizes:
    """All blocks: their width, rows x columns and channels of the output as far as it has them, the block
    of the input, and rows x columns that are read for each output element."""

    wide: Counts
    area: Counts
    depth: Counts
    inside: tuple[Counts, Counts, Counts]
    read: Cycles


def _costs(ethos: EthosNpu, layer: Layer, kind: str, blocks: _BlockSizes) -> Cycles:
    """Cycles of an output element by block: the port, or the slowest stage."""
    element, given = layer.bits // 8, layer.input.depth
    read = _bursts(ethos, layer, blocks.inside[1]) * blocks.read / float(ethos.read_bytes_per_cycle)
    written = _bursts(ethos, layer, blocks.wide * ethos.cores) / float(ethos.write_bytes_per_cycle)
    again = 1 if layer.equal_depth else round_up(given, BRICK) / blocks.depth
    port = element * (len(layer.kernel_parts) * again * read + written)
    if ethos.weights_on_port:
        weights = weight_bytes(layer) / layer.output.depth
        port = port + weights / blocks.area / float(ethos.read_bytes_per_cycle)
    computed, output = _computed(ethos, layer, blocks.area), float(output_rate(ethos, layer, kind))
    at_once = 1 if layer.equal_depth else np.minimum(blocks.inside[2], given) / blocks.depth
    latency = (ethos.read_latency + ethos.write_latency) / (blocks.area * blocks.depth)
    command = (latency + at_once * read + written + output + computed) / UNITS
    return np.asarray(np.maximum.reduce(np.broadcast_arrays(port, computed, command, np.array(output))))


def _computed(ethos: EthosNpu, layer: Layer, area: Counts) -> Cycles:
    """What the MAC array takes for an output element, or decoding the weights for its share of a block."""
    passes, reads = input_passes(layer)
    decoded = decoding(ethos, layer) / area
    steps = sum(
        count * np.maximum(decoded, cycles / ethos.columns_first) for count, cycles in kernel_steps(layer)
    )
    return np.asarray(passes * reads * steps / ethos.block_depth / ethos.cores)


def _bursts(ethos: EthosNpu, layer: Layer, wide: Counts) -> Cycles:
    """How many times longer accesses of blocks of such widths take than their bytes."""
    line = BRICK * layer.bits // 8 * wide
    return ethos.sram_burst / np.minimum(ethos.sram_burst, line)
