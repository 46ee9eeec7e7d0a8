"""The least cycles of windows on Ethos-U55 in parts, each in the block of the output that Vela takes for it.

Parts are some rows by some output channels; in a cascade some rows, by all channels, of some columns. A line
of elements along an axis lies in parts that cover it. So an op takes as long, at least, as the cheapest
lengths that add up to that axis, if a part of a length counts what the cheapest one takes for each element.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from chipmodel.geometry.interval import Interval
from chipmodel.geometry.rounding import round_up
from chipmodel.geometry.window import Window
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
MOST_EQUAL = 1 << 15
"""The same of blocks that may be the compiler's choice (assumed: pooling without overlap has many)."""
BAND = 4
"""Channels that take as long to look at as a width of bands (assumed)."""
NEAR = 1e-9
"""Blocks that cost the compiler so little more than the cheapest one may be its choice."""


def least_part_cycles(
    ethos: EthosNpu, kind: str, work: Conv | Pool, bits: int, depthwise: bool, columns: bool
) -> float:
    """The least cycles of ``work`` in any stripes and slices, with ``columns`` also in the bands of a
    cascade. 0 where there are too many to look at, or several images or groups."""
    least = _least_covered(ethos, kind, work, bits, depthwise, False)
    return min(least, _least_covered(ethos, kind, work, bits, depthwise, True)) if columns else least


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
    blocks = BlockSizes(*(array[possible] for array in np.broadcast_arrays(deep, high, wide, *read)))
    tile = np.minimum(blocks.high, made.height), np.minimum(blocks.wide, made.width)
    most_high = given.height * (tile[0] / made.height if rows_cut else 1)
    most_wide = given.width * (tile[1] / made.width if columns_cut else 1)
    inside = np.minimum(blocks.read_high, most_high) * np.minimum(blocks.read_wide, most_wide)
    parts = LayerParts(ethos, layer, kind, *tile, np.minimum(blocks.deep, made.depth))
    return float((parts.least_of_blocks(blocks, inside) / (tile[0] * tile[1] * parts.channels)).min())


def least_by_rows(
    ethos: EthosNpu | EthosU85, op: Op, channels: Sequence[int], band: Band | None
) -> dict[int, Cycles]:
    """The least cycles of 1, 2, 3 ... rows of ``op``, in all columns or those of a band, by all of its
    channels, and by each of ``channels`` where those of any are known. Nothing where they are not known for
    all rows at once."""
    work = op.work
    if isinstance(ethos, EthosU85) or not isinstance(work, Conv | Pool):
        return {}
    depthwise, bits = is_depthwise(op, work), DTYPE_BITS[op.dtype]
    if _is_several(work, depthwise):
        return {}
    if band is not None:
        work = replace(work, window=work.window.in_band(band.columns))
    layer = layer_of(work, bits, depthwise)[1]
    every = _of_all_channels(ethos, layer, op.kind) if band is None else None
    if every is not None and every.all():
        return {width: every[:, width - 1] for width in channels}
    whole = np.array([layer.output.depth])
    return {work.channels: _cycles_by_rows(ethos, layer, op.kind, _of_channels(layer, whole))[:, 0]}


@lru_cache(maxsize=1 << 8)
def _of_all_channels(ethos: EthosNpu, layer: Layer, kind: str) -> Cycles | None:
    """The least cycles of 1, 2, 3 ... rows by 1, 2, 3 ... channels; None where they are too many."""
    if _places(ethos, layer) * layer.output.height * layer.output.depth > MOST_TRIED:
        return None
    return _cycles_by_rows(ethos, layer, kind, _of_channels(layer, np.arange(1, layer.output.depth + 1)))


def _places(ethos: EthosNpu, layer: Layer) -> int:
    """How many blocks the compiler tries at most."""
    across = len(sides(ethos, layer, 0)) * len(sides(ethos, layer, 1))
    return len(tried_depths(ethos, layer.output.depth)) * across


@lru_cache(maxsize=1 << 12)
def _least_covered(
    ethos: EthosNpu, kind: str, work: Conv | Pool, bits: int, depthwise: bool, bands: bool
) -> float:
    """The least cycles of stripes that each are cut across in some way, or of slices, or ``bands``, that are
    cut in stripes; of bands no less than of two or more by their quickest rows. 0 where there are too many to
    look at, or several images or groups."""
    layer = layer_of(work, bits, depthwise)[1]
    if _is_several(work, depthwise):
        return 0
    if not bands:
        every = _of_all_channels(ethos, layer, kind)
        return 0 if every is None else _least_of_all(every)
    whole = layer.output
    if _places(ethos, layer) * whole.height * BAND * whole.width > MOST_TRIED:
        return 0
    columns, read = np.array(sorted(band_widths(work.window))).T
    across = _Across(columns, read, np.full_like(columns, whole.depth))
    each = np.full((whole.height, whole.width), np.inf)
    np.minimum.at(each.T, across.columns - 1, _cycles_by_rows(ethos, layer, kind, across).T)
    quickest = (each / np.arange(1, whole.height + 1)[:, None]).min(axis=0)
    # Coverings take no less than shares of their parts' quickest rows, so only that these are two may count.
    rest = np.maximum(_covered(quickest)[-2::-1], quickest.min())
    return max(_least_of_all(each), whole.height * float((quickest + rest).min()))


