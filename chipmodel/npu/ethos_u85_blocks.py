"""Which block of the output Ethos-U85 computes at a time, and in which micro-blocks: Arm's compiler's choice.

The micro-block is the one that leaves the fewest elements over. Of blocks of convolutions and dense layers
that fit twice, the one is taken that reads the fewest elements of input and weights for each output element;
those of depthwise convolutions and pooling keep the aspect of the output. Source: ethos-u-vela 5.2.0,
ethos_u85.cpp.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from math import prod, sqrt

import numpy as np
from numpy.typing import NDArray

from chipmodel.geometry.rounding import ceil_div, round_up
from chipmodel.hardware.ethos_u85 import EthosU85, MicroBlock
from chipmodel.npu.ethos_blocks import cheapest, input_sides, tried_depths
from chipmodel.npu.ethos_layers import BRICK, SUB_KERNEL, Counts, Layer, Size, Sizes
from chipmodel.records import dataclass

LARGEST = (128, 128, 1024)
"""Height, width and depth of the largest block."""
WEIGHTS_AHEAD = 64
"""Input channels of a block of convolutions by depth."""


@dataclass(frozen=True, slots=True)
class U85Block:
    """What is computed at a time, and in which steps."""

    output: Size
    input: Size
    micro: Size
    by_kernel: bool
    """Whether a step takes several elements of the kernel."""


@lru_cache(maxsize=1 << 14)
def choose_u85_block(npu: EthosU85, layer: Layer) -> U85Block:
    """The block that the compiler takes for ``layer``."""
    down, across = layer.stride
    lines = layer.output.height > 1, layer.output.width > 1
    layer = replace(layer, stride=(down if lines[0] else 1, across if lines[1] else 1))
    if layer.equal_depth:
        micro = micro_block(npu, layer, "depthwise")
        output, inside = _by_aspect(npu, layer, micro)
        return U85Block(output, inside, Size(*micro.output), False)
    by_kernel = takes_kernel_first(layer)
    works = ("dense",) if by_kernel or layer.kernel != (1, 1) else ("dense", "point")
    micro = micro_block(npu, layer, *works)
    output, inside = _by_reads(npu, layer, micro, block_channels(npu, micro, by_kernel))
    return U85Block(output, inside, Size(*micro.output), by_kernel)


def takes_kernel_first(layer: Layer) -> bool:
    """Whether a step takes several elements of the kernel by 16 channels rather than one by 64: whichever
    leaves fewer multipliers idle."""
    elements, depth = layer.kernel[0] * layer.kernel[1], layer.input.depth
    whole, rest = divmod(elements, 5)
    by_kernel = depth / round_up(depth, 16) * (elements / (whole * 5 + max(rest, 2)))
    return by_kernel >= depth / round_up(depth, WEIGHTS_AHEAD)


def micro_block(npu: EthosU85, layer: Layer, *works: str) -> MicroBlock:
    """The micro-block for one of ``works`` that leaves the fewest elements over, the first of several."""
    made, wide = layer.output, layer.bits == 16

    def covered(each: MicroBlock) -> int:
        pairs = zip((made.height, made.width, made.depth), each.output, strict=True)
        return prod(round_up(size, unit) for size, unit in pairs)

    usable = [each for each in npu.variant.micro_blocks if set(works) & set(each.works[wide].split())]
    return min(usable, key=covered)


def block_channels(npu: EthosU85, micro: MicroBlock, by_kernel: bool) -> int:
    """Input channels of a block of convolutions and dense layers."""
    if by_kernel:
        return 16
    return 32 if npu.macs <= 256 and micro.output[2] == 16 else WEIGHTS_AHEAD


def _unit(layer: Layer, micro: MicroBlock, depth: int) -> Size:
    """The unit in which the RAM of inputs is given to blocks of so many input channels."""
    taken = depth * layer.bits
    high, wide, bricks = micro.inputs[(taken > 128) + (taken > 256)]
    return Size(high, wide, bricks * 128 // layer.bits)


def _sums_bits(layer: Layer) -> int:
    return 64 if layer.wide else 32


def _by_reads(npu: EthosU85, layer: Layer, micro: MicroBlock, channels: int) -> tuple[Size, Size]:
    """The block of the output, and its input, that reads least."""
    sides = zip((layer.output.height, layer.output.width), LARGEST[:2], micro.output[:2], strict=True)
    tried = [np.arange(step, round_up(min(size, most), step) + 1, step) for size, most, step in sides]
    depths = tried_depths(max(layer.output.depth, BRICK), LARGEST[2], micro.output[2])
    deep, high, wide = np.meshgrid(np.array(depths), *tried, indexing="ij")
    unit = _unit(layer, micro, channels)
    read_high, read_wide = input_sides(layer, (unit.height, unit.width), high, wide)
    inputs = round_up(min(channels, layer.input.depth), unit.depth) * layer.bits // 8
    sums = high * wide * (-(-deep // BRICK) * BRICK) * _sums_bits(layer) // 8
    possible: NDArray[np.bool_] = np.zeros(high.shape, np.bool_)
    for times in (2, 1):
        possible = (read_high * read_wide * inputs * times <= npu.variant.input_ram) & (
            sums * times <= npu.variant.accumulator_ram
        )
        if possible.any():
            break
    else:
        possible[0, 0, 0] = True
    inside = read_high, read_wide, np.full_like(deep, round_up(channels, unit.depth))
    cost = _cost(layer, (high, wide, deep), inside)
    given = Sizes(*map(np.array, (layer.input.height, layer.input.width, layer.input.depth)))
    costs, flat = np.where(possible, cost, np.inf).reshape(1, -1), [each.ravel() for each in inside]
    number = int(cheapest(given, costs, (high.ravel(), wide.ravel()), flat)[0])
    output = Size(int(high.flat[number]), int(wide.flat[number]), int(deep.flat[number]))
    return output, Size(int(read_high.flat[number]), int(read_wide.flat[number]), channels)


def _cost(layer: Layer, block: tuple[Counts, ...], inside: tuple[Counts, ...]) -> NDArray[np.float32]:
    """Elements that are read for an output element, in the compiler's single precision, which decides between
    equals; of a kernel as large as the input, which reads it once, how many blocks there are."""
    made, single = layer.output, np.float32
    elements = single(made.elements)
    sides = made.height, made.width, made.depth
    parts = [single(size) / each.astype(single) for size, each in zip(sides, block, strict=True)]
    whole = [np.ceil(part) for part in parts]
    if layer.reach == (layer.input.height, layer.input.width) and made.height * made.width == 1:
        cost = elements / (block[0].astype(single) * block[1].astype(single) * block[2].astype(single))
    else:
        depth = single(layer.input.depth)
        weights = single(layer.kernel[0] * layer.kernel[1]) * depth * (whole[0] * whole[1])
        repeats = single(prod(ceil_div(reach, SUB_KERNEL) for reach in layer.reach))
        area = (inside[0] * inside[1]).astype(single)
        read = area * depth * repeats * (parts[0] * parts[1]) * whole[2]
        cost = (read + weights * (parts[2] * block[2].astype(single))) / elements
    twice = layer.input.elements < inside[0] * inside[1] * inside[2] * 2
    return np.asarray(np.where(twice, cost / single(2), cost), single)


def _by_aspect(npu: EthosU85, layer: Layer, micro: MicroBlock) -> tuple[Size, Size]:
    """The block of depthwise convolutions and pooling, and its input: large, of the output's aspect and, if
    there are several, with room for the rows of input that the next one needs."""
    step = Size(micro.output[0], micro.output[1], BRICK)
    made = _rounded(layer.output, step)
    room = npu.variant.input_ram * 8 // layer.bits
    block, forced = _largest(npu, layer, micro, made, step), 0
    while True:
        unit = _unit(layer, micro, block.depth)
        inside = _input(layer, unit, block)
        ahead = _input(layer, unit, Size(step.height, block.width, block.depth)).elements
        if block == made or room - inside.elements >= ahead:
            return block, inside
        high, wide, deep = block.height, block.width, block.depth
        if (high != made.height or forced & 2) and high > step.height:
            high -= step.height
        elif (deep > wide or forced & 1) and deep > step.depth:
            deep -= step.depth
        elif (wide != made.width or forced & 4) and wide > step.width:
            wide -= step.width
        elif forced != 7:
            forced = forced << 1 | 1
        elif deep > step.depth:
            deep = max(deep // 2, step.depth)
        else:
            return block, inside
        block = Size(high, wide, deep)


def _rounded(size: Size, step: Size) -> Size:
    pairs = (size.height, step.height), (size.width, step.width), (size.depth, step.depth)
    return Size(*(round_up(each, unit) for each, unit in pairs))


def _input(layer: Layer, unit: Size, block: Size) -> Size:
    """The input of a block, as RAM is given out for it."""
    high, wide = input_sides(layer, (unit.height, unit.width), block.height, block.width)
    return Size(high, wide, round_up(block.depth, unit.depth))


def _largest(npu: EthosU85, layer: Layer, micro: MicroBlock, made: Size, step: Size) -> Size:
    """Return the largest block of a depth that covers most of the longer sides with the least left over."""
    limit = made.within(Size(*LARGEST))
    sums = npu.variant.accumulator_ram * 8 // _sums_bits(layer)
    least = micro.output[0] * micro.output[1] * BRICK
    flat = layer.reach == (1, 1)
    area = made.width * (made.depth if flat else made.height)
    largest, best = Size(step.height, step.width, BRICK), float("inf")
    for depth in range(BRICK, min(max(npu.macs, sums // least), limit.depth) + 1, BRICK):
        unit = _unit(layer, micro, depth)
        block = _fitting(npu, layer, unit, made, Size(step.height, step.width, depth))
        if block is None:
            break
        used = depth % unit.depth or unit.depth
        waste = 1 + (unit.depth - used) / unit.depth / 10
        shallow = 1 + abs(1 - limit.depth / depth) / 10
        metric = (1 + abs(1 - area / (block.width * (depth if flat else block.height)))) * shallow * waste
        if metric < best:
            largest, best = block, metric
            if block.within(made) == made:
                return made
    return largest


def _fitting(npu: EthosU85, layer: Layer, unit: Size, made: Size, step: Size) -> Size | None:
    """A block of ``step.depth`` channels that fits, in whole steps of rows and columns; None if none does."""
    limit, aspect = made.within(Size(*LARGEST)), made.height / made.width
    sums = npu.variant.accumulator_ram * 8 // _sums_bits(layer)
    room = npu.variant.input_ram * 8 / layer.bits
    whole = _rounded(layer.input, unit).elements
    least, fit = step.height * step.width * BRICK, sums
    while True:
        block = _of_area(fit // step.depth, aspect, limit, made, step)
        in_sums, in_room = sums / block.elements, room / min(_input(layer, unit, block).elements, whole)
        if in_sums >= 1 and in_room >= 1:
            return block
        if in_room < 1 < in_sums:
            fit = min(fit, block.elements)
        less = int(fit // least * min(in_room, in_sums)) * least
        fit = less if less != fit else fit - least
        if fit < least:
            return None


def _of_area(area: int, aspect: float, limit: Size, made: Size, step: Size) -> Size:
    """The block of about ``area`` rows times columns."""
    wide = sqrt(area / aspect)
    high = wide * aspect
    if high < 1:
        wide, high = wide * high, 1
    elif wide < 1:
        wide, high = 1, high * wide
    width = min(max(int(wide), step.width) // step.width * step.width, limit.width)
    height = min(max(int(high), step.height) // step.height * step.height, limit.height)
    area = width * height
    if width < made.width:
        width = _tiling(made.width, step.width, width)
    return Size(max(area // width // step.height * step.height, step.height), width, step.depth)


def _tiling(size: int, step: int, tile: int) -> int:
    """The width about ``tile`` whose last block is fullest, the largest of several."""
    if size % tile == 0:
        return tile
    even = max(round_up(size // (size // tile + 1), step), step)
    first = max(even - 2 * step, (even + 1) // 2, step)
    best, last = tile, size % tile
    for each in range(tile, first - 1, -step):
        rest = size % each or each
        if rest > last:
            best, last = each, rest
    return best
