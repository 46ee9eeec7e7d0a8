"""SSD (Liu et al. 2015, arXiv:1512.02325) on MobileNet v2, as in github.com/qfgaohao/pytorch-ssd and, after
it, stm32ai-modelzoo-services (object_detection/pt/src/models/ssd).

``ssd_mobilenetv2`` has 3x3 convolutions for heads and extra layers, ``ssdlite_mobilenetv2`` depthwise
separable ones (Sandler et al. 2018, arXiv:1801.04381). Six anchors a pixel at six scales, 3000 at 300x300;
one class more than ``classes``, for the background. As in ST's exported graph, the outputs are scores before
their softmax and offsets to the anchors; decoding and suppression run on the host.
"""

from __future__ import annotations

from collections.abc import Callable

from chipmodel.model.attributes import AxisOrder
from workloads.build.builder import ProgramBuilder
from workloads.build.shapes import Value
from workloads.zoo.layers import concat, depthwise, image
from workloads.zoo.mobilenet import V2_STAGES, inverted_residual

ANCHORS = 6
BOX = 4

EXTRAS = ((512, 256), (256, 128), (256, 128), (64, 64))
"""Output and middle channels of the extra layers of SSDLite; SSD's middle is as wide as its output."""

Layer = Callable[[ProgramBuilder, str, Value, int], Value]
"""(net, name, x, channels) -> output."""


def ssd_mobilenetv2(net: ProgramBuilder, *, size: int, classes: int) -> None:
    """Whole convolutions in heads and extra layers."""
    _ssd(net, size, classes, lite=False)


def ssdlite_mobilenetv2(net: ProgramBuilder, *, size: int, classes: int) -> None:
    """Depthwise separable convolutions in heads and extra layers."""
    _ssd(net, size, classes, lite=True)


def _ssd(net: ProgramBuilder, size: int, classes: int, *, lite: bool) -> None:
    features = _backbone(net, image(net, size))
    x = features[-1]
    for number, (channels, middle) in enumerate(EXTRAS):
        name = f"extra{number}"
        y = net.conv(f"{name}.reduce", x, middle if lite else channels, 1)
        if lite:
            y = depthwise(net, f"{name}.depthwise", y, 3, 2)
            x = net.conv(f"{name}.project", y, channels, 1)
        else:
            x = net.conv(f"{name}.conv", y, channels, 3, stride=2, pad=1)
        features.append(x)
    scores: list[Value] = []
    boxes: list[Value] = []
    for number, feature in enumerate(features):
        # The last and smallest image has 1x1 heads in both networks.
        layer = _pointwise if number == len(features) - 1 else _separable if lite else _whole
        scores.append(_head(net, f"class{number}", feature, layer, classes + 1))
        boxes.append(_head(net, f"box{number}", feature, layer, BOX))
    net.output(concat(net, "scores", scores))
    net.output(concat(net, "locations", boxes))


def _backbone(net: ProgramBuilder, x: Value) -> list[Value]:
    """Features of stride 16, inside the first block of stride 32, and of stride 32."""
    x = net.conv("features.0", x, 32, 3, stride=2, pad=1)
    features: list[Value] = []
    index = 1
    for expansion, channels, blocks, first_stride in V2_STAGES:
        for block in range(blocks):
            stride = first_stride if block == 0 else 1
            name = f"features.{index}"
            if index == 14:
                expanded = net.conv(f"{name}.expand", x, x.shape[1] * expansion, 1)
                features.append(expanded)
                x = net.conv(
                    f"{name}.project", depthwise(net, f"{name}.depthwise", expanded, 3, 2), channels, 1
                )
            else:
                x = inverted_residual(net, name, x, expansion, channels, stride)
            index += 1
    features.append(net.conv(f"features.{index}", x, 1280, 1))
    return features


def _pointwise(net: ProgramBuilder, name: str, x: Value, channels: int) -> Value:
    return net.conv(name, x, channels, 1)


def _whole(net: ProgramBuilder, name: str, x: Value, channels: int) -> Value:
    return net.conv(name, x, channels, 3, pad=1)


def _separable(net: ProgramBuilder, name: str, x: Value, channels: int) -> Value:
    return net.conv(name, depthwise(net, f"{name}.depthwise", x), channels, 1)


def _head(net: ProgramBuilder, name: str, x: Value, layer: Layer, per_anchor: int) -> Value:
    """(1, anchors, per_anchor): the channels of a pixel made adjacent."""
    y = layer(net, name, x, ANCHORS * per_anchor)
    _, channels, height, width = y.shape
    shape = (1, height, width, channels)
    turned = net.vector("transpose", f"{name}.turned", [y], shape, attributes=AxisOrder((0, 2, 3, 1)))
    return net.reshape(turned, (1, -1, per_anchor))
