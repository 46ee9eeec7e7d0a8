"""What detectors end with, and self-attention: layers of the catalogue's YOLO networks that only move data or
work with constants."""

from __future__ import annotations

from collections.abc import Sequence

from chipmodel.model.attributes import AlongAxis, AxisOrder
from workloads.build.builder import ProgramBuilder
from workloads.build.shapes import Value
from workloads.zoo.layered import LayeredNetwork, Words
from workloads.zoo.layers import add, concat, softmax, split

BOX = 4
"""Numbers of a box."""
HEADS = 3
"""Strides 8, 16 and 32."""


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
    query, key, value = split(net, f"{name}.split", mixed, (of_key, of_key, of_head), 2, outputs)
    scores = net.matmul(f"{name}.scores", _turned(net, f"{name}.query.turned", query), key)
    scores = _with_constant(net, "mul", f"{name}.scaled", scores, f"{name}.scale", 1)
    shares = softmax(net, scores, f"{name}.softmax")
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


def _with_constant(net: ProgramBuilder, kind: str, name: str, x: Value, constant: str, numbers: int) -> Value:
    """An element-wise op of ``x`` and a constant of so many numbers."""
    return net.elementwise(kind, name, [x], weights=[net.weight(constant, numbers)])


def decoded(at: LayeredNetwork, _: str, texts: Sequence[str]) -> Value:
    """(1, 4 + classes, anchors): boxes in pixels and scores. Boxes that are distributions of distances become
    centres and sizes, others stay corners. Takes the numbers of a box and of the classes."""
    net = at.net
    of_box, classes = map(int, texts)
    pairs = [[at.called(f"head{i}.{part}") for part in ("box", "class")] for i in range(HEADS)]
    parts = [
        net.reshape(concat(net, f"head{i}.join", pair), (1, of_box + classes, -1))
        for i, pair in enumerate(pairs)
    ]
    x = concat(net, "anchors", parts, axis=2)
    anchors = x.shape[2]
    box, score = split(net, "cut", x, (of_box, classes))
    if of_box > BOX:
        box = _mean_distance(net, box, of_box // BOX)
    near, far = split(net, "corners", box, (2, 2))
    first, last = corners = [
        _with_constant(net, kind, f"corner.{kind}", distance, f"centres.{kind}", 2 * anchors)
        for kind, distance in (("sub", near), ("add", far))
    ]
    if of_box > BOX:
        middle = net.elementwise("add", "box.sum", [first, last])
        middle = _with_constant(net, "mul", "box.centre", middle, "half", 1)
        corners = [middle, net.elementwise("sub", "box.extent", [last, first])]
    boxes = concat(net, "box.join", corners)
    boxes = _with_constant(net, "mul", "box.pixels", boxes, "strides", anchors)
    return concat(net, "detections", [boxes, net.elementwise("sigmoid", "score", [score])])


def _mean_distance(net: ProgramBuilder, box: Value, bins: int) -> Value:
    """The means of the distributions of four distances."""
    anchors = box.shape[2]
    seen = net.reshape(box, (1, BOX, bins, anchors))
    order, turned = AxisOrder((0, 2, 1, 3)), (1, bins, BOX, anchors)
    seen = net.vector("transpose", "bins", [seen], turned, rows=1, attributes=order)
    seen = net.vector("softmax", "bins.softmax", [seen], rows=1, attributes=AlongAxis(1, bins))
    return net.reshape(net.conv("bins.mean", seen, 1, 1, bias=False), (1, BOX, anchors))


def anchors_of(at: LayeredNetwork, _: str, texts: Sequence[str]) -> Value:
    """(1, numbers, anchors): what all heads have under this name."""
    (kind,) = texts
    found = [at.called(f"head{i}.{kind}") for i in range(HEADS)]
    parts = [at.net.reshape(x, (1, x.shape[1], -1)) for x in found]
    return concat(at.net, f"{kind}.anchors", parts, axis=2)


def points(at: LayeredNetwork, _: str, __: Sequence[str]) -> Value:
    """(1, numbers, anchors): places of a body's points in pixels, and a score each."""
    net, x = at.net, anchors_of(at, "", ("pose",))
    numbers, anchors = x.shape[1:]
    place, seen = split(net, "points.cut", net.reshape(x, (1, numbers // 3, 3, anchors)), (2, 1), axis=2)
    for name, kind, constants in (
        ("twice", "mul", 1),
        ("centre", "add", 2 * anchors),
        ("pixels", "mul", anchors),
    ):
        place = _with_constant(net, kind, f"points.{name}", place, f"points.{name}.by", constants)
    x = concat(net, "points", [place, net.elementwise("sigmoid", "points.seen", [seen])], axis=2)
    return net.reshape(x, (1, numbers, anchors))


def boxes(at: LayeredNetwork, name: str, _: Sequence[str]) -> Value:
    """(1, anchors, numbers): boxes in pixels and scores in percent of one stride, three anchors a pixel."""
    net, x = at.net, at.now
    numbers, pixels = x.shape[1] // 3, x.shape[2] * x.shape[3]
    x = _turned(net, f"{name}.turned", net.reshape(x, (1, 3, numbers, pixels)))
    outputs = [f"{name}.{part}" for part in ("centre", "extent", "scores")]
    sizes = (2, 2, numbers - BOX)
    centre, extent, scores = split(net, f"{name}.split", x, sizes, axis=3, outputs=outputs)

    def scaled(kind: str, part: str, value: Value, constants: int) -> Value:
        return _with_constant(net, kind, f"{name}.{part}", value, f"{name}.{part}.constant", constants)

    centre = scaled("sub", "centre.moved", scaled("mul", "centre.doubled", centre, 1), 1)
    centre = scaled("mul", "centre.pixels", scaled("add", "centre.cell", centre, 2 * pixels), 1)
    extent = scaled("mul", "extent.doubled", extent, 1)
    # Its square: the same operand twice.
    extent = net.elementwise("mul", f"{name}.extent.squared", [extent])
    extent = scaled("mul", "extent.pixels", extent, 6)
    scores = scaled("mul", "scores.percent", scores, 1)
    joined = concat(net, f"{name}.join", [centre, extent, scores], axis=3)
    return net.reshape(joined, (1, -1, numbers))


def detections(at: LayeredNetwork, name: str, _: Sequence[str]) -> Value:
    """(1, anchors, numbers): boxes and scores of all heads."""
    parts: list[Value] = []
    for kind, part in (("boxes", "box"), ("scores", "scores")):
        found = [at.called(f"head{number}.{part}") for number in range(1, HEADS + 1)]
        rows = [at.net.reshape(x, (1, x.shape[1], -1)) for x in found]
        parts.append(_turned(at.net, f"{kind}.turned", concat(at.net, f"{kind}.joined", rows, axis=2)))
    return concat(at.net, name, parts, axis=2)


WORDS: Words = {
    "attend": attend,
    "decoded": decoded,
    "anchors": anchors_of,
    "points": points,
    "boxes": boxes,
    "detections": detections,
}
