"""YOLOv8, YOLO11 and YOLO26 (github.com/ultralytics/ultralytics, cfg/models), sizes n and s.

``outputs=raw`` ends in one tensor of boxes and one of classes for each stride, before the sigmoid, as ESP-DL
exports them, which also makes one op of each swish; ``decoded`` joins and decodes them as the exporter of
Ultralytics does: (1, 4 + classes + what a task adds, anchors). YOLO26 has its one-to-one head only, no
distribution of distances, and leaves out the choice of the best anchors at its end. Convolutions end in a
swish: a sigmoid and a multiplication.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from math import ceil

from chipmodel.model.attributes import AlongAxis, AxisOrder
from chipmodel.records import dataclass
from workloads.build.builder import ProgramBuilder
from workloads.build.shapes import Value
from workloads.zoo import yolo_blocks as blocks
from workloads.zoo.layers import concat, image, split, upsample_like

WIDTHS = {"n": 0.25, "s": 0.5}
"""Factors on channels."""

FURTHER = {"pose": 3 * 17, "segment": 32}
"""What each pixel has besides box and classes: 17 points of a body, or coefficients of masks."""
DISTANCES = 16
"""Bins of the distribution of a box's distance."""


@dataclass(frozen=True, slots=True)
class YoloVersion:
    """What tells the versions apart."""

    number: int
    bins: int = DISTANCES

    def shortened(self, repeats: int) -> int:
        """Repeats at the depth of sizes n and s."""
        return max(round(repeats * (0.33 if self.number == 8 else 0.5)), 1)


