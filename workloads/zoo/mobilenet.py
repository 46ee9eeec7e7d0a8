"""MobileNet v1 (Howard et al. 2017, arXiv:1704.04861) and v2 (Sandler et al. 2018, arXiv:1801.04381).

Both have the channels of Keras' and torchvision's networks at every width; only the padding of
convolutions with stride 2 differs (Keras pads behind, torchvision around), which changes no count.
"""

from __future__ import annotations

from workloads.build.builder import ProgramBuilder
from workloads.build.shapes import Value
from workloads.zoo.layers import add, classified, depthwise, divisible, image, separable_chain

V1_BLOCKS: tuple[tuple[int, int], ...] = (
    (64, 1),
    (128, 2),
    (128, 1),
    (256, 2),
    (256, 1),
    (512, 2),
    *((512, 1),) * 5,
    (1024, 2),
    (1024, 1),
)
"""Output channels at width 1 and stride of each depthwise separable block (Howard et al., Table 1)."""

V2_STAGES: tuple[tuple[int, int, int, int], ...] = (
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
)
"""Expansion t, output channels c, blocks n, stride s of the first (Sandler et al., Table 2)."""


def mobilenetv1(
    net: ProgramBuilder, *, size: int, channels: int, classes: int, width: float, head: str
) -> None:
    """Build MLPerf Tiny's visual wake words model: "same" padding, a dense layer and a softmax."""
    x = net.conv("conv1", image(net, size, channels), _scaled(32, width), 3, stride=2, pad="same")
    x = separable_chain(net, x, ((_scaled(wide, width), stride) for wide, stride in V1_BLOCKS))
    net.output(classified(net, "fc", x, classes, head))


def mobilenetv2(
    net: ProgramBuilder, *, size: int, classes: int, width: float, variant: str, head: str
) -> None:
    """Build torchvision's mobilenet_v2, which ends in logits; pytorchcv's does not round channels, and its
    ``mobilenetv2_...`` (unlike ``mobilenetv2b_...``) keeps a 1x1 convolution in the first block."""
    rounded = variant == "torchvision"

    def wide(channels: int) -> int:
        return divisible(channels * width) if rounded else max(1, int(channels * width))

    x = net.conv("features.0", image(net, size), wide(32), 3, stride=2, pad=1)
    if variant == "pytorchcv":
        x = net.conv("features.1.expand", x, x.shape[1], 1)
    index = 1
    for expansion, channels, blocks, first_stride in V2_STAGES:
        for block in range(blocks):
            stride = first_stride if block == 0 else 1
            x = inverted_residual(net, f"features.{index}", x, expansion, wide(channels), stride)
            index += 1
    x = net.conv(f"features.{index}", x, max(1280, wide(1280)), 1)
    net.output(classified(net, "classifier", x, classes, head, bias=rounded))


def inverted_residual(
    net: ProgramBuilder, name: str, x: Value, expansion: int, channels: int, stride: int
) -> Value:
    """Expansion by 1x1, depthwise, projection by 1x1; a residual addition where input and output agree."""
    in_c = x.shape[1]
    hidden = in_c * expansion
    y = x if expansion == 1 else net.conv(f"{name}.expand", x, hidden, 1)
    y = depthwise(net, f"{name}.depthwise", y, 3, stride)
    y = net.conv(f"{name}.project", y, channels, 1)
    return add(net, f"{name}.add", x, y) if stride == 1 and in_c == channels else y


def _scaled(channels: int, width: float) -> int:
    """The width multiplier of v1, with at least 8 channels (``min_depth`` of TensorFlow's slim models)."""
    return max(8, int(channels * width))
