"""Networks of Espressif's ESP-DL (github.com/espressif/esp-dl, models), as their .espdl files describe them.

``face_msr`` finds faces in 120x160 images and ``face_mnp`` refines each at 48x48, with key points.
``mobilefacenet`` describes a face at 112x112 by 512 numbers (Chen et al. 2018, arXiv:1804.07573); ``mfn`` has
64 channels at first, two of its halving blocks in two groups, and a depthwise convolution over the last
image; ``mbf`` is wider and ends in a dense layer, as InsightFace's. ``osnet`` describes a person at 192x96
(Zhou et al. 2019, arXiv:1905.00953), 0.25 of its channels. Their depthwise convolutions before a 1x1 one
without a ReLU between have no bias.
"""

from __future__ import annotations

from dataclasses import dataclass

from workloads.build.builder import ProgramBuilder
from workloads.build.shapes import Padding, Value
from workloads.zoo.layers import add, concat, depthwise, excited, image

MSR_BLOCKS: tuple[tuple[int, int, Padding], ...] = (
    *((16, 1, 0), (24, 2, 0), (24, 1, 0)),
    *((32, 2, (0, 0, 1, 1)), (32, 1, 1), (32, 2, (1, 0, 1, 1))),
)
"""Channels, stride and padding after the first convolution; features are read after the fourth and last."""


