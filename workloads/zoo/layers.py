"""Layers that several networks use and the builder does not have; most only move data."""

from __future__ import annotations

from chipmodel.model.attributes import Interleaving, Margins, Scaling
from workloads.build.builder import ProgramBuilder
from workloads.build.shapes import Value


def classified(
    net: ProgramBuilder, name: str, x: Value, classes: int, head: str, *, bias: bool = True
) -> Value:
    """Global average pooling and one dense layer, ``(1, classes)``, which is the result if ``head`` is
    ``logits``; else a softmax, or a sigmoid where there is one class."""
    pooled = net.pool("avgpool", x, None, kind="average_pool") if x.shape[2:] != (1, 1) else x
    scores = net.dense(name, net.flatten(pooled), classes, bias=bias)
    if head == "logits":
        return scores
    return net.softmax("softmax", scores) if classes > 1 else net.elementwise("sigmoid", "sigmoid", [scores])


def swish(net: ProgramBuilder, name: str, x: Value) -> Value:
    """``x`` times its sigmoid: two ops in most int8 graphs, where the sigmoid is a table of its own scale."""
    if net.whole_swish:
        return net.elementwise("silu", f"{name}.swish", [x])
    return net.elementwise("mul", f"{name}.swish", [x, net.elementwise("sigmoid", f"{name}.sigmoid", [x])])


def excited(
    net: ProgramBuilder, name: str, x: Value, middle: int, *, swished: bool = False, clipped: bool = False
) -> Value:
    """Squeeze and excitation: the means of all channels pass ``middle`` numbers and become their gates.

    The numbers in the middle may be ``swished``, the gates ``clipped`` before their sigmoid.
    """
    gate = net.pool(f"{name}.squeeze", x, None, kind="average_pool")
    gate = net.conv(f"{name}.reduce", gate, middle, 1)
    if swished:
        gate = swish(net, f"{name}.reduce", gate)
    gate = net.conv(f"{name}.restore", gate, x.shape[1], 1)
    if clipped:
        gate = net.elementwise("clip", f"{name}.clip", [gate])
    gate = net.elementwise("sigmoid", f"{name}.gate", [gate])
    return net.elementwise("mul", f"{name}.excite", [x, gate])


def add(net: ProgramBuilder, name: str, a: Value, b: Value) -> Value:
    """A residual addition of two images of equal size; it can be split by image rows."""
    return net.vector("add", name, [a, b], rows=a.shape[2])


def pad_channels(net: ProgramBuilder, name: str, x: Value, channels: int) -> Value:
    """``x`` padded with zero channels up to ``channels``; ``x`` itself where it has as many."""
    batch, known, height, width = x.shape
    if known == channels:
        return x
    shape = (batch, channels, height, width)
    return net.vector("pad", name, [x], shape, rows=height, attributes=Margins((0, 0, 0, 0)))


def shuffle_channels(net: ProgramBuilder, name: str, x: Value, groups: int) -> Value:
    """The transpose (groups, channels per group) -> (channels per group, groups) within each pixel."""
    return net.vector("transpose", name, [x], rows=x.shape[2], attributes=Interleaving(groups))


def adaptive_pool(net: ProgramBuilder, name: str, x: Value, size: int) -> Value:
    """Average pooling to ``size x size``, as PyTorch's AdaptiveAvgPool2d.

    An input of that size is returned as it is. For a larger one all windows have the same size, where
    PyTorch's differ by up to one pixel. For a smaller one pixels are repeated.
    """
    batch, channels, height, _ = x.shape
    if height == size:
        return x
    if height < size:
        return net.vector("resize", name, [x], (batch, channels, size, size), attributes=Scaling())
    stride = height // size
    return net.pool(name, x, height - (size - 1) * stride, stride=stride, kind="average_pool")


def divisible(channels: float) -> int:
    """The nearest multiple of 8, but not less than 90 % of ``channels``: the rule of MobileNet v2's code."""
    nearest = max(8, int(channels + 4) // 8 * 8)
    return nearest + 8 if nearest < 0.9 * channels else nearest
