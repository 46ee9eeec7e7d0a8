"""A detector of faces and of bodies after a common stem, shaped like FusionDetect in Wang et al. 2025.

Wang et al. (*Memory optimization method for control flow computation graph*, 2025) cut their FaceDetect and
BodyDetect and joined them as the two branches of one network. None of the three is public; only bytes are
known: FusionDetect's tensors are 26,502,400 B in all, its peak with merged branches is 460,800 B.

Built here: the stem and the face branch are FaceBoxes (Zhang et al. 2017, arXiv:1708.05234; layers as in
github.com/zisianw/FaceBoxes.PyTorch) at 320 x 320. The image, 307,200 B, and the 24 maps of its stem,
153,600 B, make 460,800 B. The body branch is a stack of depthwise separable blocks (MobileNet, Howard et al.
2017) with residual additions that stays at stride 4, with maps of 153,600 B too: input, inner map and output
of a block are 460,800 B again, and 54 blocks bring all tensors to the published sum within 1 %.
Algorithm 2 needs more for it all the same: the stem's map lives next to the block of the branches.
So size, stem, number of blocks and the probabilities of the branches are assumed; both have FaceBoxes' heads.
Decoding and suppression of the 2,134 anchors run on the host.

Source: Wang et al. 2025 (docs/references.md).
"""

from __future__ import annotations

from fractions import Fraction

from chipmodel.model.attributes import AlongAxis
from workloads.build.builder import ProgramBuilder
from workloads.build.shapes import Value
from workloads.zoo.control_flow import choose
from workloads.zoo.layers import add, concat, image, separable

ANCHORS = (21, 1, 1)
"""Anchors per pixel at strides 32, 64 and 128 (FaceBoxes, anchor densification)."""

BODY_CHANNELS = 24
"""Channels of the body branch: its maps then have the 153,600 B of the stem's (assumed, see above)."""
EACH_BRANCH = Fraction(1, 2)
"""The probability of each branch (assumed)."""


def fusiondetect(net: ProgramBuilder, *, size: int, blocks: int) -> None:
    """Outputs: ``boxes`` (1, anchors, 4) and ``scores`` (1, anchors, 2) from the branch that ran."""
    x = stem(net, image(net, size))
    pooled = net.flatten(net.pool("look.pool", x, None, kind="average_pool"))
    seen = net.dense("look", pooled, 1)
    choose(
        net,
        "branch",
        seen,
        {"face": lambda: face(net, "face.", x), "body": lambda: body(net, "body.", x, blocks)},
        {"face": EACH_BRANCH, "body": EACH_BRANCH},
    )
    outputs(net, size)


def outputs(net: ProgramBuilder, size: int) -> None:
    """Declare the outputs of the heads."""
    anchors, side = 0, -(-size // 32)
    for per_pixel in ANCHORS:
        anchors, side = anchors + per_pixel * side * side, -(-side // 2)
    net.output(Value("boxes", (1, anchors, 4), net.dtype))
    net.output(Value("scores", (1, anchors, 2), net.dtype))


def stem(net: ProgramBuilder, x: Value, channels: int = 24) -> Value:
    """FaceBoxes' first convolution, of stride 4, and its CReLU: twice as many channels."""
    return _crelu(net, "conv1", net.conv("conv1", x, channels, 7, stride=4, pad=3))


def face(net: ProgramBuilder, name: str, x: Value) -> None:
    """The layers of FaceBoxes after its stem."""
    x = net.pool(f"{name}pool1", x, 3, stride=2, pad=1)
    x = _crelu(net, f"{name}conv2", net.conv(f"{name}conv2", x, 64, 5, stride=2, pad=2))
    x = net.pool(f"{name}pool2", x, 3, stride=2, pad=1)
    for i in (1, 2, 3):
        x = _inception(net, f"{name}inception{i}", x)
    _heads(net, name, x)


def body(net: ProgramBuilder, name: str, x: Value, blocks: int) -> None:
    """``blocks`` residual blocks at stride 4, then down to the strides of the heads."""
    x = net.conv(f"{name}reduce", x, BODY_CHANNELS, 1)
    for i in range(blocks):
        block = f"{name}block{i}"
        x = add(net, f"{block}.add", x, separable(net, block, x, BODY_CHANNELS))
    for i, channels in enumerate((48, 96, 128)):
        x = separable(net, f"{name}down{i}", x, channels, 3, 2)
    _heads(net, name, x)


def _crelu(net: ProgramBuilder, name: str, x: Value) -> Value:
    """x and -x joined along the channels; the ReLU is fused."""
    batch, channels, height, width = x.shape
    return net.vector(
        "crelu",
        f"{name}.crelu",
        [x],
        (batch, 2 * channels, height, width),
        rows=height,
        attributes=AlongAxis(1, channels),
    )


def _inception(net: ProgramBuilder, name: str, x: Value) -> Value:
    """FaceBoxes' Inception block: four branches of 32 channels."""
    one = net.conv(f"{name}.branch1", x, 32, 1)
    pooled = net.pool(f"{name}.branch2.pool", x, 3, stride=1, pad=1, kind="average_pool")
    two = net.conv(f"{name}.branch2", pooled, 32, 1)
    three = net.conv(f"{name}.branch3", net.conv(f"{name}.branch3.reduce", x, 24, 1), 32, 3, pad=1)
    four = net.conv(f"{name}.branch4.first", net.conv(f"{name}.branch4.reduce", x, 24, 1), 32, 3, pad=1)
    four = net.conv(f"{name}.branch4", four, 32, 3, pad=1)
    return concat(net, f"{name}.concat", [one, two, three, four])


def _heads(net: ProgramBuilder, name: str, x: Value) -> None:
    maps = [x]
    for i in (3, 4):
        x = net.conv(f"{name}conv{i}_1", x, 128, 1)
        x = net.conv(f"{name}conv{i}_2", x, 256, 3, stride=2, pad=1)
        maps.append(x)
    for output, width in (("boxes", 4), ("scores", 2)):
        parts = [
            net.reshape(net.conv(f"{name}{output}{i}", each, per_pixel * width, 3, pad=1), (1, -1, width))
            for i, (each, per_pixel) in enumerate(zip(maps, ANCHORS, strict=True))
        ]
        concat(net, f"{name}{output}", parts, outputs=[output])
