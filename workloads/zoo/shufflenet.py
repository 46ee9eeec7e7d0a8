"""ShuffleNet v1 (Zhang et al. 2017, arXiv:1707.01083) as in github.com/megvii-model/ShuffleNet-Series, and v2
(Ma et al. 2018, arXiv:1807.11164) as in torchvision.

They end in logits, and the classifier of v1 has no bias.
"""

from __future__ import annotations

from workloads.build.builder import ProgramBuilder
from workloads.build.shapes import Value
from workloads.zoo.layers import add, classifier, concat, depthwise, image, separable, shuffle_channels, split

STAGE2_CHANNELS = {3: 240, 8: 384}
"""Output channels of stage 2 at width 1, by groups (Zhang et al., Table 1); each stage doubles them."""

STEM_CHANNELS = {0.5: 12, 1.0: 24, 1.5: 24, 2.0: 48}
"""Channels of the first convolution by width; the reference code has 16 for 8 groups at 0.5."""

V2_CHANNELS = {0.5: (48, 1024), 1.0: (116, 1024), 1.5: (176, 1024), 2.0: (244, 2048)}
"""Channels of stage 2, which each stage doubles, and of the last convolution (Ma et al., Table 5)."""

UNITS = (4, 8, 4)
"""Units of stages 2, 3 and 4; the first of each has stride 2."""


def shufflenetv1(net: ProgramBuilder, *, size: int, classes: int, width: float, groups: int) -> None:
    """A stem of two strides, three stages of units, and a classifier."""
    stem = 16 if (width, groups) == (0.5, 8) else STEM_CHANNELS[width]
    x = net.conv("conv1", image(net, size), stem, 3, stride=2, pad=1)
    x = net.pool("maxpool", x, 3, stride=2, pad=1)
    channels = int(STAGE2_CHANNELS[groups] * width)
    for stage, units in enumerate(UNITS, start=2):
        for unit in range(units):
            # The stem has too few channels for grouping to pay.
            first_groups = 1 if stage == 2 and unit == 0 else groups
            build = _halving_unit if unit == 0 else _unit
            x = build(net, f"stage{stage}.{unit}", x, channels << (stage - 2), (first_groups, groups))
    net.output(classifier(net, "fc", x, classes, bias=False))


def _unit(net: ProgramBuilder, name: str, x: Value, channels: int, groups: tuple[int, int]) -> Value:
    y = _main_branch(net, name, x, (channels // 4, channels), 1, groups)
    return add(net, f"{name}.add", y, x)


def _halving_unit(net: ProgramBuilder, name: str, x: Value, channels: int, groups: tuple[int, int]) -> Value:
    y = _main_branch(net, name, x, (channels // 4, channels - x.shape[1]), 2, groups)
    pooled = net.pool(f"{name}.avgpool", x, 3, stride=2, pad=1, kind="average_pool")
    return concat(net, f"{name}.concat", [pooled, y])


def _main_branch(
    net: ProgramBuilder, name: str, x: Value, channels: tuple[int, int], stride: int, groups: tuple[int, int]
) -> Value:
    """``channels`` and ``groups`` are those of the first and of the last convolution."""
    # The reference code shuffles after the depthwise convolution, the paper draws it before.
    middle = channels[0]
    y = net.conv(f"{name}.reduce", x, middle, 1, groups=groups[0])
    y = net.conv(f"{name}.depthwise", y, middle, 3, stride=stride, pad=1, groups=middle)
    y = shuffle_channels(net, f"{name}.shuffle", y, groups[1])
    return net.conv(f"{name}.expand", y, channels[1], 1, groups=groups[1])


def shufflenetv2(net: ProgramBuilder, *, size: int, classes: int, width: float) -> None:
    """A stem of two strides, three stages of units, a convolution, and a classifier."""
    x = net.conv("conv1", image(net, size), 24, 3, stride=2, pad=1)
    x = net.pool("maxpool", x, 3, stride=2, pad=1)
    channels, last = V2_CHANNELS[width]
    for stage, units in enumerate(UNITS, start=2):
        half = channels << (stage - 2) >> 1
        for unit in range(units):
            x = unit_v2(net, f"stage{stage}.{unit}", x, half, halves=unit == 0)
    net.output(classifier(net, "fc", net.conv("conv5", x, last, 1), classes))


def unit_v2(net: ProgramBuilder, name: str, x: Value, half: int, *, halves: bool) -> Value:
    """Two branches of ``half`` the channels, joined and shuffled. The first one halves the image, or is what
    the unit keeps of its input."""
    kept, read = (x, x) if halves else split(net, f"{name}.split", x, (half, half))
    stride = 2 if halves else 1
    if halves:
        kept = separable(net, f"{name}.branch1", kept, half, stride=2)
    y = net.conv(f"{name}.reduce", read, half, 1)
    y = net.conv(f"{name}.expand", depthwise(net, f"{name}.depthwise", y, stride=stride), half, 1)
    return shuffle_channels(net, f"{name}.shuffle", concat(net, f"{name}.concat", [kept, y]), 2)
