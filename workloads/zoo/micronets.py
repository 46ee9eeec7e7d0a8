"""MicroNets for keyword spotting and anomaly detection (Banbury et al. 2021, arXiv:2010.11267, Table 5).

DS-CNNs with searched channels: a convolution, depthwise separable 3x3 ones, global pooling, a dense layer.
The first convolution is 10x4 over MFCC and 3x3 over a log-mel spectrogram that was resized to 32x32.
"""

from __future__ import annotations

from dataclasses import dataclass

from workloads.build.builder import ProgramBuilder
from workloads.zoo.layers import classifier, separable_chain


@dataclass(frozen=True, slots=True)
class MicroNetSizes:
    """Channels of the first convolution and of each block; the blocks with stride 2."""

    first: int
    blocks: tuple[int, ...]
    halving: tuple[int, ...]


SPOTTING = {
    "small": MicroNetSizes(84, (112, 84, 84, 84, 196), (0,)),
    "medium": MicroNetSizes(140, (140, 140, 140, 112, 196), (0,)),
    "large": MicroNetSizes(276, (248, 276, 276, 248, 248, 248, 248), (0,)),
}
ANOMALY = {
    "small": MicroNetSizes(72, (164, 220, 276, 276), (0, 2, 3)),
    "medium": MicroNetSizes(192, (276,) * 5, (0, 3, 4)),
    "large": MicroNetSizes(276, (248, 276, 276, 248, 248), (0, 3, 4)),
}
"""Sizes by the ``variant`` option."""


def micronet_kws(net: ProgramBuilder, *, size: int, classes: int, variant: str) -> None:
    """Input: ``size`` frames of 10 MFCC."""
    _micronet(net, (size, 10), SPOTTING[variant], (10, 4), classes)


def micronet_ad(net: ProgramBuilder, *, size: int, classes: int, variant: str) -> None:
    """Input: a spectrogram of ``size`` by ``size``."""
    _micronet(net, (size, size), ANOMALY[variant], (3, 3), classes)


def _micronet(
    net: ProgramBuilder,
    image: tuple[int, int],
    sizes: MicroNetSizes,
    kernel: tuple[int, int],
    classes: int,
) -> None:
    x = net.conv("conv1", net.input("input", (1, 1, *image)), sizes.first, kernel, pad="same")
    strides = (2 if index in sizes.halving else 1 for index in range(len(sizes.blocks)))
    x = separable_chain(net, x, zip(sizes.blocks, strides, strict=True))
    net.output(classifier(net, "fc", x, classes))
