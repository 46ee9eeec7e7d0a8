"""The least cycles of windows on Ethos-U55 in parts, each in the block of the output that Vela takes for it.

Parts are some rows by some output channels; in a cascade some rows, by all channels, of some columns. A line
of elements along an axis lies in parts that cover it. So an op takes as long, at least, as the cheapest
lengths that add up to that axis, if a part of a length counts what the cheapest one takes for each element.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np

from chipmodel.geometry.interval import Interval
from chipmodel.geometry.rounding import round_up
from chipmodel.hardware.ethos_npu import EthosNpu
from chipmodel.hardware.ethos_u85 import EthosU85
from chipmodel.model.cascade_work import Band
from chipmodel.model.program import DTYPE_BITS, Op
from chipmodel.model.work import Conv, Pool
from chipmodel.npu.ethos_blocks import (
    LARGEST,
    Counts,
    fits,
    input_block,
    mirrored,
    one_row,
    sides,
    tried_depths,
)
from chipmodel.npu.ethos_layers import SUB_KERNEL, Layer, is_depthwise, layer_of
from chipmodel.npu.ethos_stages import BlockSizes, Cycles, LayerParts

MOST_TRIED = 1 << 21
"""Blocks times parts of an op up to which all are looked at (assumed: some 50 ms)."""
BEST = 3
"""Numbers of rows of which the exact cycles are looked at, too: those here may be a little less."""
BAND = 4
"""Channels that take as long to look at as a width of bands (assumed)."""
MOST_COUNTED = 33
"""Parts beyond which more of them cost as much (assumed)."""
NEAR = 1e-9
"""Blocks that cost the compiler so little more than the cheapest one may be its choice."""


def least_part_cycles(
    ethos: EthosNpu, kind: str, work: Conv | Pool, bits: int, depthwise: bool, columns: bool
) -> float:
    """The least cycles of ``work`` in any stripes and slices, with ``columns`` also in the bands of a
    cascade. 0 where there are too many to look at, or several images or groups."""
    rows, channels, least = _least_sums(ethos, kind, work, bits, depthwise, False)
    least = max(least, _at_least(rows, 1), _at_least(channels, 1))
    if not columns:
        return least
    rows, bands, banded = _least_sums(ethos, kind, work, bits, depthwise, True)
    return min(least, max(banded, _at_least(rows, 1), _at_least(bands, 2)))


def least_block_cycles(
    ethos: EthosNpu, kind: str, work: Conv | Pool, bits: int, depthwise: bool, columns: bool
) -> float:
    """The least cycles of ``work`` in any parts, with ``columns`` also in bands, and in any blocks: those of
    the block that is best for an element of the output."""
    times, layer = layer_of(work, bits, depthwise)
    window, made = work.window, layer.output
    rows = work.batch * window.out_h  # a part may have rows of several images
    if window.in_w == window.kernel_w == window.out_w == 1:
        rows, made, columns = 1, replace(made, width=rows), True  # one line, which lies along the columns
    heights = {rows, 1} if layer.kernel[0] == 1 else {rows}
    sized = (replace(layer, output=replace(made, height=high)) for high in heights)
    least = min(_least_of_element(ethos, each, kind, window.transposed, columns) for each in sized)
    return times * layer.output.elements * least


@lru_cache(maxsize=1 << 14)
def _least_of_element(ethos: EthosNpu, layer: Layer, kind: str, rows_cut: bool, columns_cut: bool) -> float:
    """The least cycles of an output element. Parts of an axis that is cut read their share of the input, at
    least, and else as if they might read all of it (``part`` in ``chipmodel.model.work``)."""
    made, given = layer.output, layer.input
    most = round_up(min(made.depth, LARGEST[2]), ethos.block_depth)
    depths = np.arange(ethos.block_depth, most + 1, ethos.block_depth)
    deep, high, wide = np.meshgrid(depths, sides(ethos, layer, 0), sides(ethos, layer, 1), indexing="ij")
    read = input_block(ethos, layer, high, wide, deep)
    possible = fits(ethos, layer, (high, wide, deep), read)
    possible[:, 0, 0] = True  # what ``choose_block`` takes where no block fits
    blocks = BlockSizes(*(each[possible] for each in np.broadcast_arrays(deep, high, wide, *read)))
    tile = np.minimum(blocks.high, made.height), np.minimum(blocks.wide, made.width)
    most_high = given.height * (tile[0] / made.height if rows_cut else 1)
    most_wide = given.width * (tile[1] / made.width if columns_cut else 1)
    inside = np.minimum(blocks.read_high, most_high) * np.minimum(blocks.read_wide, most_wide)
    parts = LayerParts(ethos, layer, kind, *tile, np.minimum(blocks.deep, made.depth))
    return float((parts.least_of_blocks(blocks, inside) / (tile[0] * tile[1] * parts.channels)).min())


def _at_least(sums: Cycles, count: int) -> float:
    return float(sums[min(count, len(sums)) - 1])


def quickest_rows(ethos: EthosNpu | EthosU85, op: Op, channels: int) -> tuple[int, ...]:
    """The ``BEST`` numbers of rows for stripes, of which only the last one may have others, by the cycles of
    so many channels of ``op``; none that are as slow as all rows."""
    cycles = least_by_rows(ethos, op, channels)
    if cycles is None:
        return ()
    rows = np.arange(1, len(cycles) + 1)
    rest = len(cycles) % rows
    total = cycles * (len(cycles) // rows) + np.where(rest > 0, cycles[rest - 1], 0)
    best = rows[np.argsort(total, kind="stable")[:BEST]]
    return tuple(each for each in best.tolist() if total[each - 1] < total[-1])


def least_by_rows(
    ethos: EthosNpu | EthosU85, op: Op, channels: int, band: Band | None = None
) -> Cycles | None:
    """The least cycles of 1, 2, 3 ... rows by so many channels of ``op``, in all columns or those of a band;
    None where they are not known for all rows at once."""
    work = op.work
    if isinstance(ethos, EthosU85) or not isinstance(work, Conv | Pool):
        return None
    depthwise = is_depthwise(op, work)
    if _is_several(work, depthwise):
        return None
    part = work.part(work.rows, channels)
    if band is not None:
        part = replace(part, window=part.window.in_band(band.columns))
    layer = layer_of(part, DTYPE_BITS[op.dtype], depthwise)[1]
    return _cycles_by_rows(ethos, layer, op.kind, np.array([layer.output.depth]))[:, 0]


@lru_cache(maxsize=1 << 12)
def _least_sums(
    ethos: EthosNpu, kind: str, work: Conv | Pool, bits: int, depthwise: bool, bands: bool
) -> tuple[Cycles, Cycles, float]:
    """For 1, 2, 3 ... parts the least cycles of so many stripes, and of as many slices, or bands; and those
    of stripes that each are cut across in some way, or of slices, or bands, that are cut in stripes."""
    if _is_several(work, depthwise):
        return np.zeros(1), np.zeros(1), 0
    layer = layer_of(work, bits, depthwise)[1]
    whole, blocks = layer.output, len(tried_depths(ethos, layer.output.depth))
    blocks *= len(sides(ethos, layer, 0)) * len(sides(ethos, layer, 1))
    if blocks * whole.height * (BAND * whole.width if bands else whole.depth) > MOST_TRIED:
        return np.zeros(1), np.zeros(1), 0
    rows = np.arange(1, whole.height + 1)[:, None]
    across = np.arange(1, (whole.width if bands else whole.depth) + 1)
    if bands:
        each = np.full((len(rows), len(across)), np.inf)
        for band in dict.fromkeys(_bands(work, bits, depthwise)):
            at, cycles = band.output.width - 1, _cycles_by_rows(ethos, band, kind, np.array([whole.depth]))
            each[:, at] = np.minimum(each[:, at], cycles[:, 0])
    else:
        each = _cycles_by_rows(ethos, layer, kind, across)
    by_rows, by_parts = (each / across).min(axis=1), (each / rows).min(axis=0)
    least = min(_covered(_covered(each.T)[None].T), _covered(_covered(each)[None].T))
    return _sums(by_rows * len(across)), _sums(by_parts * len(rows)), float(least[0])


def _is_several(work: Conv | Pool, depthwise: bool) -> bool:
    """Whether parts of an op may have some of several images or groups, or are no parts of one layer."""
    window = work.window
    groups = work.batch > 1 or (isinstance(work, Conv) and work.groups > 1 and not depthwise)
    line = window.in_w == window.kernel_w == window.out_w == 1
    return groups or line or work.solid or window.transposed or (isinstance(work, Pool) and work.by_rows)


def _bands(work: Conv | Pool, bits: int, depthwise: bool) -> Iterator[Layer]:
    """All rows of any columns."""
    for start in range(work.window.out_w):
        for stop in range(start + 1, work.window.out_w + 1):
            window = work.window.in_band(Interval(start, stop))
            yield layer_of(replace(work, window=window), bits, depthwise)[1]


def _covered(costs: Cycles) -> Cycles:
    """For each column the least cost of lengths 1, 2, 3 ... that together cover the largest of them."""
    size = len(costs)
    least = np.zeros((size + 1, *costs.shape[1:]))
    for length in range(1, size + 1):
        # Longer parts than are left cost no less than one that covers just what is left, or are that part.
        rest = least[np.maximum(length - np.arange(1, size + 1), 0)]
        least[length] = (costs + rest).min(axis=0)
    whole: Cycles = least[-1]
    return whole


def _sums(costs: Cycles) -> Cycles:
    """The least costs of at least 1, 2, 3 ... lengths that together cover the largest of them."""
    lengths, size = np.arange(1, len(costs) + 1), len(costs)
    least = np.full(size + 1, costs.min())
    for length in lengths:
        rest = np.where(lengths < length, least[np.maximum(length - lengths, 0)], 0)
        least[length] = (costs + rest).min()
    found = [least[-1]]
    left = np.maximum(np.arange(size + 1)[:, None] - lengths, 0)
    for _ in range(1, min(size, MOST_COUNTED)):
        least = (costs + least[left]).min(axis=1)
        found.append(least[-1])
    return np.array(found)


def _cycles_by_rows(ethos: EthosNpu, layer: Layer, kind: str, channels: Counts) -> Cycles:
    """The least cycles of 1, 2, 3 ... rows of ``layer``, for so many channels each."""
    found = np.zeros((layer.output.height, len(channels)))
    line = replace(layer, output=replace(layer.output, height=1))
    first = int(len(found) > 1 and one_row(ethos, line))
    depths = [tuple(tried_depths(ethos, int(each))) for each in channels]
    for tried in dict.fromkeys(depths):
        (numbers,) = np.nonzero(np.array([each == tried for each in depths]))
        for part, start, stop in (line, 0, first), (layer, first, len(found)):
            rows = np.arange(start, stop)
            if len(rows):
                high, deep = np.meshgrid(rows + 1, channels[numbers], indexing="ij")
                sizes = high.ravel(), np.full(high.size, part.output.width), deep.ravel()
                cycles = _PartsInChosenBlocks(ethos, part, kind, *sizes).least(tried)
                found[np.ix_(rows, numbers)] = cycles.reshape(high.shape)
    return found


class _PartsInChosenBlocks(LayerParts):
    """Parts in the blocks that the compiler may take."""

    def least(self, depths: Sequence[int]) -> Cycles:
        """The least cycles in the blocks that the compiler may take; 0 where none fits."""
        tried = [sides(self.ethos, self.layer, axis) for axis in (0, 1)]
        deep, high, wide = np.meshgrid(np.array(depths, np.int64), *tried, indexing="ij")
        inside = input_block(self.ethos, self.layer, high, wide, deep)
        possible = fits(self.ethos, self.layer, (high, wide, deep), inside)
        possible &= mirrored(possible, tried)
        if not possible.any():
            return np.zeros(len(self.rows))
        blocks = [each[possible] for each in np.broadcast_arrays(deep, high, wide, *inside)]
        costs = self._costs(BlockSizes(*blocks))
        least = costs.min(axis=1)
        part, number = np.nonzero(costs <= least[:, None] * (1 + NEAR))
        sizes = (each[part] for each in (self.rows, self.columns, self.channels))
        chosen = _PartsInChosenBlocks(self.ethos, self.layer, self.kind, *sizes)
        found = np.full(len(self.rows), np.inf)
        np.minimum.at(found, part, chosen.cycles(BlockSizes(*(each[number] for each in blocks))))
        return np.where(np.isfinite(least), found, 0)

    def _costs(self, blocks: BlockSizes) -> Cycles:
        """What the compiler compares (``ethos_blocks``): elements that are read for each output element."""
        layer, (reach_h, reach_w) = self.layer, self.layer.reach
        sizes = self.rows, self.columns, self.channels, self.given
        rows, columns, channels, given = (each[:, None] for each in sizes)
        high = np.minimum(blocks.high, 1) if one_row(self.ethos, layer) else blocks.high
        repeats = -(-reach_w // SUB_KERNEL) * -(-reach_h // SUB_KERNEL)
        area = blocks.read_high * blocks.read_wide
        read = area * repeats / (high * blocks.wide) * (given / channels)
        read = read if layer.equal_depth else read * -(-channels // blocks.deep)
        weights = {"convolution": layer.input.depth, "depthwise": 1}.get(layer.traversal, 0)
        across = weights * reach_h * reach_w * -(-columns // blocks.wide) / columns
        costs = read + -(-rows // high) / rows * across
        twice = layer.input.height * layer.input.width * given < area * blocks.read_deep * 2
        most = -(-np.minimum(rows, LARGEST[0]) // self.ethos.block_height) * self.ethos.block_height
        return np.where(blocks.high <= most, np.where(twice, costs / 2, costs), np.inf)
