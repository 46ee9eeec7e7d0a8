"""BlazeFace for front cameras (Bazarevsky et al. 2019, arXiv:1907.05047).

Two networks have this name. ``paper`` has the paper's 5x5 depthwise convolutions, single and double
BlazeBlocks, with channels as in github.com/tkat0/PyTorch_BlazeFace (but a 5x5 stem, not 3x3). ``mediapipe``
is the network released as face_detection_front.tflite: 3x3 depthwise convolutions and single BlazeBlocks only
(github.com/hollance/BlazeFace-PyTorch, whose README compares the two). Both have the heads of the release: 2
anchors per pixel at stride 8 and 6 at stride 16, 896 at 128x128; each with one score and 16 coordinates.
Anchor decoding and suppression run on the host. As in the TFLite file, the channels of a pixel are adjacent
in memory, so the reshapes of the heads are views.
"""

from __future__ import annotations

from dataclasses import dataclass

from workloads.build.builder import ProgramBuilder
from workloads.build.shapes import Value
from workloads.zoo.layers import add, concat, depthwise, image, pad_channels

ANCHORS = {8: 2, 16: 6}
"""Anchors per pixel, by stride."""

COORDINATES = 16
"""A box (4) and six key points (x and y)."""


@dataclass(frozen=True, slots=True)
class BlazeBlock:
    """One BlazeBlock; ``middle`` is the bottleneck of a double one, 0 for a single one."""

    channels: int
    stride: int = 1
    middle: int = 0


@dataclass(frozen=True, slots=True)
class FeatureExtractor:
    """The blocks up to stride 8 and from there to stride 16, after a 5x5 convolution of stride 2."""

    kernel: int
    stride8: tuple[BlazeBlock, ...]
    stride16: tuple[BlazeBlock, ...]


EXTRACTORS = {
    "paper": FeatureExtractor(
        kernel=5,
        stride8=(
            *(BlazeBlock(24),) * 2,
            BlazeBlock(48, 2),
            *(BlazeBlock(48),) * 2,
            BlazeBlock(96, 2, 24),
            *(BlazeBlock(96, 1, 24),) * 2,
        ),
        stride16=(BlazeBlock(96, 2, 24), *(BlazeBlock(96, 1, 24),) * 2),
    ),
    "mediapipe": FeatureExtractor(
        kernel=3,
        stride8=(
            *(
                BlazeBlock(24),
                BlazeBlock(28),
                BlazeBlock(32, 2),
                BlazeBlock(36),
                BlazeBlock(42),
                BlazeBlock(48, 2),
            ),
            *(BlazeBlock(56), BlazeBlock(64), BlazeBlock(72), BlazeBlock(80), BlazeBlock(88)),
        ),
        stride16=(BlazeBlock(96, 2), *(BlazeBlock(96),) * 4),
    ),
}
"""Feature extractors by the ``variant`` option."""


def blazeface(net: ProgramBuilder, *, size: int, variant: str) -> None:
    """Outputs: ``regressors`` (1, anchors, 16) and ``classificators`` (1, anchors, 1), no sigmoid."""
    extractor = EXTRACTORS[variant]
    x = net.conv("conv", image(net, size), 24, 5, stride=2, pad="same")
    features: dict[int, Value] = {}
    index = 0
    for stride, blocks in ((8, extractor.stride8), (16, extractor.stride16)):
        for block in blocks:
            x = _blaze_block(net, f"block{index}", x, block, extractor.kernel)
            index += 1
        features[stride] = x
    _head(net, "classificators", features, 1)
    _head(net, "regressors", features, COORDINATES)


def _blaze_block(net: ProgramBuilder, name: str, x: Value, block: BlazeBlock, kernel: int) -> Value:
    y = depthwise(net, f"{name}.depthwise1", x, kernel, block.stride, "same")
    y = net.conv(f"{name}.pointwise1", y, block.middle or block.channels, 1)
    if block.middle:
        y = depthwise(net, f"{name}.depthwise2", y, kernel, 1, "same")
        y = net.conv(f"{name}.pointwise2", y, block.channels, 1)
    if block.stride != 1:
        x = net.pool(f"{name}.maxpool", x, block.stride, pad="same")
    x = pad_channels(net, f"{name}.pad", x, block.channels)
    return add(net, f"{name}.add", y, x)


def _head(net: ProgramBuilder, name: str, features: dict[int, Value], per_anchor: int) -> None:
    parts = [
        net.reshape(
            net.conv(f"{name}.stride{stride}", x, ANCHORS[stride] * per_anchor, 1), (1, -1, per_anchor)
        )
        for stride, x in features.items()
    ]
    net.output(concat(net, name, parts))
