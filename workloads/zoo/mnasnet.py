"""MnasNet (Tan et al. 2018, arXiv:1807.11626) and ProxylessNAS (Cai et al. 2018, arXiv:1812.00332).

``mnasnet`` is MnasNet-B1 as in torchvision (mnasnet1_0) and, with ``variant=a1``, MnasNet-A1 with squeeze and
excitation as in timm (semnasnet_100). ``proxylessnas`` is the network for phones, as in pytorchcv
(proxylessnas_mobile). All end in logits.
"""

from __future__ import annotations

from dataclasses import dataclass

from workloads.build.builder import ProgramBuilder
from workloads.build.shapes import Value
from workloads.zoo.layers import add, classified, depthwise, divisible, excited, image


@dataclass(frozen=True, slots=True)
class MobileBlock:
    """An inverted residual block, of expansion 0 without its first convolution; ``gated`` by squeeze and
    excitation or not."""

    channels: int
    kernel: int
    expansion: int
    stride: int = 1
    gated: bool = False


def _stage(blocks: int, first: MobileBlock) -> tuple[MobileBlock, ...]:
    rest = MobileBlock(first.channels, first.kernel, first.expansion, 1, first.gated)
    return (first, *(rest,) * (blocks - 1))


B1 = (
    *_stage(3, MobileBlock(24, 3, 3, 2)),
    *_stage(3, MobileBlock(40, 5, 3, 2)),
    *_stage(3, MobileBlock(80, 5, 6, 2)),
    *_stage(2, MobileBlock(96, 3, 6)),
    *_stage(4, MobileBlock(192, 5, 6, 2)),
    *_stage(1, MobileBlock(320, 3, 6)),
)
A1 = (
    *_stage(2, MobileBlock(24, 3, 6, 2)),
    *_stage(3, MobileBlock(40, 5, 3, 2, gated=True)),
    *_stage(4, MobileBlock(80, 3, 6, 2)),
    *_stage(2, MobileBlock(112, 3, 6, 1, gated=True)),
    *_stage(3, MobileBlock(160, 5, 6, 2, gated=True)),
    *_stage(1, MobileBlock(320, 3, 6)),
)
"""The blocks after the first, which has 16 channels and no expansion (Tan et al., Figure 7)."""

PROXYLESS = (
    *(MobileBlock(32, 5, 3, 2), MobileBlock(32, 3, 3)),
    *(MobileBlock(40, 7, 3, 2), MobileBlock(40, 3, 3), MobileBlock(40, 5, 3), MobileBlock(40, 5, 3)),
    *(MobileBlock(80, 7, 6, 2), *(MobileBlock(80, 5, 3),) * 3),
    *(MobileBlock(96, 5, 6), *(MobileBlock(96, 5, 3),) * 3),
    *(MobileBlock(192, 7, 6, 2), MobileBlock(192, 7, 6), *(MobileBlock(192, 7, 3),) * 2),
    MobileBlock(320, 7, 6),
)
"""The blocks after the first, without those that the search left out (Cai et al., Figure 4)."""


def mnasnet(net: ProgramBuilder, *, size: int, classes: int, width: float, variant: str, head: str) -> None:
    """Stem, a depthwise separable convolution, blocks, 1280 channels, and a classifier."""
    _network(net, image(net, size), A1 if variant == "a1" else B1, classes, width, head)


def proxylessnas(net: ProgramBuilder, *, size: int, classes: int, head: str) -> None:
    """Stem, a depthwise separable convolution, blocks, 1280 channels, and a classifier."""
    _network(net, image(net, size), PROXYLESS, classes, 1.0, head)


def _network(
    net: ProgramBuilder, x: Value, blocks: tuple[MobileBlock, ...], classes: int, width: float, head: str
) -> None:
    x = net.conv("stem", x, divisible(32 * width), 3, stride=2, pad=1)
    x = net.conv("block0.project", depthwise(net, "block0.depthwise", x), divisible(16 * width), 1)
    for index, block in enumerate(blocks, start=1):
        x = mobile_block(net, f"block{index}", x, block, divisible(block.channels * width))
    x = net.conv("last", x, 1280, 1)
    net.output(classified(net, "classifier", x, classes, head))


def mobile_block(
    net: ProgramBuilder, name: str, x: Value, block: MobileBlock, channels: int, adds: bool = True
) -> Value:
    """An inverted residual block to so many ``channels``; it ``adds`` its input where shapes are equal."""
    y = net.conv(f"{name}.expand", x, x.shape[1] * block.expansion, 1) if block.expansion else x
    y = depthwise(net, f"{name}.depthwise", y, block.kernel, block.stride)
    if block.gated:
        y = excited(net, name, y, x.shape[1] // 4)
    y = net.conv(f"{name}.project", y, channels, 1)
    return add(net, f"{name}.add", y, x) if adds and x.shape == y.shape else y
