"""Wav2letter and Tiny Wav2letter (Collobert et al. 2016, arXiv:1609.03193) as Arm trained them
(github.com/ARM-software/ML-zoo, models/speech_recognition, recreate_model/wav2letter.py and
recreate_code/tinywav2letter.py).

Convolutions over time, each but the last with a leaky ReLU, an op of its own in the TFLite file. Pruning to
half of the weights leaves the shapes as they are.
"""

from __future__ import annotations

from dataclasses import dataclass

from workloads.build.builder import ProgramBuilder
from workloads.zoo.layers import softmax

COEFFICIENTS = 39
"""Numbers of a frame: MFCC and their first and second differences."""


@dataclass(frozen=True, slots=True)
class Wav2letterSizes:
    """Layers of kernel 7, their channels, and the channels of the two wide layers."""

    layers: int
    narrow: int
    wide: int
    softmax: bool


SIZES = {
    "full": Wav2letterSizes(7, 250, 2000, softmax=True),
    "tiny": Wav2letterSizes(5, 100, 750, softmax=False),
}
"""Sizes by the ``variant`` option; only the TFLite file of the full network has a softmax."""


def wav2letter(net: ProgramBuilder, *, size: int, classes: int, variant: str) -> None:
    """Input: ``size`` frames of 10 ms. Output: scores of letters for every second frame."""
    given = SIZES[variant]
    x = net.input("input", (1, COEFFICIENTS, size))
    layers = [(250, 48), *[(given.narrow, 7)] * given.layers, (given.wide, 32), (given.wide, 1)]
    for index, (channels, kernel) in enumerate(layers):
        x = net.conv(f"conv{index}", x, channels, kernel, stride=1 if index else 2, pad="same")
        x = net.elementwise("leaky_relu", f"conv{index}.leaky", [x])
    x = net.conv("letters", x, classes, 1)
    net.output(softmax(net, net.reshape(x, (1, -1, classes))) if given.softmax else x)
