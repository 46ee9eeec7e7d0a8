"""ShuffleNet v1 (Zhang et al. 2017, arXiv:1707.01083) as in github.com/megvii-model/ShuffleNet-Series.

It ends in logits, and its classifier has no bias.
"""

from __future__ import annotations

from workloads.build.builder import ProgramBuilder
from workloads.build.shapes import Value
from workloads.zoo.layers import add, classifier, concat, image, shuffle_channels

STAGE2_CHANNELS = {3: 240, 8: 384}
"""Output channels of stage 2 at width 1, by groups (Zhang et al., Table 1); each stage doubles them."""

STEM_CHANNELS = {0.5: 12, 1.0: 24, 1.5: 24, 2.0: 48}
"""Channels of the first convolution by width; the reference code has 16 for 8 groups at 0.5."""

UNITS = (4, 8, 4)
"""Units of stages 2, 3 and 4, the first of each with stride 2."""


def shufflenetv1(net: ProgramBuilder, *, size: int, classes: int, width: float, groups: int) -> None:
    """A stem of two strides, three stages of units, and a classifier."""
    stem = 16 if (width, groups) == (0.5, 8) else STEM_CHANNELS[width]
    x = net.conv("conv1", image(net, size), stem, 3, stride=2, pad=1)
    x = net.pool("maxpool", x, 3, stride=2, pad=1)
    channels = int(STAGE2_CHANNELS[groups] * width)
    for stage, units in enumerate(UNITS, start=2):
        for unit in range(units):
            # The image of the stem has too few channels to be worth grouping.
            first_groups = 1 if stage == 2 and unit == 0 else groups
            build = _halving_unit if unit == 0 else _unit
            x = build(net, f"stage{stage}.{unit}", x, channels << (stage - 2), groups, first_groups)
    net.output(classifier(net, "fc", x, classes, bias=False))


def _unit(net: ProgramBuilder, name: str, x: Value, channels: int, groups: int, first_groups: int) -> Value:
    y = _main_branch(net, name, x, channels // 4, channels, 1, groups, first_groups)
    return add(net, f"{name}.add", y, x)


def _halving_unit(
    net: ProgramBuilder, name: str, x: Value, channels: int, groups: int, first_groups: int
) -> Value:
    y = _main_branch(net, name, x, channels // 4, channels - x.shape[1], 2, groups, first_groups)
    pooled = net.pool(f"{name}.avgpool", x, 3, stride=2, pad=1, kind="average_pool")
    return concat(net, f"{name}.concat", [pooled, y])


def _main_branch(
    net: ProgramBuilder,
    name: str,
    x: Value,
    middle: int,
    out_c: int,
    stride: int,
    groups: int,
    first_groups: int,
) -> Value:
    # The reference code shuffles after the depthwise convolution, the paper draws it before.
    y = net.conv(f"{name}.reduce", x, middle, 1, groups=first_groups)
    y = net.conv(f"{name}.depthwise", y, middle, 3, stride=stride, pad=1, groups=middle)
    y = shuffle_channels(net, f"{name}.shuffle", y)
    return net.conv(f"{name}.expand", y, out_c, 1, groups=groups)
