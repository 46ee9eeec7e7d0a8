"""Deep layer aggregation, DLA-46-C (Yu et al. 2017, arXiv:1707.06484), as in timm (dla46_c).

It ends in logits. A stage is a tree of bottlenecks, two for each leaf. The root of two bottlenecks joins both
with what the tree hands down: the halved input of the stage, and the roots of the trees on the left.
"""

from __future__ import annotations

from collections.abc import Sequence

from workloads.build.builder import ProgramBuilder
from workloads.build.shapes import Value
from workloads.zoo.layers import add, classifier, concat, image

STAGES = ((1, 64), (2, 64), (2, 128), (1, 256))
"""Levels of the tree and channels of the last four stages (Yu et al., Table 1)."""


def dla46c(net: ProgramBuilder, *, size: int, classes: int) -> None:
    """Three convolutions of which the last one halves the image, four stages that do, and a classifier."""
    x = net.conv("base", image(net, size), 16, 7, pad=3)
    x = net.conv("level0", x, 16, 3, pad=1)
    x = net.conv("level1", x, 32, 3, stride=2, pad=1)
    for number, (levels, channels) in enumerate(STAGES, start=2):
        handed = [] if number == 2 else [_halved(net, f"level{number}.input", x)]
        x = _tree(net, f"level{number}", x, levels, channels, 2, handed)
    net.output(classifier(net, "fc", x, classes))


def _tree(
    net: ProgramBuilder, name: str, x: Value, levels: int, channels: int, stride: int, handed: Sequence[Value]
) -> Value:
    """A tree of ``levels``; its first leaf has the stride, its last root joins what is ``handed`` down."""
    if levels == 1:
        shortcut = _halved(net, f"{name}.downsample", x) if stride == 2 else x
        if shortcut.shape[1] != channels:
            shortcut = net.conv(f"{name}.project", shortcut, channels, 1)
        left = _bottleneck(net, f"{name}.tree1", x, channels, stride, shortcut)
        right = _bottleneck(net, f"{name}.tree2", left, channels, 1, left)
        return net.conv(f"{name}.root", concat(net, f"{name}.concat", [right, left, *handed]), channels, 1)
    left = _tree(net, f"{name}.tree1", x, levels - 1, channels, stride, [])
    return _tree(net, f"{name}.tree2", left, levels - 1, channels, 1, [*handed, left])


def _halved(net: ProgramBuilder, name: str, x: Value) -> Value:
    return net.pool(name, x, 2, stride=2)


def _bottleneck(
    net: ProgramBuilder, name: str, x: Value, channels: int, stride: int, shortcut: Value
) -> Value:
    """Half of the channels inside."""
    y = net.conv(f"{name}.conv1", x, channels // 2, 1)
    y = net.conv(f"{name}.conv2", y, channels // 2, 3, stride=stride, pad=1)
    return add(net, f"{name}.add", net.conv(f"{name}.conv3", y, channels, 1), shortcut)
