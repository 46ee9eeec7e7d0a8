"""ST ResNet (arXiv:2601.05364; compressed as in CompressNAS, arXiv:2511.11716): ResNet-18 with most
convolutions replaced by three: 1x1 to a few channels, 3x3 among those, 1x1 back.

The channels are those of STMicroelectronics' stm32ai-modelzoo-services
(image_classification/pt/src/models/stresnet), ReLU variants. Only the last of three convolutions is followed
by BatchNorm; the others have no bias. It ends in logits.
"""

from __future__ import annotations

from dataclasses import dataclass

from workloads.build.builder import ProgramBuilder
from workloads.build.shapes import Value
from workloads.zoo.layers import add, classified, image


@dataclass(frozen=True, slots=True)
class Compression:
    """Channels in the middle of the compressed convolutions; 0 where a convolution is whole.

    ``convolutions`` has four numbers a stage, in order; ``downsamples`` those of stages 2 to 4. ``stem`` is
    the middle and the output of the first convolution; where its output has fewer than 64 channels, a 1x1
    convolution after the pooling makes them 64.
    """

    stem: tuple[int, int]
    convolutions: tuple[tuple[int, int, int, int], ...]
    downsamples: tuple[int, int, int]


COMPRESSIONS = {
    "pico": Compression((8, 32), ((24, 16, 24, 8), (24, 8, 8, 8), (8, 8, 8, 8), (8, 8, 8, 8)), (8, 8, 8)),
    "nano": Compression(
        (8, 32), ((0, 32, 0, 40), (0, 32, 64, 16), (48, 16, 48, 8), (32, 8, 48, 8)), (0, 8, 8)
    ),
    "micro": Compression(
        (8, 32), ((0, 0, 0, 0), (0, 40, 88, 32), (88, 72, 80, 32), (80, 8, 72, 64)), (0, 16, 24)
    ),
    "milli": Compression(
        (16, 32), ((0, 0, 0, 0), (0, 96, 0, 72), (0, 120, 168, 72), (160, 72, 168, 96)), (0, 0, 48)
    ),
    "tiny": Compression(
        (16, 64), ((0, 0, 0, 0), (0, 96, 0, 80), (0, 192, 0, 96), (208, 88, 192, 112)), (0, 0, 0)
    ),
}
"""Compressions by the ``variant`` option."""


def st_resnet(net: ProgramBuilder, *, size: int, classes: int, variant: str) -> None:
    """The stem, four stages of two basic blocks, and a classifier."""
    net.output(classified(net, "fc", stages(net, image(net, size), variant)[-1], classes, "logits"))


def stages(net: ProgramBuilder, x: Value, variant: str) -> list[Value]:
    """The outputs of the four stages."""
    given = COMPRESSIONS[variant]
    x = net.conv("conv1.0", x, 3, 1, bias=False)
    x = net.conv("conv1.1", x, given.stem[0], 7, stride=2, pad=3, bias=False)
    x = net.conv("conv1.2", x, given.stem[1], 1)
    x = net.pool("maxpool", x, 3, stride=2, pad=1)
    if given.stem[1] < 64:
        x = net.conv("proj", x, 64, 1, bias=False)
    outputs: list[Value] = []
    for stage, middles in enumerate(given.convolutions, start=1):
        channels, down = 32 << stage, given.downsamples[stage - 2] if stage > 1 else 0
        x = _block(net, f"layer{stage}.0", x, channels, 2 if stage > 1 else 1, (*middles[:2], down))
        x = _block(net, f"layer{stage}.1", x, channels, 1, (*middles[2:], 0))
        outputs.append(x)
    return outputs


def _block(
    net: ProgramBuilder, name: str, x: Value, channels: int, stride: int, middles: tuple[int, int, int]
) -> Value:
    """``middles`` are those of both convolutions and of the downsampling one."""
    y = _compressed(net, f"{name}.conv1", x, (channels, middles[0]), 3, stride)
    y = _compressed(net, f"{name}.conv2", y, (channels, middles[1]), 3, 1)
    if stride != 1:
        x = _compressed(net, f"{name}.downsample", x, (channels, middles[2]), 1, stride)
    return add(net, f"{name}.add", y, x)


def _compressed(
    net: ProgramBuilder, name: str, x: Value, channels: tuple[int, int], kernel: int, stride: int
) -> Value:
    """``channels`` are those of the output and in the middle, 0 for one whole convolution."""
    out_c, middle = channels
    if not middle:
        return net.conv(name, x, out_c, kernel, stride=stride, pad=kernel // 2)
    x = net.conv(f"{name}.0", x, middle, 1, bias=False)
    x = net.conv(f"{name}.1", x, middle, kernel, stride=stride, pad=kernel // 2, bias=False)
    return net.conv(f"{name}.2", x, out_c, 1)