def _least_of_all(each: Cycles) -> float:
    """The least cycles of rows that each are cut across, or of parts across that are cut in rows."""
    across = _covered(np.vstack((each, _covered(each.T)[:, -1])))[:, -1]
    return float(min(_covered(across[:-1])[-1], across[-1]))


def _is_several(work: Conv | Pool, depthwise: bool) -> bool:
    """Whether parts of an op may have some of several images or groups, or are no parts of one layer."""
    window = work.window
    groups = work.batch > 1 or (isinstance(work, Conv) and work.groups > 1 and not depthwise)
    line = window.in_w == window.kernel_w == window.out_w == 1
    return groups or line or work.solid or window.transposed or (isinstance(work, Pool) and work.by_rows)


def _covered(costs: Cycles) -> Cycles:
    """For each row the least cost of lengths 1, 2, 3 ... that together cover 0, 1, 2, 3 ... of them."""
    size = costs.shape[-1]
    least = np.zeros((*costs.shape[:-1], size + 1))
    least[..., 1:] = np.minimum.accumulate(costs[..., ::-1], axis=-1)[..., ::-1]
    for length in range(2, size + 1):
        half = length // 2
        both = least[..., 1 : half + 1] + least[..., length - 1 : length - half - 1 : -1]
        least[..., length] = np.minimum(least[..., length], both.min(axis=-1))
    return least


class _Across(NamedTuple):
    """Parts across the rows: of so many columns, by as many of the input, and channels."""

    columns: Counts
    read: Counts
    channels: Counts


def _of_channels(layer: Layer, channels: Counts) -> _Across:
    """All columns of so many channels."""
    columns, read = (np.full_like(channels, each.width) for each in (layer.output, layer.input))
    return _Across(columns, read, channels)


