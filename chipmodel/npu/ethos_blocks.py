"""Which block of the output Ethos-U55 computes at a time: the choice that Arm's compiler Vela makes.

Of all blocks whose input and accumulators fit SHRAM twice, it takes the one that reads the fewest elements of
input and weights for each output element. Source: ethos-u-vela 5.2.0, architecture_allocator.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from chipmodel.geometry.rounding import round_up
from chipmodel.hardware.ethos_npu import EthosNpu
from chipmodel.npu.ethos_layers import BRICK, SUB_KERNEL, AlikeLayers, Counts, Layer, Sizes, input_depth

BANK_BYTES = 1024
OUTPUT_BANKS = 2
"""Banks of SHRAM that hold finished outputs."""
SPARE_BANKS = 2
"""Banks that no op may use, in a SHRAM of more than 16."""
LARGEST = (32, 64, 128)
"""Height, width and depth of the largest block."""
SQUARE = 4
"""Choose, of blocks that read equally much, the last of this many rows and columns at most that covers most
of the input is taken."""

Number = TypeVar("Number", int, Counts)

IMPOSSIBLE = np.finfo(np.float64).max
"""The cost of a block that does not fit, which is taken where none does."""


def banks(npu: EthosNpu) -> int:
    """Banks of SHRAM for inputs and accumulators."""
    return npu.shram_banks - OUTPUT_BANKS - (SPARE_BANKS if npu.shram_banks > 16 else 0)


class BlockSizes(NamedTuple):
    """Blocks of the output, or whole outputs, and the inputs that they are computed from."""

    output: Sizes
    input: Sizes


def choose_blocks(npu: EthosNpu, layers: AlikeLayers) -> BlockSizes:
    """The blocks that the compiler takes for ``layers``, which are all of one row or none is."""
    like, flat = layers.like, one_row(npu, layers.like)
    made, given = (Sizes(*(size[:, None] for size in sizes)) for sizes in (layers.made, layers.given))
    micro = npu.micro_block_depth
    depths_of = [tried_depths(depth, LARGEST[2], micro) for depth in layers.made.depth.tolist()]
    depths = sorted({depth for known in depths_of for depth in known})
    heights, widths = sides(npu, layers.made.height, 0), sides(npu, layers.made.width, 1)
    deep, high, wide = (each.ravel() for each in np.meshgrid(depths, heights, widths, indexing="ij"))
    tried = np.array([[depth in known for depth in depths] for known in depths_of])
    tried = tried.repeat(len(heights) * len(widths), axis=1)
    tried &= (high <= _largest(npu, made.height, 0)) & (wide <= _largest(npu, made.width, 1))
    inside = input_block(npu, like, high, wide, deep)
    fitting = fits(npu, like, (high, wide, deep), inside, flat)
    before, exchanged = _mirrored(len(depths), heights, widths)
    possible = tried & fitting & ~((before & ~fitting[exchanged]) & tried[:, exchanged])
    if possible.any(axis=1).all():
        number = np.flatnonzero(possible.any(axis=0))
        high, wide, deep = high[number], wide[number], deep[number]
        inside = inside[0][number], inside[1][number], inside[2][number]
        possible = tried = possible[:, number]
    cost = _cost(like, BlockSizes(made, given), (np.minimum(high, 1) if flat else high, wide, deep), inside)
    cost = np.where(tried, np.where(possible, cost, IMPOSSIBLE), np.inf)
    chosen = cheapest(given, cost, (high, wide), inside)
    output, read = ([each[chosen] for each in sizes] for sizes in ((high, wide, deep), inside))
    return BlockSizes(Sizes(*output), Sizes(*read))


def sides(npu: EthosNpu, sizes: Counts | int, axis: int) -> Counts:
    """The heights (axis 0) or widths of blocks that are tried for outputs of such sizes."""
    micro = (npu.micro_block_height, npu.micro_block_width)[axis]
    return np.arange(micro, _largest(npu, sizes, axis).max() + 1, micro, dtype=np.int64)


def _largest(npu: EthosNpu, sizes: Counts | int, axis: int) -> Counts:
    micro = (npu.micro_block_height, npu.micro_block_width)[axis]
    return np.asarray(-(-np.minimum(sizes, LARGEST[axis]) // micro) * micro)


def tried_depths(depth: int, largest: int, micro: int) -> list[int]:
    """The depths of blocks that are tried for ``depth`` output channels, in micro-blocks of ``micro``: whole
    bricks in one that does not have all channels."""
    most = round_up(min(depth, largest), micro)
    depths, tried = list[int](), max(micro, min(most, BRICK))
    while True:
        tried = round_up(tried, BRICK) if tried < depth else tried
        if tried > most:
            return depths
        depths.append(tried)
        tried += micro


def input_block(
    npu: EthosNpu, layer: Layer, high: Counts, wide: Counts, depth: Counts
) -> tuple[Counts, Counts, Counts]:
    """Rows, columns and channels of the input that is read for output blocks of such sizes."""
    rows, columns = input_sides(layer, (npu.micro_block_height, npu.micro_block_width), high, wide)
    return rows, columns, depth if layer.equal_depth else np.full_like(depth, input_depth(layer))


def input_sides(layer: Layer, units: tuple[int, int], high: Number, wide: Number) -> tuple[Number, Number]:
    """Rows and columns of the input, in whole ``units``, that are read for output blocks of such sizes."""
    extents = list[Number]()
    for size, stride, reach, unit in zip((high, wide), layer.stride, layer.reach, units, strict=True):
        needed = -(-((size - 1) * stride + min(reach, SUB_KERNEL)) // layer.upscale)
        extents.append(-(-needed // unit) * unit)
    return extents[0], extents[1]


def one_row(npu: EthosNpu, layer: Layer) -> bool:
    """Whether the output is one row of a kernel of one row, along which a micro-block of two rows lies."""
    return npu.micro_block_height == 2 and layer.output.height == 1 and layer.kernel[0] == 1


def fits(
    npu: EthosNpu, layer: Layer, output: tuple[Counts, ...], inside: Sequence[Counts], flat: bool
) -> NDArray[np.bool_]:
    """Whether input and accumulators fit SHRAM, both twice; of a ``flat`` output, one row of them."""
    high, wide, depth = output
    high = np.minimum(high, 1) if flat else high
    in_high, in_wide, in_depth = inside
    input_bytes = in_high * in_wide * (-(-in_depth * layer.bits // 64) * 8)
    granule = npu.shram_wide_accumulator_granule if layer.wide else npu.shram_accumulator_granule
    sums = high * wide * (-(-depth // 8) * 8) * (40 if layer.wide else 32) // 8
    inputs, accumulators = _banks(input_bytes, npu.shram_input_granule), _banks(sums, granule)
    return np.asarray(inputs + accumulators <= banks(npu))


def _banks(size: Counts, granule: int) -> Counts:
    return np.asarray(-(-(-(-size // BANK_BYTES) * 2) // granule) * granule)


def _mirrored(depths: int, heights: Counts, widths: Counts) -> tuple[NDArray[np.bool_], Counts]:
    """Return of each block whether that of exchanged height and width may be tried before it, and which one
    that is."""
    depth, high, wide = np.meshgrid(np.arange(depths), heights, widths, indexing="ij")
    row, row_rest = np.divmod(wide, heights[0])
    column, column_rest = np.divmod(high, widths[0])
    before = (high > wide) & (row_rest == 0) & (column_rest == 0) & (high <= widths[-1])
    row, column = np.minimum(row, len(heights)) - 1, np.minimum(column, len(widths)) - 1
    return before.ravel(), ((depth * len(heights) + row) * len(widths) + column).ravel()


def _cost(
    layer: Layer, whole: BlockSizes, block: tuple[Counts, ...], inside: Sequence[Counts]
) -> NDArray[np.float64]:
    """Elements of input and weights that are read for each output element of outputs that are ``whole``."""
    (high, wide, depth), (made, given) = block, whole
    area, (reach_h, reach_w) = inside[0] * inside[1], layer.reach
    repeats = -(-reach_w // SUB_KERNEL) * -(-reach_h // SUB_KERNEL)
    read = area * given.depth * repeats * ((made.height / high) * (made.width / wide))
    if not layer.equal_depth:
        read = read * -(-made.depth // depth)
    if layer.traversal in ("convolution", "depthwise"):
        tiles = -(-made.height // high) * -(-made.width // wide)
        weights = (reach_w * reach_h * given.depth * tiles).astype(np.float64)
        read = read + (
            weights * (depth * (made.depth / depth)) if layer.traversal == "convolution" else weights
        )
    cost = read / made.elements
    return np.asarray(np.where(given.elements < area * inside[2] * 2, cost / 2, cost))


def cheapest(
    given: Sizes,
    cost: NDArray[np.float64 | np.float32],
    sides: tuple[Counts, Counts],
    inside: Sequence[Counts],
) -> Counts:
    """The number of the block that is taken for each layer, by its input and the costs of all blocks."""
    first: Counts = cost.argmin(axis=1)[:, None]
    numbers = np.arange(cost.shape[1], dtype=np.int64)
    equal: NDArray[np.bool_] = (cost == np.take_along_axis(cost, first, 1)) & (numbers > first)
    equal &= (sides[0] <= SQUARE) & (sides[1] <= SQUARE)
    covered = np.minimum(inside[0], given.height) * np.minimum(inside[1], given.width)
    last = len(numbers) - 1 - np.where(equal, covered, -1)[:, ::-1].argmax(axis=1)
    first[equal.any(axis=1), 0] = last[equal.any(axis=1)]
    return first[:, 0]