@dataclass(frozen=True, slots=True)
class YoloBuilder:
    """A network under construction."""

    net: ProgramBuilder
    version: YoloVersion
    width: float
    head: str = ""
    """The type of the heads and of the convolution before each; empty for that of the network."""

    def joined(self, name: str, values: Sequence[Value], channels: int, *, feature: bool = False) -> Value:
        """A 1x1 convolution of all ``values``; that of a ``feature`` is in the type of the heads."""
        x = concat(self.net, f"{name}.concat", values)
        if feature and self.head:
            x = blocks.typed(self.net, f"{name}.wide", x, self.head)
        return blocks.activated(self.net, f"{name}.2", x, channels)

    def wide(self, channels: int) -> int:
        """Channels at this width, a multiple of 8."""
        return ceil(channels * self.width / 8) * 8

    def down(self, name: str, x: Value, channels: int) -> Value:
        """A 3x3 convolution of stride 2."""
        return blocks.activated(self.net, name, x, self.wide(channels), 3, 2)

    def stack(
        self,
        name: str,
        x: Value,
        channels: int,
        *,
        repeats: int = 2,
        nested: bool = False,
        share: float = 0.5,
        residual: bool = True,
        feature: bool = False,
    ) -> Value:
        """C2f (version 8) or C3k2: the output of every inner block is joined."""
        net, out_c = self.net, self.wide(channels)
        hidden = int(out_c * share)
        values = blocks.halves(net, name, x, 2 * hidden)
        for index in range(self.version.shortened(repeats)):
            inner = f"{name}.m{index}"
            if self.version.number == 8:
                y = blocks.bottleneck(net, inner, values[-1], (hidden, hidden), residual=residual)
            elif nested:
                y = blocks.nested_stack(net, inner, values[-1])
            else:
                y = blocks.bottleneck(net, inner, values[-1], (hidden // 2, hidden))
            values.append(y)
        return self.joined(name, values, out_c, feature=feature)

    def attended(self, name: str, x: Value) -> Value:
        """C2PSA: self-attention for half of the channels."""
        net = self.net
        first, second = blocks.halves(net, name, x, x.shape[1])
        second = blocks.attention_block(net, f"{name}.m", second)
        return blocks.activated(net, f"{name}.2", concat(net, f"{name}.concat", [first, second]), x.shape[1])

    def last_of_26(self, name: str, x: Value, channels: int) -> Value:
        """C3k2 with attention in its one inner block."""
        net, out_c = self.net, self.wide(channels)
        values = blocks.halves(net, name, x, out_c)
        y = blocks.bottleneck(net, f"{name}.m0", values[-1], (out_c // 4, out_c // 2))
        values.append(blocks.attention_block(net, f"{name}.m1", y))
        return self.joined(name, values, out_c, feature=True)


def yolov8(net: ProgramBuilder, *, size: int, classes: int, scale: str, outputs: str, task: str) -> None:
    """Strides 8, 16 and 32; 4.4 G multiply-accumulates at 640."""
    _yolo(net, YoloVersion(8), (size, classes), scale, outputs, task=task)


def yolo11(net: ProgramBuilder, *, size: int, classes: int, scale: str, outputs: str, task: str) -> None:
    """Strides 8, 16 and 32; 3.2 G multiply-accumulates at 640."""
    _yolo(net, YoloVersion(11), (size, classes), scale, outputs, task=task)


def yolo26(net: ProgramBuilder, *, size: int, classes: int, scale: str, outputs: str, head: str) -> None:
    """Strides 8, 16 and 32; 2.7 G multiply-accumulates at 640."""
    dtype = "" if head == "same" else head
    _yolo(net, YoloVersion(26, bins=1), (size, classes), scale, outputs, dtype)


def _yolo(
    net: ProgramBuilder,
    version: YoloVersion,
    sizes: tuple[int, int],
    scale: str,
    outputs: str,
    head: str = "",
    task: str = "detect",
) -> None:
    """``sizes`` are those of image and classes; what a ``task`` adds to boxes and classes are outputs."""
    net.whole_swish = outputs == "raw"
    yolo = YoloBuilder(net, version, WIDTHS[scale], head)
    features = _neck(yolo, _backbone(yolo, image(net, sizes[0])))
    heads = [_head(yolo, f"head{i}", x, features[0].shape[1], sizes[1]) for i, x in enumerate(features)]
    further = [
        _further(yolo, f"head{number}.{task}", feature, features[0].shape[1], FURTHER[task])
        for number, feature in enumerate(features if task != "detect" else ())
    ]
    if outputs == "raw":
        for part in (*chain.from_iterable(heads), *further):
            net.output(part)
    else:
        found = [_decoded(yolo, heads, sizes[1]), *_decoded_further(net, task, further)]
        net.output(concat(net, "found", found) if further else found[0])
    if task == "segment":
        net.output(_masks(yolo, features[0]))


def _backbone(yolo: YoloBuilder, x: Value) -> list[Value]:
    """Features of strides 8, 16 and 32."""
    old, new = yolo.version.number == 8, yolo.version.number == 26
    x = yolo.down("stem1", x, 64)
    x = yolo.down("stem2", x, 128)
    wider = (128, 256, 512, 1024) if old else (256, 512, 512, 1024)
    features: list[Value] = []
    for index, (channels, down) in enumerate(zip(wider, (128, 256, 512, 1024), strict=True)):
        if index:
            x = yolo.down(f"down{index}", x, down)
        repeats = 6 if old and index in (1, 2) else 3 if old else 2
        share = 0.5 if old or index > 1 else 0.25
        x = yolo.stack(f"stage{index}", x, channels, repeats=repeats, nested=index > 1, share=share)
        features.append(x)
    x = blocks.pooled_pyramid(yolo.net, "sppf", x, x.shape[1], swished=not new, residual=new)
    return [features[1], features[2], x if old else yolo.attended("psa", x)]


def _neck(yolo: YoloBuilder, features: Sequence[Value]) -> list[Value]:
    net, new, repeats = yolo.net, yolo.version.number == 26, 3 if yolo.version.number == 8 else 2
    large, middle, small = features

    def joined(name: str, x: Value, lateral: Value, channels: int, *, nested: bool = new) -> Value:
        both, feature = concat(net, f"{name}.join", [x, lateral]), name != "neck.p4"
        return yolo.stack(
            name, both, channels, repeats=repeats, nested=nested, residual=False, feature=feature
        )

    def down_of(name: str, x: Value, channels: int) -> Value:
        return yolo.down(name, blocks.typed(net, f"{name}.narrow", x, small.dtype), channels)

    up = joined("neck.p4", upsample_like(net, "neck.up4", small, middle), middle, 512)
    first = joined("neck.p3", upsample_like(net, "neck.up3", up, large), large, 256)
    second = joined("neck.n4", down_of("neck.down3", first, 256), up, 512)
    down = down_of("neck.down4", second, 512)
    if new:
        both = concat(net, "neck.n5.join", [down, small])
        return [first, second, yolo.last_of_26("neck.n5", both, 1024)]
    return [first, second, joined("neck.n5", down, small, 1024, nested=True)]


def _head(yolo: YoloBuilder, name: str, x: Value, first: int, classes: int) -> tuple[Value, Value]:
    """Boxes and classes of one stride; ``first`` are the channels of the feature of stride 8."""
    net, bins = yolo.net, yolo.version.bins
    of_box, of_class = max(16, first // 4, 4 * bins), max(first, min(classes, 100))
    box = x
    for index in (1, 2):
        box = blocks.activated(net, f"{name}.box{index}", box, of_box, 3)
    score = x
    for index in (1, 2):
        if yolo.version.number == 8:
            score = blocks.activated(net, f"{name}.class{index}", score, of_class, 3)
        else:
            inner, channels = f"{name}.class{index}", score.shape[1]
            score = blocks.activated(net, f"{inner}.depthwise", score, channels, 3, 1, channels)
            score = blocks.activated(net, f"{inner}.pointwise", score, of_class)
    return net.conv(f"{name}.box", box, 4 * bins, 1), net.conv(f"{name}.class", score, classes, 1)


def _further(yolo: YoloBuilder, name: str, x: Value, first: int, numbers: int) -> Value:
    """Points or coefficients of masks of one stride."""
    for index in (1, 2):
        x = blocks.activated(yolo.net, f"{name}{index}", x, max(first // 4, numbers), 3)
    return yolo.net.conv(name, x, numbers, 1)


def _decoded_further(net: ProgramBuilder, task: str, further: Sequence[Value]) -> Iterator[Value]:
    """(1, numbers, anchors): coefficients of masks as they are; of points, places in pixels and a score."""
    if not further:
        return
    parts = [net.reshape(each, (1, each.shape[1], -1)) for each in further]
    x = concat(net, f"{task}.anchors", parts, axis=2)
    if task == "pose":
        points, anchors = FURTHER[task] // 3, x.shape[2]
        place, seen = split(net, "points.cut", net.reshape(x, (1, points, 3, anchors)), (2, 1), axis=2)
        for name, kind, numbers in (
            ("twice", "mul", 1),
            ("centre", "add", 2 * anchors),
            ("pixels", "mul", anchors),
        ):
            place = net.elementwise(
                kind, f"points.{name}", [place], weights=[net.weight(f"points.{name}.by", numbers)]
            )
        x = concat(net, "points", [place, net.elementwise("sigmoid", "points.seen", [seen])], axis=2)
        x = net.reshape(x, (1, FURTHER[task], anchors))
    yield x


def _masks(yolo: YoloBuilder, x: Value) -> Value:
    """The masks that are mixed by coefficients, twice as high and wide as ``x``."""
    net, channels = yolo.net, yolo.wide(256)
    x = blocks.activated(net, "masks.1", x, channels, 3)
    x = net.conv("masks.up", x, channels, 2, stride=2, transposed=True)
    return blocks.activated(net, "masks.3", blocks.activated(net, "masks.2", x, channels, 3), 32)


def _decoded(yolo: YoloBuilder, heads: Sequence[tuple[Value, Value]], classes: int) -> Value:
    """(1, 4 + classes, anchors): centres and sizes in pixels, and scores."""
    net, bins = yolo.net, yolo.version.bins
    parts = [
        net.reshape(concat(net, f"head{i}.join", pair), (1, 4 * bins + classes, -1))
        for i, pair in enumerate(heads)
    ]
    x = concat(net, "anchors", parts, axis=2)
    anchors = x.shape[2]
    box, score = split(net, "cut", x, (4 * bins, classes))
    if bins > 1:
        order, turned = AxisOrder((0, 2, 1, 3)), (1, bins, 4, anchors)
        seen = net.reshape(box, (1, 4, bins, anchors))
        seen = net.vector("transpose", "bins", [seen], turned, rows=1, attributes=order)
        seen = net.vector("softmax", "bins.softmax", [seen], rows=1, attributes=AlongAxis(1, bins))
        box = net.reshape(net.conv("bins.mean", seen, 1, 1, bias=False), (1, 4, anchors))
    near, far = split(net, "corners", box, (2, 2))
    first, last = corners = [
        net.elementwise(
            kind, f"corner.{kind}", [distance], weights=[net.weight(f"centres.{kind}", 2 * anchors)]
        )
        for kind, distance in (("sub", near), ("add", far))
    ]
    if yolo.version.number != 26:
        middle = net.elementwise("add", "box.sum", [first, last])
        middle = net.elementwise("mul", "box.centre", [middle], weights=[net.weight("half", 1)])
        corners = [middle, net.elementwise("sub", "box.extent", [last, first])]
    boxes = concat(net, "box.join", corners)
    boxes = net.elementwise("mul", "box.pixels", [boxes], weights=[net.weight("strides", anchors)])
    return concat(net, "detections", [boxes, net.elementwise("sigmoid", "score", [score])])
