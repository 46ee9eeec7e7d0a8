"""MobileNet v1 (Howard et al. 2017, arXiv:1704.04861) and v2 (Sandler et al. 2018, arXiv:1801.04381)."""

from __future__ import annotations

from workloads.build.builder import ProgramBuilder
from workloads.build.shapes import Value
from workloads.zoo.layers import add, classifier, image, softmax

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


def mobilenetv1(net: ProgramBuilder, *, size: int, classes: int, width: float) -> None:
    """As MLPerf Tiny's visual wake words model: "same" padding, a dense layer and a softmax."""
    x = net.conv("conv1", image(net, size), _scaled(32, width), 3, stride=2, pad="same")
    for i, (channels, stride) in enumerate(V1_BLOCKS, start=2):
        x = net.conv(f"conv{i}.depthwise", x, x.shape[1], 3, stride=stride, pad="same", groups=x.shape[1])
        x = net.conv(f"conv{i}.pointwise", x, _scaled(channels, width), 1)
    net.output(softmax(net, classifier(net, "fc", x, classes)))


def mobilenetv2(net: ProgramBuilder, *, size: int, classes: int, width: float) -> None:
    """As torchvision's mobilenet_v2, which ends in logits."""
    x = net.conv("features.0", image(net, size), _divisible(32 * width), 3, stride=2, pad=1)
    index = 1
    for expansion, channels, blocks, first_stride in V2_STAGES:
        for block in range(blocks):
            stride = first_stride if block == 0 else 1
            x = _inverted_residual(
                net, f"features.{index}", x, expansion, _divisible(channels * width), stride
            )
            index += 1
    x = net.conv(f"features.{index}", x, _divisible(1280 * max(1.0, width)), 1)
    net.output(classifier(net, "classifier", x, classes))


def _inverted_residual(
    net: ProgramBuilder, name: str, x: Value, expansion: int, channels: int, stride: int
) -> Value:
    in_c = x.shape[1]
    hidden = in_c * expansion
    y = x if expansion == 1 else net.conv(f"{name}.expand", x, hidden, 1)
    y = net.conv(f"{name}.depthwise", y, hidden, 3, stride=stride, pad=1, groups=hidden)
    y = net.conv(f"{name}.project", y, channels, 1)
    return add(net, f"{name}.add", x, y) if stride == 1 and in_c == channels else y


def _scaled(channels: int, width: float) -> int:
    """The width multiplier of v1, with at least 8 channels (``min_depth`` of TensorFlow's slim models)."""
    return max(8, int(channels * width))


def _divisible(channels: float) -> int:
    """The nearest multiple of 8, but not less than 90 % of ``channels`` (both reference codes' rule)."""
    nearest = max(8, int(channels + 4) // 8 * 8)
    return nearest + 8 if nearest < 0.9 * channels else nearest