def band_widths(window: Window) -> set[tuple[int, int]]:
    """Return the columns of any bands, and those of their inputs. Only bands that touch a border, or the
    padding there, read fewer columns than others of their width."""
    reach, size = window.dilation_w * (window.kernel_w - 1) + 1, window.out_w
    left = -(-window.pad_left // window.stride_w)
    right = (window.in_w + window.pad_left - reach) // window.stride_w
    widths = set[tuple[int, int]]()
    for wide in range(1, size + 1):
        last = size - wide
        for start in {*range(min(left, last) + 1), *range(max(0, right - wide), last + 1)}:
            widths.add((wide, window.in_band(Interval(start, start + wide)).in_w))
    return widths


def _cycles_by_rows(ethos: EthosNpu, layer: Layer, kind: str, across: _Across) -> Cycles:
    """The least cycles of 1, 2, 3 ... rows of ``layer``, for each of the parts across."""
    rows = np.arange(1, layer.output.height + 1)
    line = replace(layer, output=replace(layer.output, height=1))
    if len(rows) == 1 or not one_row(ethos, line):
        return _InChosenBlocks(ethos, layer, kind, across).cycles(rows)
    each = ((line, rows[:1]), (layer, rows[1:]))
    return np.concatenate([_InChosenBlocks(ethos, part, kind, across).cycles(some) for part, some in each])


class _InChosenBlocks:
    """Parts in the blocks that the compiler may take. Blocks of some rows and columns differ in their depth,
    of which the largest one that fits reads least."""

    def __init__(self, ethos: EthosNpu, layer: Layer, kind: str, across: _Across) -> None:
        self.ethos, self.layer, self.kind, self.across = ethos, layer, kind, across
        tried, unit = [sides(ethos, layer, axis) for axis in (0, 1)], ethos.block_depth
        most = -(-np.minimum(across.channels, LARGEST[2]) // unit) * unit
        widest = -(-np.minimum(across.columns, LARGEST[1]) // ethos.block_width) * ethos.block_width
        tried_alike = most * (LARGEST[1] + ethos.block_width) + widest
        _, first, self.group = np.unique(tried_alike, return_index=True, return_inverse=True)
        most, widest = most[first], widest[first, None, None, None]
        self.depths: Counts = np.arange(unit, int(most[-1]) + 1, unit, dtype=np.int64)
        deep, high, wide = self.depths[:, None, None], tried[0][:, None], tried[1]
        inside = input_block(ethos, layer, high, wide, deep)
        possible = fits(ethos, layer, (high, wide, deep), inside)
        of_depth = np.zeros((len(most), len(self.depths)), np.bool_)
        for each, depth in zip(of_depth, most.tolist(), strict=True):
            each[np.array(tried_depths(ethos, depth)) // unit - 1] = True
        possible = of_depth[:, :, None, None] & possible & mirrored(possible, tried, widest)
        self.possible = (possible & (wide <= widest)).reshape(*of_depth.shape, -1)
        """Whether the compiler may take a block, for groups of parts, depths, and rows by columns."""
        flat = np.broadcast_arrays(high, wide, *inside[:2])
        self.high, self.wide, self.read_high, self.read_wide = (each.ravel() for each in flat)
        self.read_deep = self.depths if layer.equal_depth else np.full_like(self.depths, inside[2].flat[0])
        channels = across.channels
        self.given = channels if layer.equal_depth else np.full_like(channels, layer.input.depth)

    def cycles(self, rows: Counts) -> Cycles:
        """The least cycles of so many rows, for each of the parts across; 0 where no block fits, and where
        too many may be the choice for several parts."""
        across, deepest = self.across, (self.possible * self.depths[:, None]).max(axis=1)[self.group]
        costs = self._costs(rows, deepest)
        least = costs.min(axis=2)
        row, part, place = np.nonzero(costs <= (least * (1 + NEAR))[:, :, None])
        if len(across.columns) > 1 and len(place) > MOST_EQUAL:
            return np.zeros_like(least)
        equal = self._depth_counts(part[:, None], self.depths, place[:, None])
        equal = equal == self._depth_counts(part, deepest[part, place], place)[:, None]
        each, deep = np.nonzero(self.possible[self.group[part], :, place] & equal)
        row, part, place = row[each], part[each], place[each]
        read = self.read_high[place], self.read_wide[place], self.read_deep[deep]
        sizes = rows[row], across.columns[part], across.channels[part]
        parts = LayerParts(self.ethos, self.layer, self.kind, *sizes)
        blocks = BlockSizes(self.depths[deep], self.high[place], self.wide[place], *read)
        fewest = np.full(least.shape, np.inf)
        np.minimum.at(fewest, (row, part), parts.cycles(blocks, across.read[part]))
        return np.where(np.isfinite(least), fewest, 0)

    def _depth_counts(self, part: Counts, deep: Counts, place: Counts) -> Counts:
        """What ``deep`` blocks read by besides their rows and columns: how many there are along the channels,
        or where an output channel is made of one input channel, whether they read ``_twice``."""
        if not self.layer.equal_depth:
            return -(-self.across.channels[part] // np.maximum(deep, 1))
        return self._twice(part, deep, place).astype(np.int64)

    def _twice(self, part: Counts, read_deep: Counts, place: Counts) -> NDArray[np.bool_]:
        """Whether all of the input is less than that of two blocks, which counts half."""
        read = self.layer.input.height * self.across.read[part] * self.given[part]
        return np.asarray(read < self.read_high[place] * self.read_wide[place] * read_deep * 2)

    def _costs(self, rows: Counts, deepest: Counts) -> Cycles:
        """What the compiler compares (``ethos_blocks``): elements that are read for each output element."""
        layer, (reach_h, reach_w) = self.layer, self.layer.reach
        columns, channels = self.across.columns[:, None], self.across.channels[:, None]
        high = np.minimum(self.high, 1) if one_row(self.ethos, layer) else self.high
        repeats = -(-reach_w // SUB_KERNEL) * -(-reach_h // SUB_KERNEL)
        area = self.read_high * self.read_wide
        read = area * repeats / (high * self.wide) * (self.given[:, None] / channels)
        read = read if layer.equal_depth else read * -(-channels // np.maximum(deepest, 1))
        weights = {"convolution": layer.input.depth, "depthwise": 1}.get(layer.traversal, 0)
        down = weights * reach_h * reach_w * -(-columns // self.wide) / columns
        parts, places = np.ogrid[: len(columns), : len(self.wide)]
        read_deep = deepest if layer.equal_depth else self.read_deep[0]
        scale = np.where(self._twice(parts, read_deep, places), 0.5, 1)
        costs: Cycles = (-(-rows[:, None] // high) / rows[:, None])[:, None] * (down * scale)
        costs += np.where(deepest > 0, read * scale, np.inf)
        most = -(-np.minimum(rows, LARGEST[0]) // self.ethos.block_height) * self.ethos.block_height
        np.copyto(costs, np.inf, where=(self.high > most[:, None])[:, None])
        return costs
