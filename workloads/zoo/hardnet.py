"""HarDNet with depthwise convolutions (Chao et al. 2019, arXiv:1909.00948) as in pytorchcv and in the
authors' github.com/PingoLH/Pytorch-HarDNet: hardnet39ds and hardnet68ds. It ends in logits.

Layer k of a block reads layers k - 1, k - 2, k - 4, ... as far as these powers of two divide k; a layer that
is read by later ones is wider. The block's output joins every second layer and the last.
"""

from __future__ import annotations

from chipmodel.records import dataclass
from workloads.build.builder import ProgramBuilder
from workloads.build.shapes import Value
from workloads.zoo.layers import classified, concat, depthwise, image


@dataclass(frozen=True, slots=True)
class HarmonicBlock:
    """Layers, growth in channels, channels of the output, and whether the image is halved after it."""

    layers: int
    growth: int
    channels: int
    halved: bool


@dataclass(frozen=True, slots=True)
class HarDNetVariant:
    """Channels before the first block, the factor by which layers with more readers are wider, the blocks."""

    stem: int
    factor: float
    blocks: tuple[HarmonicBlock, ...]


VARIANTS = {
    39: HarDNetVariant(
        48,
        1.6,
        (
            HarmonicBlock(4, 16, 96, halved=True),
            HarmonicBlock(16, 20, 320, halved=True),
            HarmonicBlock(8, 64, 640, halved=True),
            HarmonicBlock(4, 160, 1024, halved=False),
        ),
    ),
    68: HarDNetVariant(
        64,
        1.7,
        (
            HarmonicBlock(8, 14, 128, halved=True),
            HarmonicBlock(16, 16, 256, halved=False),
            HarmonicBlock(16, 20, 320, halved=True),
            HarmonicBlock(16, 40, 640, halved=True),
            HarmonicBlock(4, 160, 1024, halved=False),
        ),
    ),
}
"""Networks by the ``depth`` option (Chao et al., Table 1)."""


def hardnet(net: ProgramBuilder, *, size: int, classes: int, depth: int) -> None:
    """Stem of two strides, harmonic blocks, and a classifier."""
    given = VARIANTS[depth]
    x = net.conv("stem.conv1", image(net, size), given.stem // 2, 3, stride=2, pad=1)
    x = net.conv("stem.conv2", x, given.stem, 1)
    x = depthwise(net, "stem.downsample", x, 3, 2)
    for number, block in enumerate(given.blocks, start=1):
        x = _block(net, f"block{number}", x, block, given.factor)
        if block.halved:
            x = depthwise(net, f"block{number}.downsample", x, 3, 2)
    net.output(classified(net, "fc", x, classes, "logits"))


def _block(net: ProgramBuilder, name: str, x: Value, block: HarmonicBlock, factor: float) -> Value:
    values = [x]
    for layer in range(1, block.layers + 1):
        links = _links(layer)
        read = [values[link] for link in links]
        joined = concat(net, f"{name}.{layer}.concat", read) if len(read) > 1 else read[0]
        y = net.conv(f"{name}.{layer}.pointwise", joined, _width(block.growth, factor, len(links)), 1)
        values.append(depthwise(net, f"{name}.{layer}.depthwise", y))
    kept = [value for layer, value in enumerate(values) if layer % 2 or layer == block.layers]
    return net.conv(f"{name}.transition", concat(net, f"{name}.concat", kept), block.channels, 1)


def _links(layer: int) -> list[int]:
    """The layers that ``layer`` reads, nearest first; 0 is the block's input."""
    return [layer - (1 << k) for k in range(layer.bit_length()) if layer % (1 << k) == 0]


def _width(growth: int, factor: float, links: int) -> int:
    """Channels of a layer with that many links, rounded to an even number."""
    channels = float(growth)
    for _ in range(links - 1):
        channels *= factor
    return int(int(channels + 1) / 2) * 2
