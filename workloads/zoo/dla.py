"""Deep layer aggregation, DLA-46-C, DLA-X-46-C and DLA-X-60-C (Yu et al. 2017, arXiv:1707.06484), as in timm
(dla46_c, dla46x_c, dla60x_c).

It ends in logits. A stage is a tree of bottlenecks, two for each leaf. The root of two bottlenecks joins both
with what the tree hands down: the halved input of the stage, and the roots of the trees on the left.
"""

from __future__ import annotations

from collections.abc import Sequence

from workloads.build.builder import ProgramBuilder
from workloads.build.shapes import Value
from workloads.zoo.layers import add, classifier, concat, image

CHANNELS = (64, 64, 128, 256)
LEVELS = {"46c": (1, 2, 2, 1), "46xc": (1, 2, 2, 1), "60xc": (1, 2, 3, 1)}
"""Channels and levels of the trees of the last four stages (Yu et al., Table 1)."""
CARDINALITY = 32
"""Groups of the bottlenecks of DLA-X, which have as many channels as their output."""


def dla46c(net: ProgramBuilder, *, size: int, classes: int, variant: str) -> None:
    """Three convolutions of which the last one halves the image, four stages that do, and a classifier."""
    x = net.conv("base", image(net, size), 16, 7, pad=3)
    x = net.conv("level0", x, 16, 3, pad=1)
    x = net.conv("level1", x, 32, 3, stride=2, pad=1)
    groups = CARDINALITY if "x" in variant else 1
    for number, (levels, channels) in enumerate(zip(LEVELS[variant], CHANNELS, strict=True), start=2):
        handed = [] if number == 2 else [_halved(net, f"level{number}.input", x)]
        x = _tree(net, f"level{number}", x, levels, (channels, groups), 2, handed)
    net.output(classifier(net, "fc", x, classes))


def _tree(
    net: ProgramBuilder,
    name: str,
    x: Value,
    levels: int,
    sizes: tuple[int, int],
    stride: int,
    handed: Sequence[Value],
) -> Value:
    """A tree of ``levels``; its first leaf has the stride, its last root joins what is ``handed`` down.
    ``sizes`` are the channels of its outputs and the groups of its bottlenecks."""
    channels = sizes[0]
    if levels == 1:
        shortcut = _halved(net, f"{name}.downsample", x) if stride == 2 else x
        if shortcut.shape[1] != channels:
            shortcut = net.conv(f"{name}.project", shortcut, channels, 1)
        left = _bottleneck(net, f"{name}.tree1", x, sizes, stride, shortcut)
        right = _bottleneck(net, f"{name}.tree2", left, sizes, 1, left)
        return net.conv(f"{name}.root", concat(net, f"{name}.concat", [right, left, *handed]), channels, 1)
    left = _tree(net, f"{name}.tree1", x, levels - 1, sizes, stride, [])
    return _tree(net, f"{name}.tree2", left, levels - 1, sizes, 1, [*handed, left])


def _halved(net: ProgramBuilder, name: str, x: Value) -> Value:
    """Half of the image, rounded up as the convolutions with a stride do."""
    return net.pool(name, x, 2, stride=2, ceil=True)


def _bottleneck(
    net: ProgramBuilder, name: str, x: Value, sizes: tuple[int, int], stride: int, shortcut: Value
) -> Value:
    """Half of the channels inside, or all of them in groups."""
    channels, groups = sizes
    middle = channels // 2 if groups == 1 else channels
    y = net.conv(f"{name}.conv1", x, middle, 1)
    y = net.conv(f"{name}.conv2", y, middle, 3, stride=stride, pad=1, groups=groups)
    return add(net, f"{name}.add", net.conv(f"{name}.conv3", y, channels, 1), shortcut)
