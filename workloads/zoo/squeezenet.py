"""SqueezeNet (Iandola et al. 2016, arXiv:1602.07360) as in torchvision and pytorchcv.

Version 1.1 (github.com/forresti/SqueezeNet) has a smaller stem and pools earlier. The classifier is a 1x1
convolution with a ReLU before the global pooling.
"""

from __future__ import annotations

from workloads.build.builder import ProgramBuilder
from workloads.build.shapes import Value
from workloads.zoo.layers import concat, image

STEMS = {"1.0": (96, 7), "1.1": (64, 3)}
"""Channels and kernel of the first convolution."""

FIRES = {
    "1.0": ((16, 16, 32), (32, 48, 48, 64), (64,)),
    "1.1": ((16, 16), (32, 32), (48, 48, 64, 64)),
}
"""Squeezed channels of the fire modules between poolings; both convolutions after them have four times as
many."""


def squeezenet(net: ProgramBuilder, *, size: int, classes: int, version: str) -> None:
    """Stem, fire modules between poolings, a 1x1 convolution and global pooling; logits."""
    channels, kernel = STEMS[version]
    x = net.conv("conv1", image(net, size), channels, kernel, stride=2)
    number = 2
    for group, squeezed in enumerate(FIRES[version], start=1):
        x = net.pool(f"maxpool{group}", x, 3, stride=2, ceil=True)
        for channels in squeezed:
            x = _fire(net, f"fire{number}", x, channels)
            number += 1
    x = net.conv("conv10", x, classes, 1)
    net.output(net.flatten(net.pool("avgpool", x, None, kind="average_pool")))


def _fire(net: ProgramBuilder, name: str, x: Value, squeezed: int) -> Value:
    x = net.conv(f"{name}.squeeze", x, squeezed, 1)
    parts = [
        net.conv(f"{name}.expand1x1", x, 4 * squeezed, 1),
        net.conv(f"{name}.expand3x3", x, 4 * squeezed, 3, pad=1),
    ]
    return concat(net, f"{name}.concat", parts)
