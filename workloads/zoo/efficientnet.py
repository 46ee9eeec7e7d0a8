"""EfficientNetV2 (Tan and Le 2021, arXiv:2104.00298) as Keras builds it, and ST's small EfficientNet.

``efficientnetv2`` is keras.applications' EfficientNetV2B0 to B3, S, M and L without the preprocessing layer:
"same" padding, squeeze and excitation by a quarter of a block's input channels, swish as a sigmoid and a
multiplication. ``st_efficientnet_lc_v1`` is the network of that name in STMicroelectronics'
stm32ai-modelzoo-services (image_classification/src/models/st_efficientnet_lc_v1.py): EfficientNet-B0 (Tan and
Le 2019, arXiv:1905.11946) with 0.45 of its channels, expansion 3, ReLU6, and a clip before each gate's
sigmoid.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from workloads.build.builder import ProgramBuilder
from workloads.build.shapes import Value
from workloads.zoo.layers import add, classified, depthwise, divisible, excited, image, swish


@dataclass(frozen=True, slots=True)
class EfficientNetStage:
    """``blocks`` inverted residual blocks; the first has ``stride``. Without ``gated`` they are fused: one
    3x3 convolution in place of the expansion and the depthwise one."""

    channels: int
    blocks: int
    expansion: int
    stride: int
    gated: bool


@dataclass(frozen=True, slots=True)
class EfficientNetVariant:
    """Channels of the stem, stages, and factors on channels and blocks."""

    stem: int
    stages: tuple[EfficientNetStage, ...]
    width: float = 1.0
    depth: float = 1.0


def _stages(*rows: tuple[int, int, int, int]) -> tuple[EfficientNetStage, ...]:
    """Channels, blocks, expansion, stride; the first three stages are fused."""
    return tuple(EfficientNetStage(*row, gated=index >= 3) for index, row in enumerate(rows))


BASE = _stages((16, 1, 1, 1), (32, 2, 4, 2), (48, 2, 4, 2), (96, 3, 4, 2), (112, 5, 6, 1), (192, 8, 6, 2))
SMALL = _stages((24, 2, 1, 1), (48, 4, 4, 2), (64, 4, 4, 2), (128, 6, 4, 2), (160, 9, 6, 1), (256, 15, 6, 2))
MEDIUM = _stages(
    *((24, 3, 1, 1), (48, 5, 4, 2), (80, 5, 4, 2)),
    *((160, 7, 4, 2), (176, 14, 6, 1), (304, 18, 6, 2), (512, 5, 6, 1)),
)
LARGE = _stages(
    *((32, 4, 1, 1), (64, 7, 4, 2), (96, 7, 4, 2)),
    *((192, 10, 4, 2), (224, 19, 6, 1), (384, 25, 6, 2), (640, 7, 6, 1)),
)

VARIANTS = {
    "b0": EfficientNetVariant(32, BASE),
    "b1": EfficientNetVariant(32, BASE, 1.0, 1.1),
    "b2": EfficientNetVariant(32, BASE, 1.1, 1.2),
    "b3": EfficientNetVariant(32, BASE, 1.2, 1.4),
    "s": EfficientNetVariant(24, SMALL),
    "m": EfficientNetVariant(24, MEDIUM),
    "l": EfficientNetVariant(32, LARGE),
}
"""Networks by the ``variant`` option (keras/src/applications/efficientnet_v2.py)."""


def efficientnetv2(net: ProgramBuilder, *, size: int, classes: int, variant: str, head: str) -> None:
    """Stem, stages, a 1x1 convolution to 1280 channels times the width, and a classifier."""
    given = VARIANTS[variant]

    def wide(channels: int) -> int:
        return max(8, int(channels * given.width + 4) // 8 * 8)

    x = _activated_conv(net, "stem", image(net, size), wide(given.stem), 3, 2)
    for number, stage in enumerate(given.stages, start=1):
        for index in range(ceil(stage.blocks * given.depth)):
            stride = stage.stride if index == 0 else 1
            block = _gated_block if stage.gated else _fused_block
            x = block(net, f"stage{number}.{index}", x, wide(stage.channels), stage.expansion, stride)
    x = _activated_conv(net, "top", x, wide(1280), 1, 1)
    net.output(classified(net, "predictions", x, classes, head))


def _activated_conv(
    net: ProgramBuilder, name: str, x: Value, channels: int, kernel: int, stride: int
) -> Value:
    return swish(net, name, net.conv(name, x, channels, kernel, stride=stride, pad="same"))


def _fused_block(
    net: ProgramBuilder, name: str, x: Value, channels: int, expansion: int, stride: int
) -> Value:
    if expansion == 1:
        y = _activated_conv(net, f"{name}.project", x, channels, 3, stride)
    else:
        y = _activated_conv(net, f"{name}.expand", x, x.shape[1] * expansion, 3, stride)
        y = net.conv(f"{name}.project", y, channels, 1)
    return _with_residual(net, name, x, y)


def _gated_block(
    net: ProgramBuilder, name: str, x: Value, channels: int, expansion: int, stride: int
) -> Value:
    y = _activated_conv(net, f"{name}.expand", x, x.shape[1] * expansion, 1, 1)
    y = swish(net, f"{name}.depthwise", depthwise(net, f"{name}.depthwise", y, 3, stride, "same"))
    y = excited(net, name, y, max(1, x.shape[1] // 4), swished=True)
    return _with_residual(net, name, x, net.conv(f"{name}.project", y, channels, 1))


def _with_residual(net: ProgramBuilder, name: str, x: Value, y: Value) -> Value:
    return add(net, f"{name}.add", y, x) if x.shape == y.shape else y


ST_STAGES = (
    *((16, 1, 1, 3), (24, 2, 2, 3), (40, 2, 2, 5)),
    *((80, 3, 2, 3), (112, 3, 1, 5), (192, 4, 2, 5), (320, 1, 1, 3)),
)
"""EfficientNet-B0's channels, blocks, stride of the first, and kernel of each stage."""


def st_efficientnet_lc_v1(net: ProgramBuilder, *, size: int, classes: int, head: str) -> None:
    """Stem, stages, a 1x1 convolution, and a classifier; 0.45 of the channels, in multiples of 8."""
    x = net.conv("stem", image(net, size), divisible(0.45 * 32), 3, stride=2, pad="same")
    for number, (channels, blocks, first_stride, kernel) in enumerate(ST_STAGES, start=1):
        for index in range(blocks):
            stride = first_stride if index == 0 else 1
            expansion = 1 if number == 1 else 3
            name = f"stage{number}.{index}"
            x = _st_block(net, name, x, (divisible(0.45 * channels), expansion, stride, kernel))
    x = net.conv("top", x, divisible(0.45 * 1280), 1)
    net.output(classified(net, "predictions", x, classes, head))


def _st_block(net: ProgramBuilder, name: str, x: Value, sizes: tuple[int, int, int, int]) -> Value:
    """``sizes`` are channels, expansion, stride and kernel."""
    channels, expansion, stride, kernel = sizes
    y = x if expansion == 1 else net.conv(f"{name}.expand", x, x.shape[1] * expansion, 1)
    y = depthwise(net, f"{name}.depthwise", y, kernel, stride, "same")
    y = excited(net, name, y, max(1, x.shape[1] // 4), clipped=True)
    return _with_residual(net, name, x, net.conv(f"{name}.project", y, channels, 1))
