"""Convolutions, dense layers and pooling as Ethos-U55 does them, and the steps of its MAC array for each.

A step of four cycles multiplies a micro-block of the output by 32 elements of input: 32 channels at one
element of the kernel, or 8 channels at four. Source: ethos-u-vela 5.2.0, architecture_allocator.py,
npu_performance.py and (what the compiler makes of an op) tflite_graph_optimiser.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chipmodel.geometry.rounding import round_up
from chipmodel.geometry.window import Window
from chipmodel.model.program import Op
from chipmodel.model.work import Conv, Matmul, Pool, SingleWork
from chipmodel.records import dataclass

Counts = NDArray[np.int64]
Traversal = Literal["convolution", "depthwise", "dense", "pooling"]

SUB_KERNEL = 8
"""Rows and columns of a kernel that are worked on at once; of a larger one this many after another."""
STEP = 4
"""Cycles of a step on one micro-block."""
CHANNELS = 8
"""Input channels of a step over several elements of the kernel."""
DECODED = 32
"""Cycles in which a decoder has the weights of a step for ``DECODED_CHANNELS`` output channels."""
DECODED_CHANNELS = 8
SCALE_BYTES = 10
"""Bytes of scale and bias of an output channel."""
SCALES_AHEAD = 256
"""Bytes of them that are read in one latency."""
UNITS = 4
"""Blocks that are in work at once, over which what a command costs is spread."""
BRICK = 16
"""Channels that lie together in SRAM: tensors between ops are padded to a multiple of them."""
BATCH_AS_ROW = 4
"""Rows of a dense layer beyond which the compiler makes it a convolution over one row."""
MEAN_ROWS, MEAN_ELEMENTS = 64, 4096
"""The most rows and elements of a kernel that sums up an image."""


@dataclass(frozen=True, slots=True)
class Size:
    """Rows, columns and channels."""

    height: int
    width: int
    depth: int

    @property
    def elements(self) -> int:
        return self.height * self.width * self.depth

    def within(self, whole: Size) -> Size:
        """This size, cut off at ``whole`` in each direction."""
        return Size(
            min(self.height, whole.height), min(self.width, whole.width), min(self.depth, whole.depth)
        )


@dataclass(frozen=True, slots=True)
class Layer:
    """Work with a window, as the NPU sees it: one image, one group."""

    traversal: Traversal
    input: Size
    output: Size
    kernel: tuple[int, int] = (1, 1)
    """Rows and columns."""
    stride: tuple[int, int] = (1, 1)
    dilation: tuple[int, int] = (1, 1)
    bits: int = 8
    upscale: int = 1
    """2 where zeros are put between the elements of the input (a transposed convolution)."""

    @property
    def reach(self) -> tuple[int, int]:
        """Rows and columns that the kernel spans."""
        (high, wide), (down, across) = self.kernel, self.dilation
        return (high - 1) * down + 1, (wide - 1) * across + 1

    @property
    def wide(self) -> bool:
        """Whether accumulators have 40 bits."""
        return self.bits == 16 and self.traversal != "pooling"

    @property
    def equal_depth(self) -> bool:
        """Whether each output channel is made of one input channel."""
        return self.traversal in ("depthwise", "pooling")

    @property
    def by_kernel(self) -> bool:
        """Whether a step takes several elements of the kernel by 8 input channels, instead of one element by
        32: whichever leaves fewer multipliers idle."""
        if self.traversal not in ("convolution", "depthwise"):
            return False
        depth, elements = self.input.depth, self.kernel[0] * self.kernel[1]
        if depth <= CHANNELS:
            return True
        by_depth = depth / round_up(depth, 32 if self.bits == 8 else 16)
        padded = round_up(depth, CHANNELS) * round_up(elements, 4 if self.bits == 8 else 2)
        return depth * elements / padded > by_depth

    @property
    def kernel_parts(self) -> tuple[int, ...]:
        """Elements of the parts of the kernel that are worked on one after another."""
        high, wide = self.kernel
        return tuple(
            min(SUB_KERNEL, high - y) * min(SUB_KERNEL, wide - x)
            for y in range(0, high, SUB_KERNEL)
            for x in range(0, wide, SUB_KERNEL)
        )


class Sizes(NamedTuple):
    """Rows, columns and channels of several."""

    height: Counts
    width: Counts
    depth: Counts

    @property
    def elements(self) -> Counts:
        return self.height * self.width * self.depth


class AlikeLayers(NamedTuple):
    """Layers that differ in sizes alone."""

    like: Layer
    """One of them."""
    made: Sizes
    given: Sizes
    """Outputs and inputs."""


def grouped(layers: Sequence[Layer]) -> list[tuple[list[int], AlikeLayers]]:
    """The layers that differ in sizes alone, outputs of one row apart, and their numbers."""
    numbers: dict[Layer, list[int]] = {}
    for number, layer in enumerate(layers):
        depth = 1 if layer.equal_depth else layer.input.depth
        alike = replace(layer, input=Size(1, 1, depth), output=Size(min(2, layer.output.height), 1, 1))
        numbers.setdefault(alike, []).append(number)
    return [(found, together([layers[number] for number in found])) for found in numbers.values()]


def together(layers: Sequence[Layer]) -> AlikeLayers:
    """``layers`` that differ in sizes alone."""
    made, given = (
        Sizes(*np.array([(size.height, size.width, size.depth) for size in sizes], np.int64).T)
        for sizes in ([layer.output for layer in layers], [layer.input for layer in layers])
    )
    return AlikeLayers(layers[0], made, given)


def input_depth(layer: Layer) -> int:
    """Input channels of a block of convolutions and dense layers."""
    if layer.bits == 16:
        return round_up(min(layer.input.depth, 16), 4)
    return round_up(min(layer.input.depth, 16 if layer.by_kernel else 32), CHANNELS)


def kernel_steps(layer: Layer) -> tuple[tuple[int, int], ...]:
    """For each part of the kernel: steps for one micro-block of the output at one pass over its input
    channels, and cycles of such a step."""
    twice = 2 if layer.bits == 16 else 1
    if layer.traversal == "pooling":
        return tuple((1, twice * max(STEP, part)) for part in layer.kernel_parts)
    if layer.traversal == "depthwise":
        return tuple((-(-part // 4), STEP * twice) for part in layer.kernel_parts)
    at_once = 4 // twice if layer.by_kernel else 1
    return tuple((-(-part // at_once), STEP) for part in layer.kernel_parts)


def input_passes(layer: Layer) -> tuple[int, int]:
    """How often the input channels are gone through: passes of 8 within what is read at once, where a step
    takes several elements of the kernel, and how often something is read."""
    if layer.equal_depth:
        return 1, 1
    at_once = min(input_depth(layer), layer.input.depth)
    return -(-at_once // CHANNELS) if layer.by_kernel else 1, -(-layer.input.depth // at_once)


def weight_bytes(layer: Layer) -> int:
    """Weights and scale of an output channel, which are read again for each block of rows and columns. Those
    of a dense layer are not counted: the NPU reads them once, where they lie."""
    if layer.traversal in ("dense", "pooling"):
        return 0
    channels = 1 if layer.traversal == "depthwise" else layer.input.depth
    return layer.kernel[0] * layer.kernel[1] * channels + SCALE_BYTES


def is_depthwise(op: Op, work: SingleWork) -> bool:
    """Whether it is a depthwise convolution or a part of one, also of one channel."""
    of = op.work
    return isinstance(work, Conv) and (op.kind == "depthwise_conv" or (isinstance(of, Conv) and of.depthwise))


def convs_of_mean(kind: str, work: object) -> tuple[Conv, ...]:
    """The depthwise convolutions, each with a kernel of ones over some rows, whose sums the compiler adds up
    for a mean over an image; none for other work."""
    if kind != "average_pool" or not isinstance(work, Pool) or not work.of_whole_image:
        return ()
    rows, columns, depth = work.window.in_h, work.window.in_w, work.channels_
    if MEAN_ROWS < rows <= MEAN_ELEMENTS // columns:
        rows, columns = 1, rows * columns
    most = max(1, min(MEAN_ROWS, MEAN_ELEMENTS // columns))
    heights = (min(most, rows - start) for start in range(0, rows, most))
    return tuple(
        Conv(Window(height, columns, 1, 1, height, columns), depth, depth, depth) for height in heights
    )


def layer_of(work: Conv | Pool | Matmul, bits: int, depthwise: bool) -> tuple[int, Layer]:
    """Work as the NPU does it, and how many times: once for each image, group or product."""
    bits = 8 if bits <= 8 else 16
    match work:
        case Conv() if depthwise:
            return work.batch, _window_layer("depthwise", work.window, work.out_c, work.out_c, bits)
        case Conv():
            in_c, out_c = work.in_c // work.groups, -(-work.out_c // work.groups)
            return work.batch * work.groups, _window_layer("convolution", work.window, in_c, out_c, bits)
        case Pool():
            window = replace(work.window, stride_h=1, stride_w=1) if work.of_whole_image else work.window
            return work.batch, _window_layer("pooling", window, work.channels_, work.channels_, bits)
        case Matmul():
            row: Traversal = "convolution" if work.rows_ > BATCH_AS_ROW else "dense"
            sides = Size(1, work.rows_, work.inner), Size(1, work.rows_, work.cols)
            return work.batch, Layer(row, *sides, bits=bits)


def _window_layer(traversal: Traversal, window: Window, in_c: int, out_c: int, bits: int) -> Layer:
    if window.in_w == 1 and window.kernel_w == 1 and window.out_w == 1:
        window = window.turned  # one line may lie along the rows or along the columns
    stride = (1, 1) if window.transposed else (window.stride_h, window.stride_w)
    return Layer(
        traversal,
        Size(window.in_h, window.in_w, max(1, in_c)),
        Size(window.out_h, window.out_w, max(1, out_c)),
        (window.kernel_h, window.kernel_w),
        stride,
        (window.dilation_h, window.dilation_w),
        bits,
        2 if window.transposed and max(window.stride_h, window.stride_w) > 1 else 1,
    )
