"""Which block of the output Ethos-U55 computes at a time: the choice that Arm's compiler Vela makes.

Of all blocks whose input and accumulators fit SHRAM twice, it takes the one that reads the fewest elements of
input and weights for each output element. Source: ethos-u-vela 5.2.0, architecture_allocator.py.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from chipmodel.geometry.rounding import round_up
from chipmodel.hardware.ethos_npu import EthosNpu
from chipmodel.npu.ethos_layers import SUB_KERNEL, Layer, Size, input_depth
from chipmodel.records import dataclass

BANK_BYTES = 1024
OUTPUT_BANKS = 2
"""Banks of SHRAM that hold finished outputs."""
SPARE_BANKS = 2
"""Banks that no op may use, in a SHRAM of more than 16."""
LARGEST = (32, 64, 128)
"""Height, width and depth of the largest block."""
DEPTH_STEP = 16
"""A block that does not have all output channels has a multiple of this many."""
SQUARE = 4
"""Choose, of blocks that read equally much, the last of this many rows and columns at most that covers most
of the input is taken."""

Counts = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Block:
    """What is computed at a time: the block of the output, and the input that it is computed from."""

    output: Size
    input: Size


def banks(npu: EthosNpu) -> int:
    """Banks of SHRAM for inputs and accumulators."""
    return npu.shram_banks - OUTPUT_BANKS - (SPARE_BANKS if npu.shram_banks > 16 else 0)


@lru_cache(maxsize=1 << 14)
def choose_block(npu: EthosNpu, layer: Layer) -> Block:
    """The block that the compiler takes for ``layer``."""
    tried = [sides(npu, layer, axis) for axis in (0, 1)]
    depths = np.array(tried_depths(npu, layer.output.depth), np.int64)
    grid = np.meshgrid(depths, *tried, indexing="ij")
    depth, high, wide = grid
    inside = input_block(npu, layer, high, wide, depth)
    possible = fits(npu, layer, (high, wide, depth), inside)
    possible &= _mirrored(possible, tried)
    cost = np.where(possible, _cost(npu, layer, (high, wide, depth), inside), np.inf).ravel()
    number = cheapest(layer, cost, (high, wide), inside)
    output = Size(int(high.flat[number]), int(wide.flat[number]), int(depth.flat[number]))
    return Block(output, Size(*(int(each.flat[number]) for each in inside)))


def sides(npu: EthosNpu, layer: Layer, axis: int) -> Counts:
    """The heights (axis 0) or widths of blocks that are tried."""
    micro = (npu.block_height, npu.block_width)[axis]
    size = (layer.output.height, layer.output.width)[axis]
    return np.arange(micro, round_up(min(size, LARGEST[axis]), micro) + 1, micro, dtype=np.int64)


def tried_depths(npu: EthosNpu, depth: int) -> list[int]:
    """Return the depths of blocks that are tried for so many output channels."""
    micro, depths = npu.block_depth, list[int]()
    most = round_up(min(depth, LARGEST[2]), micro)
    tried = max(micro, min(most, DEPTH_STEP))
    while True:
        tried = round_up(tried, DEPTH_STEP) if tried < depth else tried
        if tried > most:
            return depths
        depths.append(tried)
        tried += micro


def input_block(
    npu: EthosNpu, layer: Layer, high: Counts, wide: Counts, depth: Counts
) -> tuple[Counts, Counts, Counts]:
    """Rows, columns and channels of the input that is read for output blocks of such sizes."""
    extents = list[Counts]()
    for size, stride, reach, micro in zip(
        (high, wide), layer.stride, layer.reach, (npu.block_height, npu.block_width), strict=True
    ):
        needed = -(-((size - 1) * stride + min(reach, SUB_KERNEL)) // layer.upscale)
        extents.append(-(-needed // micro) * micro)
    if not layer.equal_depth:
        depth = np.full_like(depth, input_depth(layer))
    return extents[0], extents[1], depth


def one_row(npu: EthosNpu, layer: Layer) -> bool:
    """Whether the output is one row of a kernel of one row, along which a micro-block of two rows lies."""
    return npu.block_height == 2 and layer.output.height == 1 and layer.kernel[0] == 1


def fits(
    npu: EthosNpu, layer: Layer, output: tuple[Counts, ...], inside: tuple[Counts, Counts, Counts]
) -> NDArray[np.bool_]:
    """Whether input and accumulators fit SHRAM, both twice."""
    high, wide, depth = output
    if one_row(npu, layer):
        high = np.minimum(high, 1)
    in_high, in_wide, in_depth = inside
    input_bytes = in_high * in_wide * (-(-in_depth * layer.bits // 64) * 8)
    granule = npu.wide_accumulator_granule if layer.wide else npu.accumulator_granule
    sums = high * wide * (-(-depth // 8) * 8) * (40 if layer.wide else 32) // 8
    inputs, accumulators = _banks(input_bytes, npu.input_granule), _banks(sums, granule)
    return np.asarray(inputs + accumulators <= banks(npu))


def _banks(size: Counts, granule: int) -> Counts:
    return np.asarray(-(-(-(-size // BANK_BYTES) * 2) // granule) * granule)


def _mirrored(possible: NDArray[np.bool_], tried: list[Counts]) -> NDArray[np.bool_]:
    """Return where the block of exchanged height and width fits, or is not tried before the block itself."""
    heights, widths = tried[0][:, None], tried[1]
    row, row_rest = np.divmod(widths, tried[0][0])
    column, column_rest = np.divmod(heights, tried[1][0])
    before = (heights > widths) & (row_rest == 0) & (column_rest == 0) & (heights <= widths[-1])
    exchanged = np.minimum(row, len(heights)) - 1, np.minimum(column, len(widths)) - 1
    return np.asarray(~before | possible[:, *exchanged])


def _cost(
    npu: EthosNpu, layer: Layer, output: tuple[Counts, ...], inside: tuple[Counts, Counts, Counts]
) -> NDArray[np.float64]:
    """Elements of input and weights that are read for each output element."""
    high, wide, depth = output
    if one_row(npu, layer):
        high = np.minimum(high, 1)
    made, given = layer.output, layer.input
    down, across, layers = -(-made.height // high), -(-made.width // wide), -(-made.depth // depth)
    area, (reach_h, reach_w) = inside[0] * inside[1], layer.reach
    repeats = -(-reach_w // SUB_KERNEL) * -(-reach_h // SUB_KERNEL)
    read = area * given.depth * repeats * ((made.height / high) * (made.width / wide))
    if not layer.equal_depth:
        read = read * layers
    weights = np.zeros_like(read)
    if layer.traversal in ("convolution", "depthwise"):
        weights = (reach_w * reach_h * given.depth * (down * across)).astype(np.float64)
        if layer.traversal == "convolution":
            weights = weights * (depth * (made.depth / depth))
    cost = (read + weights) / made.elements
    return np.asarray(np.where(given.elements < area * inside[2] * 2, cost / 2, cost))


def cheapest(
    layer: Layer, cost: NDArray[np.float64], output: tuple[Counts, Counts], inside: tuple[Counts, ...]
) -> int:
    """The number of the block that is taken."""
    first = int(np.argmin(cost))
    high, wide = (each.ravel() for each in output)
    equal = (cost == cost[first]) & (high <= SQUARE) & (wide <= SQUARE)
    equal[: first + 1] = False
    (others,) = np.nonzero(equal)
    if not len(others):
        return first
    covered = np.minimum(inside[0], layer.input.height) * np.minimum(inside[1], layer.input.width)
    most = covered.ravel()[others]
    return int(others[np.flatnonzero(most == most.max())[-1]])
