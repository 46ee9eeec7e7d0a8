"""PicoDet for pedestrians, as in pedestrian_detect_pico_s8_v1.espdl of github.com/espressif/esp-dl, after Yu
et al. 2021, arXiv:2111.00902.

Outputs are boxes and scores of strides 8, 16 and 32; a score is the product of the class's and of a quality.
"""

from __future__ import annotations

from collections.abc import Sequence

from workloads.build.builder import ProgramBuilder
from workloads.build.shapes import Value
from workloads.zoo.layers import concat, depthwise, excited, gated, image, separable, upsample_like

BLOCKS = (
    *((16, 3, 1), (32, 3, 2), (32, 3, 1), (48, 3, 2), (48, 3, 1)),
    *((96, 3, 2), *((96, 5, 1),) * 5),
    *((176, 5, 2), (176, 5, 1)),
)
"""Output channels, kernel and stride of the backbone's blocks; features after the 5th, 11th and last."""

GATES = {11: 32, 12: 48}
"""Squeezed channels of the blocks with squeeze and excitation, by index."""

LATERAL = (32, 48, 80)
"""Channels of neck and head at strides 8, 16 and 32."""

DISTANCES = 32
"""Numbers of a box: a distribution of eight bins for each of four distances."""


def picodet(net: ProgramBuilder, *, size: int, classes: int) -> None:
    """Backbone, neck and heads."""
    for number, x in enumerate(_neck(net, _backbone(net, image(net, size)))):
        _head(net, f"head{number}", x, classes)


def _backbone(net: ProgramBuilder, x: Value) -> list[Value]:
    x = net.conv("stem", x, 16, 3, stride=2, pad=1)
    features: list[Value] = []
    for index, (channels, kernel, stride) in enumerate(BLOCKS):
        name = f"block{index}"
        x = depthwise(net, f"{name}.depthwise", x, kernel, stride)
        if index in GATES:
            x = excited(net, name, x, GATES[index])
        x = net.conv(f"{name}.pointwise", x, channels, 1)
        if index in (4, 10, 12):
            features.append(x)
    return features


def _neck(net: ProgramBuilder, features: Sequence[Value]) -> list[Value]:
    large, middle, small = (
        net.conv(f"neck.lateral{index}", x, channels, 1)
        for index, (x, channels) in enumerate(zip(features, LATERAL, strict=True))
    )

    def joined(name: str, first: Value, second: Value, channels: int) -> Value:
        both = concat(net, f"{name}.join", [first, second])
        return separable(net, f"{name}.2", separable(net, f"{name}.1", both, both.shape[1], 5), channels, 5)

    up = joined("neck.p4", upsample_like(net, "neck.up4", small, middle), middle, LATERAL[1])
    first = joined("neck.p3", upsample_like(net, "neck.up3", up, large), large, LATERAL[0])
    second = joined("neck.n4", separable(net, "neck.down3", first, LATERAL[0], 5, 2), up, LATERAL[1])
    last = joined("neck.n5", separable(net, "neck.down4", second, LATERAL[1], 5, 2), small, LATERAL[2])
    return [first, second, last]


def _head(net: ProgramBuilder, name: str, x: Value, classes: int) -> None:
    channels = x.shape[1]
    x = separable(net, f"{name}.2", separable(net, f"{name}.1", x, channels, 5), channels, 5)
    gate = net.conv(f"{name}.fc", net.pool(f"{name}.squeeze", x, None, kind="average_pool"), channels, 1)
    y = net.conv(f"{name}.features", gated(net, name, x, gate), channels, 1)
    quality = net.conv(f"{name}.quality2", net.conv(f"{name}.quality1", x, 1, 5, pad=2), 1, 1)
    sure = [
        net.elementwise("sigmoid", f"{value.name}.sigmoid", [value])
        for value in (net.conv(f"{name}.class", y, classes, 1), quality)
    ]
    net.output(net.conv(f"{name}.box", y, DISTANCES, 1))
    net.output(net.elementwise("mul", f"{name}.score", sure))
