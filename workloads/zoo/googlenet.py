"""GoogLeNet, or Inception v1 (Szegedy et al. 2014, arXiv:1409.4842), without auxiliary heads.

As torchvision builds it: pooling rounds up, BatchNorm after every convolution (folded here), logits.
"""

from __future__ import annotations

from workloads.build.builder import ProgramBuilder
from workloads.build.shapes import Value
from workloads.zoo.layers import classifier, concat, image

Widths = tuple[int, int, int, int, int, int]
"""Channels of the 1x1; of the 3x3 reduction and the 3x3; of the 5x5 reduction and the 5x5; after pooling."""

STAGES: tuple[dict[str, Widths], ...] = (
    {"3a": (64, 96, 128, 16, 32, 32), "3b": (128, 128, 192, 32, 96, 64)},
    {
        "4a": (192, 96, 208, 16, 48, 64),
        "4b": (160, 112, 224, 24, 64, 64),
        "4c": (128, 128, 256, 24, 64, 64),
        "4d": (112, 144, 288, 32, 64, 64),
        "4e": (256, 160, 320, 32, 128, 128),
    },
    {"5a": (256, 160, 320, 32, 128, 128), "5b": (384, 192, 384, 48, 128, 128)},
)
"""Szegedy et al., Table 1; there is a max-pooling between two stages."""


def googlenet(net: ProgramBuilder, *, size: int, classes: int, kernel: int) -> None:
    """Output: logits (1, classes). ``kernel`` is that of the branch that is 5x5 in the paper."""
    if kernel == 3:
        net.notes.append("the 5x5 branches are 3x3, as in torchvision; kernel=5 builds those of the paper")
    net.output(classifier(net, "fc", features(net, size, kernel), classes))


def features(net: ProgramBuilder, size: int, kernel: int) -> Value:
    """The network without its classifier: 1024 channels at 1/32 of the image."""
    x = net.conv("conv1", image(net, size), 64, 7, stride=2, pad=3)
    x = net.pool("maxpool1", x, 3, stride=2, ceil=True)
    x = net.conv("conv2", x, 64, 1)
    x = net.conv("conv3", x, 192, 3, pad=1)
    x = net.pool("maxpool2", x, 3, stride=2, ceil=True)
    for i, stage in enumerate(STAGES):
        if i > 0:
            # torchvision's last pooling is 2x2, the paper's 3x3; both halve the image.
            x = net.pool(f"maxpool{i + 2}", x, 3 if i == 1 else 2, stride=2, ceil=True)
        for name, widths in stage.items():
            x = _inception(net, f"inception{name}", x, widths, kernel)
    return x


def _inception(net: ProgramBuilder, name: str, x: Value, widths: Widths, kernel: int) -> Value:
    one, three_reduce, three, five_reduce, five, pooled = widths
    branch1 = net.conv(f"{name}.branch1", x, one, 1)
    reduced = net.conv(f"{name}.branch2.reduce", x, three_reduce, 1)
    branch2 = net.conv(f"{name}.branch2", reduced, three, 3, pad=1)
    reduced = net.conv(f"{name}.branch3.reduce", x, five_reduce, 1)
    branch3 = net.conv(f"{name}.branch3", reduced, five, kernel, pad=kernel // 2)
    pool = net.pool(f"{name}.branch4.pool", x, 3, stride=1, pad=1, ceil=True)
    branch4 = net.conv(f"{name}.branch4", pool, pooled, 1)
    return concat(net, f"{name}.concat", [branch1, branch2, branch3, branch4])