def face_msr(net: ProgramBuilder, *, size: int) -> None:
    """Outputs: scores, boxes and key points at two strides. Input: ``size`` rows, a third more columns."""
    x = net.input("input", (1, 3, size, size * 4 // 3))
    x = net.conv("b0", x, 16, 3, stride=2)
    features: list[Value] = []
    for index, (channels, stride, pad) in enumerate(MSR_BLOCKS, start=1):
        x = _separable(net, f"b{index}", x, channels, stride, pad)
        if index in (4, 6):
            features.append(x)
    for index, feature in enumerate(features):
        joined = _fields(net, f"s{index}", feature)
        for name, channels in (("score", 2), ("box", 8), ("landmark", 20)):
            net.output(net.conv(f"{name}{index}", joined, channels, 1))


def _separable(
    net: ProgramBuilder, name: str, x: Value, channels: int, stride: int = 1, pad: Padding = 1
) -> Value:
    in_c = x.shape[1]
    x = net.conv(f"{name}.depth", x, in_c, 3, stride=stride, pad=pad, groups=in_c, bias=False)
    return net.conv(f"{name}.compress", x, channels, 1)


def _fields(net: ProgramBuilder, name: str, x: Value) -> Value:
    """Three branches of one, two and three more convolutions, joined."""
    first = _separable(net, f"{name}.a", x, 48)
    shared = _separable(net, f"{name}.b", x, 24)
    second = _separable(net, f"{name}.c", shared, 24)
    third = _separable(net, f"{name}.e", _separable(net, f"{name}.d", shared, 24), 24)
    return concat(net, f"{name}.join", [first, second, third])


MNP_BLOCKS = ((48, 2, 64), (0, 2, 64), (96, 1, 128), (192, 1, 256))
"""Expanded channels (0 for none), stride and output channels of the blocks after the first convolution."""


def face_mnp(net: ProgramBuilder, *, size: int) -> None:
    """Outputs: score, box and key points of one face."""
    x = _prelu(net, "b1", net.conv("b1", image(net, size), 32, 3, stride=2))
    for index, (expanded, stride, channels) in enumerate(MNP_BLOCKS, start=2):
        name = f"b{index}"
        if expanded:
            x = _prelu(net, f"{name}.a", net.conv(f"{name}.a", x, expanded, 1, bias=False))
        in_c = x.shape[1]
        x = net.conv(f"{name}.b", x, in_c, 3, stride=stride, groups=in_c, bias=False)
        x = net.conv(f"{name}.c", _prelu(net, f"{name}.b", x), channels, 1)
    for name, channels in (("score", 2), ("box", 4), ("landmark", 10)):
        net.output(net.conv(name, x, channels, 1))


def _prelu(net: ProgramBuilder, name: str, x: Value) -> Value:
    slopes = net.weight(f"{name}.slope", x.shape[1])
    return net.elementwise("prelu", f"{name}.prelu", [x], weights=[slopes])


@dataclass(frozen=True, slots=True)
class FaceStage:
    """A halving block and residual ones: channels in the middle of each kind, and of their output."""

    halving: int
    channels: int
    blocks: int
    residual: int


FACE_STAGES = {
    "mfn": (FaceStage(128, 64, 4, 128), FaceStage(256, 128, 6, 256), FaceStage(512, 128, 2, 256)),
    "mbf": (FaceStage(128, 128, 4, 128), FaceStage(256, 256, 6, 256), FaceStage(512, 256, 2, 256)),
}
"""Stages by the ``variant`` option. ``mfn`` splits its widest layers into two groups that it then joins."""


def mobilefacenet(net: ProgramBuilder, *, size: int, variant: str) -> None:
    """Output: 512 numbers."""
    stages = FACE_STAGES[variant]
    split = variant == "mfn"
    first = stages[0].channels
    x = _prelu(net, "conv1", net.conv("conv1", image(net, size), first, 3, stride=2, pad=1))
    x = _prelu(net, "conv2", depthwise(net, "conv2", x))
    for number, stage in enumerate(stages, start=3):
        parts = 2 if split and stage is stages[-1] else 1
        x = _face_block(net, f"down{number}", x, (stage.halving, stage.channels), 2, parts)
        for index in range(stage.blocks):
            name = f"res{number}.{index}"
            x = add(net, f"{name}.add", x, _face_block(net, name, x, (stage.residual, stage.channels), 1, 1))
    if split:
        x = _grouped(net, "last", x, 512, 2)
        whole = (x.shape[2], x.shape[3])
        x = net.conv("last.depthwise", x, 512, whole, groups=512)
        net.output(net.flatten(net.conv("fc", x, 512, 1)))
    else:
        x = _prelu(net, "last", net.conv("last", x, 512, 1))
        x = _prelu(net, "reduce", net.conv("reduce", x, 64, 1))
        net.output(net.dense("fc", net.flatten(x), 512))


def _face_block(
    net: ProgramBuilder, name: str, x: Value, channels: tuple[int, int], stride: int, parts: int
) -> Value:
    """Expansion, depthwise convolution, projection; ``channels``: in the middle and of the output."""
    y = _grouped(net, f"{name}.sep", x, channels[0], parts)
    y = _prelu(net, f"{name}.depthwise", depthwise(net, f"{name}.depthwise", y, 3, stride))
    return _joined(
        net, f"{name}.proj", [net.conv(f"{name}.proj{i}", y, channels[1] // parts, 1) for i in range(parts)]
    )


def _grouped(net: ProgramBuilder, name: str, x: Value, channels: int, parts: int) -> Value:
    """A 1x1 convolution as ``parts`` of them, each with its PReLU, joined."""
    convolutions = [net.conv(f"{name}{i}", x, channels // parts, 1) for i in range(parts)]
    return _joined(net, name, [_prelu(net, f"{name}{i}", y) for i, y in enumerate(convolutions)])


def _joined(net: ProgramBuilder, name: str, parts: list[Value]) -> Value:
    return concat(net, f"{name}.join", parts) if len(parts) > 1 else parts[0]


OSNET_STAGES = ((16, 64), (32, 96), (32, 128))
"""Channels in the middle and of the output of the two blocks of each stage."""


def osnet(net: ProgramBuilder, *, size: int) -> None:
    """Output: 512 numbers. Input: ``size`` rows, half as many columns."""
    x = net.input("input", (1, 3, size, size // 2))
    x = net.conv("conv1", x, 16, 7, stride=2, pad=3)
    x = net.pool("maxpool", x, 3, stride=2, pad=1)
    for number, (middle, channels) in enumerate(OSNET_STAGES, start=2):
        for index in range(2):
            x = _omni_scale(net, f"stage{number}.{index}", x, middle, channels)
        x = net.conv(f"stage{number}.last", x, channels, 1)
        if number < 4:
            x = net.pool(f"stage{number}.avgpool", x, 2, kind="average_pool")
    pooled = net.pool("avgpool", x, None, kind="average_pool")
    net.output(net.dense("fc", net.flatten(pooled), 512))


def _omni_scale(net: ProgramBuilder, name: str, x: Value, middle: int, channels: int) -> Value:
    """Branches of one, two and three separable convolutions, each gated by channel, added up."""
    y = net.conv(f"{name}.conv1", x, middle, 1)
    total: Value | None = None
    for depth in (1, 2, 3):
        branch = y
        for index in range(depth):
            inner = f"{name}.b{depth}.{index}"
            branch = net.conv(f"{inner}.conv", branch, middle, 1, bias=False)
            branch = depthwise(net, f"{inner}.depthwise", branch)
        inner = f"{name}.b{depth}"
        branch = excited(net, inner, branch, 8)
        total = branch if total is None else add(net, f"{inner}.sum", total, branch)
    assert total is not None
    y = net.conv(f"{name}.conv3", total, channels, 1)
    if x.shape[1] != channels:
        x = net.conv(f"{name}.downsample", x, channels, 1)
    return add(net, f"{name}.add", y, x)
