"""Blocks of the YOLO networks of github.com/ultralytics/ultralytics, versions 8, 11 and 26 (nn/modules)."""

from __future__ import annotations

from chipmodel.model.attributes import AxisOrder
from chipmodel.model.work import Vector
from workloads.build.builder import ProgramBuilder
from workloads.build.shapes import Value, tensor_bytes
from workloads.zoo.layers import add, concat, pooled_thrice, softmax, split, swish


def activated(
    net: ProgramBuilder, name: str, x: Value, channels: int, kernel: int = 1, stride: int = 1, groups: int = 1
) -> Value:
    """A convolution and a swish."""
    return swish(net, name, plain(net, name, x, channels, kernel, stride, groups))


def plain(
    net: ProgramBuilder, name: str, x: Value, channels: int, kernel: int = 1, stride: int = 1, groups: int = 1
) -> Value:
    """A convolution without an activation."""
    return net.conv(name, x, channels, kernel, stride=stride, pad=kernel // 2, groups=groups)


def typed(net: ProgramBuilder, name: str, x: Value, dtype: str) -> Value:
    """``x`` in another type."""
    if x.dtype == dtype:
        return x
    work = Vector(x.elements, x.bytes, tensor_bytes(x.shape, dtype), rows=x.elements)
    return net.emit("cast", name, work, [x], [x.shape], out_dtype=dtype)[0]


def halves(net: ProgramBuilder, name: str, x: Value, channels: int) -> list[Value]:
    """A 1x1 convolution to ``channels``, cut into two groups of them."""
    return list(split(net, f"{name}.split", activated(net, f"{name}.1", x, channels), [channels // 2] * 2))


def bottleneck(
    net: ProgramBuilder, name: str, x: Value, channels: tuple[int, int], *, residual: bool = True
) -> Value:
    """Two 3x3 convolutions; ``channels`` are those in the middle and of the output."""
    y = activated(net, f"{name}.1", x, channels[0], 3)
    y = activated(net, f"{name}.2", y, channels[1], 3)
    return add(net, f"{name}.add", x, y) if residual and x.shape == y.shape else y


def nested_stack(net: ProgramBuilder, name: str, x: Value) -> Value:
    """C3k: half of the channels pass two bottlenecks, half do not."""
    channels = x.shape[1]
    y = activated(net, f"{name}.1", x, channels // 2)
    for index in range(2):
        y = bottleneck(net, f"{name}.{index}", y, (channels // 2, channels // 2))
    short = activated(net, f"{name}.2", x, channels // 2)
    return activated(net, f"{name}.3", concat(net, f"{name}.concat", [y, short]), channels)


def attention_block(net: ProgramBuilder, name: str, x: Value) -> Value:
    """PSABlock: self-attention over pixels and two 1x1 convolutions, each with a residual addition."""
    x = add(net, f"{name}.add1", x, _attention(net, f"{name}.attention", x))
    y = activated(net, f"{name}.ffn1", x, 2 * x.shape[1])
    return add(net, f"{name}.add2", x, plain(net, f"{name}.ffn2", y, x.shape[1]))


def _attention(net: ProgramBuilder, name: str, x: Value) -> Value:
    _, channels, height, width = x.shape
    heads, pixels = max(channels // 64, 1), height * width
    of_head = channels // heads
    of_key = of_head // 2
    mixed = plain(net, f"{name}.qkv", x, channels + 2 * of_key * heads)
    mixed = net.reshape(mixed, (1, heads, -1, pixels))
    outputs = [f"{name}.{part}" for part in ("query", "key", "value")]
    query, key, value = split(net, f"{name}.split", mixed, (of_key, of_key, of_head), 2, outputs)
    scores = net.matmul(f"{name}.scores", _turned(net, f"{name}.query.turned", query), key)
    scores = net.elementwise("mul", f"{name}.scaled", [scores], weights=[net.weight(f"{name}.scale", 1)])
    shares = softmax(net, scores, f"{name}.softmax")
    seen = net.matmul(f"{name}.seen", value, _turned(net, f"{name}.shares.turned", shares))
    place = plain(net, f"{name}.place", net.reshape(value, x.shape), channels, 3, 1, channels)
    return plain(net, f"{name}.project", add(net, f"{name}.add", net.reshape(seen, x.shape), place), channels)


def _turned(net: ProgramBuilder, name: str, x: Value) -> Value:
    """The last two axes swapped."""
    batch, heads, rows, columns = x.shape
    shape = (batch, heads, columns, rows)
    return net.vector("transpose", name, [x], shape, rows=heads, attributes=AxisOrder((0, 1, 3, 2)))


def pooled_pyramid(
    net: ProgramBuilder, name: str, x: Value, channels: int, *, swished: bool, residual: bool
) -> Value:
    """SPPF: three 5x5 poolings one after another, all joined. ``swished`` is the first convolution."""
    y = (activated if swished else plain)(net, f"{name}.1", x, x.shape[1] // 2)
    y = activated(net, f"{name}.2", pooled_thrice(net, name, y), channels)
    return add(net, f"{name}.add", y, x) if residual and x.shape == y.shape else y
