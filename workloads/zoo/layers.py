"""Layers that several networks use and the builder does not have; most only move data."""

from __future__ import annotations

from collections.abc import Sequence

from chipmodel.model.attributes import AlongAxis, Interleaving, Margins, Scaling
from workloads.build.builder import ProgramBuilder
from workloads.build.shapes import Value


def image(net: ProgramBuilder, size: int, channels: int = 3) -> Value:
    """The input of a vision network: one square image, ``(1, channels, size, size)``."""
    return net.input("input", (1, channels, size, size))


def classifier(net: ProgramBuilder, name: str, x: Value, classes: int, *, bias: bool = True) -> Value:
    """Global average pooling, then one dense layer: ``(1, classes)``."""
    pooled = net.pool("avgpool", x, None, kind="average_pool") if x.shape[2:] != (1, 1) else x
    return net.dense(name, net.flatten(pooled), classes, bias=bias)


def softmax(net: ProgramBuilder, x: Value) -> Value:
    """Softmax over the last axis."""
    return net.vector("softmax", "softmax", [x], attributes=AlongAxis(len(x.shape) - 1, x.shape[-1]))


def add(net: ProgramBuilder, name: str, a: Value, b: Value) -> Value:
    """A residual addition of two images of equal size; it can be split by image rows."""
    return net.vector("add", name, [a, b], rows=a.shape[2])


def concat(net: ProgramBuilder, name: str, parts: Sequence[Value]) -> Value:
    """Images joined along their channels; the op can be split by image rows."""
    batch, _, height, width = parts[0].shape
    channels = sum(part.shape[1] for part in parts)
    shape = (batch, channels, height, width)
    return net.vector("concat", name, parts, shape, rows=height, attributes=AlongAxis(1, channels))


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
