"""FastDepth, pruned (Wofk et al. 2019, arXiv:1903.03273), as in github.com/dwofk/fast-depth: MobileNet v1,
and a decoder that repeats pixels and adds what the encoder had at that size."""

from __future__ import annotations

from chipmodel.model.attributes import Scaling
from workloads.build.builder import ProgramBuilder
from workloads.build.shapes import Value
from workloads.zoo.layers import add, image, separable

STEM = 16
ENCODER = (56, 88, 120, 144, 256, 408, 376, 272, 288, 296, 328, 480, 512)
"""Channels of the encoder's layers 1 to 13, as pruned."""
HALVING = frozenset({2, 4, 6, 12})
"""Those of them that halve the image."""
DECODER = (200, 256, 120, 56, 16)
SKIPS = {2: 5, 3: 3, 4: 1}
"""The encoder's layer that each layer of the decoder adds."""


def fastdepth(net: ProgramBuilder, *, size: int) -> None:
    """A depth for each pixel."""
    x = net.conv("conv0", image(net, size), STEM, 3, stride=2, pad=1)
    encoded: dict[int, Value] = {}
    for number, channels in enumerate(ENCODER, start=1):
        x = separable(net, f"conv{number}", x, channels, stride=2 if number in HALVING else 1)
        encoded[number] = x
    for number, channels in enumerate(DECODER, start=1):
        x = _twice(net, f"decode{number}.up", separable(net, f"decode{number}", x, channels, 5))
        if number in SKIPS:
            x = add(net, f"decode{number}.add", x, encoded[SKIPS[number]])
    net.output(net.conv("decode6", x, 1, 1))


def _twice(net: ProgramBuilder, name: str, x: Value) -> Value:
    batch, channels, height, width = x.shape
    shape = (batch, channels, 2 * height, 2 * width)
    return net.vector("resize", name, [x], shape, rows=2 * height, attributes=Scaling())
