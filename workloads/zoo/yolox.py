"""YOLOX (Ge et al. 2021, arXiv:2107.08430) with depthwise convolutions, as STMicroelectronics builds it.

``st_yoloxn`` has a CSPDarknet with a convolution of stride 2 in place of the focus layer, ReLU6, and Keras'
padding (stm32ai-modelzoo-services, object_detection/tf/src/models/st_yoloxn.py); its outputs are one tensor
for each stride, box, objectness and classes before their sigmoids. ``st_yolod`` has the backbone of ST ResNet
and ReLU (object_detection/pt/ src/models/yolod); as in its exported graph, objectness and classes are after
their sigmoids. Decoding and suppression run on the host.

``swift_yolo`` is the YOLOv5 of Seeed's ModelAssistant with ReLU and whole 3x3 convolutions; boxes are
decoded, as in its TFLite files.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

from chipmodel.model.attributes import AxisOrder, ResizeMode, Scaling
from chipmodel.records import dataclass
from workloads.build.builder import ProgramBuilder
from workloads.build.shapes import Padding, Value
from workloads.zoo.layered import begun
from workloads.zoo.layers import add, concat, image, pooled_thrice, separable, split

BOX = 4
"""Numbers of a box."""


@dataclass(frozen=True, slots=True)
class Detector:
    """What convolutions, neck and head share; ``resize``: how the neck enlarges images. ``whole`` 3x3
    convolutions take the place of depthwise separable ones."""

    net: ProgramBuilder
    pad: Padding | None
    depth: int
    resize: ResizeMode = "nearest"
    whole: bool = False

    def conv(self, name: str, x: Value, channels: int, kernel: int = 1, stride: int = 1) -> Value:
        """A whole convolution."""
        pad = kernel // 2 if self.pad is None else self.pad
        return self.net.conv(name, x, channels, kernel, stride=stride, pad=pad)

    def separable(self, name: str, x: Value, channels: int, stride: int = 1) -> Value:
        """A depthwise 3x3 convolution and a 1x1 one."""
        if self.whole:
            return self.conv(name, x, channels, 3, stride)
        return separable(self.net, name, x, channels, 3, stride, self.pad)

    def stack(self, name: str, x: Value, channels: int, depth: int, *, residual: bool = False) -> Value:
        """A cross-stage partial stack: half of the channels pass ``depth`` bottlenecks, half do not."""
        short = self.conv(f"{name}.short", x, channels // 2)
        deep = self.conv(f"{name}.deep", x, channels // 2)
        for index in range(depth):
            y = self.conv(f"{name}.{index}.reduce", deep, channels // 2)
            y = self.separable(f"{name}.{index}", y, channels // 2)
            deep = add(self.net, f"{name}.{index}.add", deep, y) if residual else y
        return self.conv(f"{name}.output", concat(self.net, f"{name}.concat", [deep, short]), channels)

    def upward(self, name: str, x: Value, lateral: Value) -> tuple[Value, Value]:
        """One step of the neck to a larger image: the reduced ``x``, and its stack with ``lateral``."""
        channels = lateral.shape[1]
        reduced = self.conv(f"{name}.fpn", x, channels)
        shape = (*reduced.shape[:2], *lateral.shape[2:])
        enlarged = self.net.vector(
            "resize", f"{name}.up", [reduced], shape, rows=shape[2], attributes=Scaling(self.resize)
        )
        joined = concat(self.net, f"{name}.join", [enlarged, lateral])
        return reduced, self.stack(name, joined, channels, self.depth)

    def downward(self, name: str, x: Value, lateral: Value, channels: int) -> Value:
        """One step of the neck to a smaller image."""
        smaller = self.separable(f"{name}.down", x, x.shape[1], 2)
        return self.stack(name, concat(self.net, f"{name}.join", [smaller, lateral]), channels, self.depth)

    def neck(self, features: Sequence[Value]) -> list[Value]:
        """A path-aggregation network over features of strides 8, 16 and 32."""
        large, middle, small = features
        reduced, joined = self.upward("neck.p4", small, middle)
        again, first = self.upward("neck.p3", joined, large)
        second = self.downward("neck.n3", first, again, middle.shape[1])
        return [first, second, self.downward("neck.n4", second, reduced, small.shape[1])]

    def branches(self, name: str, x: Value, channels: int) -> tuple[Value, Value]:
        """The features of one head: for the classes, and for box and objectness."""
        x = self.conv(f"{name}.stem", x, channels)
        scores = self.separable(f"{name}.cls2", self.separable(f"{name}.cls1", x, channels), channels)
        boxes = self.separable(f"{name}.reg2", self.separable(f"{name}.reg1", x, channels), channels)
        return scores, boxes


def st_yoloxn(
    net: ProgramBuilder, *, size: int, classes: int, depth: float, width: float, resize: ResizeMode
) -> None:
    """Outputs: ``head1`` to ``head3`` (1, 5 + classes, height, width) at strides 8, 16 and 32."""
    detector = Detector(net, "same", max(round(depth * 3), 1), resize=resize)
    neck = detector.neck(_csp_darknet(detector, image(net, size), int(64 * width)))
    for number, feature in enumerate(neck, start=1):
        name = f"head{number}"
        scores, boxes = detector.branches(name, feature, int(256 * width))
        parts = [
            net.conv(f"{name}.box", boxes, BOX, 1, bias=False),
            net.conv(f"{name}.object", boxes, 1, 1, bias=False),
            net.conv(f"{name}.class", scores, classes, 1, bias=False),
        ]
        net.output(concat(net, name, parts))


def _csp_darknet(detector: Detector, x: Value, base: int) -> list[Value]:
    """Features of strides 8, 16 and 32; ``base`` are the channels at stride 2."""
    x = detector.conv("stem1", x, 12, 3, 2)
    x = detector.conv("stem2", x, base, 3)
    features: list[Value] = []
    for number, factor in enumerate((1, 3, 3, 1), start=1):
        channels, last = base << number, number == 4
        x = detector.separable(f"stage{number}.down", x, channels, 2)
        if last:
            x = _pyramid_pooling(detector, "spp", x)
        x = detector.stack(f"stage{number}", x, channels, detector.depth * factor, residual=not last)
        features.append(x)
    return features[1:]


def _pyramid_pooling(detector: Detector, name: str, x: Value) -> Value:
    net, channels = detector.net, x.shape[1]
    x = detector.conv(f"{name}.reduce", x, channels // 2)
    pooled = [net.pool(f"{name}.pool{k}", x, k, stride=1, pad=k // 2) for k in (5, 9, 13)]
    return detector.conv(f"{name}.output", concat(net, f"{name}.concat", [x, *pooled]), channels)


def swift_yolo(net: ProgramBuilder, *, size: int, classes: int, depth: float, width: float) -> None:
    """Output: ``candidates`` (1, anchors, 5 + classes), three anchors a pixel at strides 8, 16 and 32."""

    def repeats(blocks: int) -> int:
        return max(round(blocks * depth), 1)

    def wide(channels: int) -> int:
        return ceil(channels * width / 8) * 8

    detector = Detector(net, None, repeats(3), whole=True)
    x = net.conv("stem", image(net, size), wide(64), 6, stride=2, pad=2)
    features: list[Value] = []
    for number, blocks in enumerate((3, 6, 9, 3), start=1):
        x = detector.conv(f"stage{number}.down", x, wide(64 << number), 3, 2)
        x = detector.stack(f"stage{number}", x, x.shape[1], repeats(blocks), residual=True)
        features.append(x)
    pooled = pooled_thrice(net, "sppf", detector.conv("sppf.reduce", x, x.shape[1] // 2))
    features[-1] = detector.conv("sppf.output", pooled, x.shape[1])
    neck = enumerate(detector.neck(features[1:]), start=1)
    parts = [_boxes(net, f"head{number}", feature, 5 + classes) for number, feature in neck]
    net.output(concat(net, "candidates", parts))


def _boxes(net: ProgramBuilder, name: str, x: Value, numbers: int) -> Value:
    """(1, anchors, numbers): boxes in pixels and scores in percent, of one stride."""
    x = net.elementwise("sigmoid", f"{name}.sigmoid", [net.conv(name, x, 3 * numbers, 1)])
    pixels = x.shape[2] * x.shape[3]
    x = net.reshape(x, (1, 3, numbers, pixels))
    order, shape = AxisOrder((0, 1, 3, 2)), (1, 3, pixels, numbers)
    x = net.vector("transpose", f"{name}.turned", [x], shape, rows=3, attributes=order)
    outputs = [f"{name}.{part}" for part in ("centre", "extent", "scores")]
    sizes = (2, 2, numbers - BOX)
    centre, extent, scores = split(net, f"{name}.split", x, sizes, axis=3, outputs=outputs)

    def scaled(kind: str, part: str, value: Value, constants: int) -> Value:
        constant = net.weight(f"{name}.{part}.constant", constants)
        return net.elementwise(kind, f"{name}.{part}", [value], weights=[constant])

    centre = scaled("sub", "centre.moved", scaled("mul", "centre.doubled", centre, 1), 1)
    centre = scaled("mul", "centre.pixels", scaled("add", "centre.cell", centre, 2 * pixels), 1)
    extent = scaled("mul", "extent.doubled", extent, 1)
    # Its square: the same operand twice.
    extent = net.elementwise("mul", f"{name}.extent.squared", [extent])
    extent = scaled("mul", "extent.pixels", extent, 6)
    scores = scaled("mul", "scores.percent", scores, 1)
    joined = concat(net, f"{name}.join", [centre, extent, scores], axis=3)
    return net.reshape(joined, (1, -1, numbers))


@dataclass(frozen=True, slots=True)
class StYolo:
    """The backbone's variant, and the factor on the channels of neck and head."""

    backbone: str
    width: float


