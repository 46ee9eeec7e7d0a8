"""ESPDet-Pico (github.com/espressif/esp-detection, cfg/models/espdet_pico.yaml): a YOLO with depthwise
separable convolutions and ReLU.

Outputs are boxes and classes of strides 8, 16 and 32, before the sigmoid.
"""

from __future__ import annotations

from collections.abc import Sequence

from workloads.build.builder import ProgramBuilder
from workloads.build.shapes import Value
from workloads.zoo.layers import add, concat, depthwise, image, pooled_thrice, separable, split, upsample_like


def espdet_pico(net: ProgramBuilder, *, size: int, classes: int) -> None:
    """Backbone, neck and heads."""
    for number, x in enumerate(_neck(net, _backbone(net, image(net, size)))):
        name = f"head{number}"
        box = separable(net, f"{name}.box2", separable(net, f"{name}.box1", x, 16), 16)
        net.output(net.conv(f"{name}.box", box, 4, 1))
        score = x
        for index in (1, 2):
            score = separable(net, f"{name}.class{index}", score, max(32, min(classes, 100)))
        net.output(net.conv(f"{name}.class", score, classes, 1))


def _backbone(net: ProgramBuilder, x: Value) -> list[Value]:
    """Features of strides 8, 16 and 32."""
    x = net.conv("stem", x, 16, 3, stride=2, pad=1)
    x = separable(net, "down1", x, 32, 3, 2)
    y = net.conv("stage1.1", x, 32, 1)
    y = separable(net, "stage1.3", separable(net, "stage1.2", y, 32), 32)
    x = separable(net, "down2", net.conv("stage1.4", y, 64, 1), 64, 3, 2)
    features = [_split_stack(net, "stage2", x, nested=False)]
    for stage, channels in ((3, 64), (4, 128)):
        y = net.conv(f"down{stage}.1", features[-1], channels, 1)
        y = depthwise(net, f"down{stage}.2", y, 3, 2)
        features.append(_split_stack(net, f"stage{stage}", y, nested=True))
    x = net.conv("sppf.2", pooled_thrice(net, "sppf", net.conv("sppf.1", features[-1], 64, 1)), 128, 1)
    return [features[0], features[1], separable(net, "large", x, 128, 7)]


def _split_stack(net: ProgramBuilder, name: str, x: Value, *, nested: bool) -> Value:
    """Half of the channels pass a bottleneck, or a stack of whole convolutions where ``nested``."""
    channels = x.shape[1]
    whole = net.conv(f"{name}.1", x, channels, 1)
    first, second = split(net, f"{name}.split", whole, [channels // 2] * 2)
    y = (_whole_stack if nested else _bottleneck)(net, f"{name}.m", second)
    return net.conv(f"{name}.2", concat(net, f"{name}.concat", [first, second, y]), channels, 1)


def _bottleneck(net: ProgramBuilder, name: str, x: Value) -> Value:
    channels = x.shape[1]
    y = separable(net, f"{name}.1", x, channels // 2)
    return add(net, f"{name}.add", x, separable(net, f"{name}.2", y, channels))


def _whole_stack(net: ProgramBuilder, name: str, x: Value) -> Value:
    half = x.shape[1] // 2
    y = net.conv(f"{name}.1", x, half, 1)
    for index in range(2):
        z = net.conv(f"{name}.{index}.1", y, half, 3, pad=1)
        y = add(net, f"{name}.{index}.add", y, net.conv(f"{name}.{index}.2", z, half, 3, pad=1))
    joined = concat(net, f"{name}.concat", [y, net.conv(f"{name}.2", x, half, 1)])
    return net.conv(f"{name}.3", joined, 2 * half, 1)


def _neck(net: ProgramBuilder, features: Sequence[Value]) -> list[Value]:
    large, middle, small = features

    def joined(name: str, x: Value, lateral: Value, channels: int) -> Value:
        y = net.conv(f"{name}.1", concat(net, f"{name}.join", [x, lateral]), channels, 1)
        y = separable(net, f"{name}.m1", y, channels // 2)
        y = separable(net, f"{name}.m2", y, channels // 2)
        return net.conv(f"{name}.2", y, channels, 1)

    up = joined("neck.p4", upsample_like(net, "neck.up4", small, middle), middle, 64)
    first = joined("neck.p3", upsample_like(net, "neck.up3", up, large), large, 32)
    second = joined("neck.n4", separable(net, "neck.down3", first, 32, 3, 2), up, 128)
    return [first, second, joined("neck.n5", separable(net, "neck.down4", second, 64, 3, 2), small, 128)]
