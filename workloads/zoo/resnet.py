"""ResNet (He et al. 2015, arXiv:1512.03385) as torchvision builds it; both networks end in logits."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from workloads.build.builder import ProgramBuilder
from workloads.build.shapes import Value
from workloads.zoo.layers import add, classifier, image

BlockBuilder = Callable[[ProgramBuilder, str, Value, int, int], Value]
"""(net, name, x, planes, stride) -> output."""


def resnet18(net: ProgramBuilder, *, size: int, classes: int, width: float) -> None:
    """Two basic blocks a stage; ``width`` as in pytorchcv's resnet18_wd4 (0.25) and others."""
    _resnet(net, size, classes, _basic, (2, 2, 2, 2), width)


def resnet50(net: ProgramBuilder, *, size: int, classes: int) -> None:
    """Bottleneck blocks with the stride in their 3x3 convolution, known as v1.5."""
    _resnet(net, size, classes, _bottleneck, (3, 4, 6, 3))


def _resnet(
    net: ProgramBuilder,
    size: int,
    classes: int,
    block: BlockBuilder,
    depths: Sequence[int],
    width: float = 1.0,
) -> None:
    x = net.conv("conv1", image(net, size), max(1, int(64 * width)), 7, stride=2, pad=3)
    x = net.pool("maxpool", x, 3, stride=2, pad=1)
    for stage, depth in enumerate(depths):
        for i in range(depth):
            stride = 2 if stage > 0 and i == 0 else 1
            # pytorchcv's narrow networks keep the width of the last block.
            last = stage == len(depths) - 1 and i == depth - 1
            planes = 64 << stage if last else max(1, int((64 << stage) * width))
            x = block(net, f"layer{stage + 1}.{i}", x, planes, stride)
    net.output(classifier(net, "fc", x, classes))


def _basic(net: ProgramBuilder, name: str, x: Value, planes: int, stride: int) -> Value:
    y = net.conv(f"{name}.conv1", x, planes, 3, stride=stride, pad=1)
    y = net.conv(f"{name}.conv2", y, planes, 3, pad=1)
    return _joined(net, name, x, y, stride)


def _bottleneck(net: ProgramBuilder, name: str, x: Value, planes: int, stride: int) -> Value:
    y = net.conv(f"{name}.conv1", x, planes, 1)
    y = net.conv(f"{name}.conv2", y, planes, 3, stride=stride, pad=1)
    y = net.conv(f"{name}.conv3", y, 4 * planes, 1)
    return _joined(net, name, x, y, stride)


def _joined(net: ProgramBuilder, name: str, x: Value, y: Value, stride: int) -> Value:
    if stride != 1 or x.shape[1] != y.shape[1]:
        x = net.conv(f"{name}.downsample", x, y.shape[1], 1, stride=stride)
    return add(net, f"{name}.add", y, x)