ST_YOLOS = {"milli": StYolo("milli", 0.25), "tiny": StYolo("tiny", 0.375)}
"""Networks by the ``variant`` option (styolo_milli.py, styolo_tiny.py)."""


def st_yolod(net: ProgramBuilder, *, size: int, classes: int, variant: str) -> None:
    """Output: ``detections`` (1, anchors, 5 + classes): box, objectness, classes."""
    given = ST_YOLOS[variant]
    detector = Detector(net, None, 1)
    backbone = begun(net, "measured.st_resnet", f"={given.backbone}", {"input": size})
    features = [backbone.saved[f"layer{stage}.1"] for stage in (2, 3, 4)]
    matched = [
        net.conv(f"match{index}", x, int((256 << index) * given.width), 1) for index, x in enumerate(features)
    ]
    boxes: list[Value] = []
    scores: list[Value] = []
    for number, feature in enumerate(detector.neck(matched), start=1):
        name = f"head{number}"
        of_class, of_box = detector.branches(name, feature, int(256 * given.width))
        class_scores = net.conv(f"{name}.class", of_class, classes, 1)
        boxes.append(net.conv(f"{name}.box", of_box, BOX, 1))
        sure = [
            net.elementwise("sigmoid", f"{v.name}.sigmoid", [v])
            for v in (net.conv(f"{name}.object", of_box, 1, 1), class_scores)
        ]
        scores.append(concat(net, f"{name}.scores", sure))
    parts = [_turned(net, "boxes", boxes), _turned(net, "scores", scores)]
    net.output(concat(net, "detections", parts, axis=2))


def _turned(net: ProgramBuilder, name: str, images: Sequence[Value]) -> Value:
    """(1, anchors, channels) of all images."""
    parts = [net.reshape(x, (1, x.shape[1], -1)) for x in images]
    x = concat(net, f"{name}.joined", parts, axis=2)
    shape, order = (1, x.shape[2], x.shape[1]), AxisOrder((0, 2, 1))
    return net.vector("transpose", f"{name}.turned", [x], shape, attributes=order)
