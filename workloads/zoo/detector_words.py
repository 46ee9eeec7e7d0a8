"""Self-attention of the catalogue's YOLO networks, and layers of their ends that only move data."""

from __future__ import annotations

from collections.abc import Sequence

from chipmodel.model.attributes import AlongAxis, AxisOrder
from workloads.build.builder import ProgramBuilder
from workloads.build.shapes import Value
from workloads.zoo.layered import LayeredNetwork, Words
from workloads.zoo.layers import add


def attend(at: LayeredNetwork, name: str, _: Sequence[str]) -> Value:
    """Self-attention over pixels, and a depthwise convolution of the values (Attention in ultralytics)."""
    net, x = at.net, at.now
    channels, height, width = x.shape[1:]
    heads, pixels = max(channels // 64, 1), height * width
    of_head = channels // heads
    of_key = of_head // 2
    mixed = net.conv(f"{name}.qkv", x, channels + 2 * of_key * heads, 1)
    mixed = net.reshape(mixed, (1, heads, -1, pixels))
    outputs = [f"{name}.{part}" for part in ("query", "key", "value")]
    query, key, value = net.split(f"{name}.split", mixed, (of_key, of_key, of_head), 2, outputs)
    scores = net.matmul(f"{name}.scores", _turned(net, f"{name}.query.turned", query), key)
    scores = net.elementwise("mul", f"{name}.scaled", [scores], weights=[net.weight(f"{name}.scale", 1)])
    shares = net.softmax(f"{name}.softmax", scores)
    seen = net.matmul(f"{name}.seen", value, _turned(net, f"{name}.shares.turned", shares))
    place = net.conv(f"{name}.place", net.reshape(value, x.shape), channels, 3, pad=1, groups=channels)
    return net.conv(
        f"{name}.project", add(net, f"{name}.add", net.reshape(seen, x.shape), place), channels, 1
    )


def _turned(net: ProgramBuilder, name: str, x: Value) -> Value:
    """The last two axes swapped."""
    *first, rows, columns = x.shape
    order = AxisOrder((*range(len(first)), len(first) + 1, len(first)))
    lead = first[1] if len(first) > 1 else None
    return net.vector("transpose", name, [x], (*first, columns, rows), rows=lead, attributes=order)


def swap(at: LayeredNetwork, name: str, _: Sequence[str]) -> Value:
    """The last two axes swapped."""
    return _turned(at.net, name, at.now)


def distributions(at: LayeredNetwork, name: str, _: Sequence[str]) -> Value:
    """The softmax over the bins of (1, distances, bins, anchors); they become the channels."""
    distances, bins, anchors = at.now.shape[1:]
    order, turned = AxisOrder((0, 2, 1, 3)), (1, bins, distances, anchors)
    x = at.net.vector("transpose", name, [at.now], turned, rows=1, attributes=order)
    return at.net.vector("softmax", f"{name}.softmax", [x], rows=1, attributes=AlongAxis(1, bins))


WORDS: Words = {"attend": attend, "swap": swap, "distributions": distributions}
