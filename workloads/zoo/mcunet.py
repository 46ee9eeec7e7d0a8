"""MCUNet (Lin et al. 2020, arXiv:2007.10319; 2021, arXiv:2110.15352): inverted residuals found by a search.

Shapes are those of the JSON files that github.com/mit-han-lab/mcunet had until June 2022 (assets/configs), of
``vww1`` and ``mbv2_chain`` those of github.com/TinyPART/msf-CNN (analysis_optimization.py). The latter is
MobileNetV2 0.35 with channels rounded down and a 1x1 convolution more in its first block.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from workloads.build.builder import ProgramBuilder
from workloads.zoo.layers import classified, image
from workloads.zoo.mnasnet import MobileBlock, mobile_block


@dataclass(frozen=True, slots=True)
class McuShape:
    """Channels of the stem, of each block (``k`` kernel, ``e`` expansion, ``/2`` where its stride is 2), and
    of a last 1x1 convolution; 0 for none."""

    stem: int
    blocks: str
    last: int = 0


SHAPES = {
    "in0": McuShape(
        24,
        "16k3e0 16k5e4/2 16k3e3 16k3e4 24k7e5/2 24k5e4 24k5e5 48k7e5/2 48k5e4 56k3e5 56k5e4 56k3e5"
        " 112k3e6/2 112k5e4 192k3e6",
    ),
    "in1": McuShape(
        16,
        "8k3e0 16k3e4/2 16k3e3 24k7e3/2 24k3e5 40k3e5/2 40k7e4 48k5e4 48k3e3 48k3e4 96k7e5/2 96k5e4 96k5e4"
        " 160k3e6",
    ),
    "in2": McuShape(
        16,
        "8k3e0 16k5e3/2 16k7e6 16k3e5 16k5e5 24k3e5/2 24k7e6 24k5e6 40k7e4/2 40k5e5 48k3e5 48k5e5 48k3e4"
        " 96k5e6/2 96k5e4 96k5e3 96k3e4 160k5e5",
    ),
    "in3": McuShape(
        16,
        "8k3e0 16k7e3/2 16k3e5 16k7e5 16k5e4 24k5e5/2 24k5e5 24k5e5 40k3e5/2 40k7e6 40k5e4 48k5e5 48k7e5"
        " 48k3e5 96k3e6/2 96k7e5 96k3e4 160k7e5",
    ),
    "in4": McuShape(
        32,
        "16k3e0 24k7e3/2 24k3e5 24k5e4 40k7e5/2 40k3e4 40k7e4 80k7e3/2 80k3e3 80k7e3 96k3e4 96k5e3 96k5e3"
        " 192k7e4/2 192k7e3 192k5e3 320k5e4",
    ),
    "vww1": McuShape(
        16,
        "8k3e0 16k3e6/2 16k3e3 16k3e3 24k7e3/2 24k3e6 24k5e5 40k7e6/2 40k7e6 48k3e6 48k3e4 96k5e5/2 96k3e5"
        " 96k3e4 160k7e3",
    ),
    "mbv2": McuShape(
        16,
        "8k3e0 8k3e6/2 8k3e6 16k3e6/2 16k3e6 16k3e6 24k3e6/2 24k3e6 24k3e6 24k3e6 32k3e6 32k3e6 32k3e6"
        " 56k3e6/2 56k3e6 56k3e6 112k3e6",
        448,
    ),
    "proxyless": McuShape(
        16,
        "8k3e0 16k5e3/2 16k3e3 16k7e3/2 16k3e3 16k5e3 16k5e3 24k7e6/2 24k5e3 24k5e3 24k5e3 32k5e6 32k5e3"
        " 32k5e3 32k5e3 64k7e6/2 64k7e6 64k7e3 64k7e3 96k7e6",
        384,
    ),
    "mbv2_chain": McuShape(
        11,
        "5k3e1 8k3e6/2 8k3e6 11k3e6/2 11k3e6 11k3e6 22k3e6/2 22k3e6 22k3e6 22k3e6 33k3e6 33k3e6 33k3e6"
        " 56k3e6/2 56k3e6 56k3e6 112k3e6",
        448,
    ),
}


def mcunet(net: ProgramBuilder, *, size: int, classes: int, variant: str, body: str, head: str) -> None:
    """Stem, blocks, for some a last convolution, and a classifier; a ``chain`` has no additions and ends in
    global pooling."""
    shape, whole = SHAPES[variant], body == "network"
    x = net.conv("stem", image(net, size), shape.stem, 3, stride=2, pad=1)
    for index, text in enumerate(shape.blocks.split()):
        channels, kernel, expansion = map(int, re.findall(r"\d+", text)[:3])
        block = MobileBlock(channels, kernel, expansion, 2 if text.endswith("/2") else 1)
        x = mobile_block(net, f"block{index}", x, block, channels, adds=whole)
    x = net.conv("last", x, shape.last, 1) if shape.last else x
    pooled = net.pool("avgpool", x, None, kind="average_pool")
    net.output(classified(net, "classifier", pooled, classes, head) if whole else pooled)
