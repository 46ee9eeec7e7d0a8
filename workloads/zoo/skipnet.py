"""SkipNet: residual blocks that a gate may skip (Wang et al., ECCV 2018, arXiv:1711.09485).

The networks for CIFAR-10 with recurrent gates, as in the authors' code (github.com/ucbdrive/skipnet,
cifar/models.py, ResNetRecurrentGateSP): ResNets of 6n+2 layers with a 1x1 convolution where the size
changes; before each block but the first, a gate looks at the block's input: average pooling, 10
features, one step of an LSTM of 10 units that all gates share, one number. Block ``layer1.1`` has the
gate ``layer1.1.gate`` with the arms ``run`` and ``skip``; ``skip`` only hands the input on.

The paper states the computation of the whole network: SkipNet-110 with recurrent gates saves 50 % on CIFAR-10
(section 4.1). From that it is assumed that each block, at any depth, runs with probability 1/2.
"""

from __future__ import annotations

from fractions import Fraction

from workloads.build.builder import ProgramBuilder
from workloads.build.shapes import Value, bias_dtype
from workloads.zoo.control_flow import choose, copy_to, recurrent_cell, step
from workloads.zoo.layers import add, classifier, image

GATE_UNITS = 10
"""Features that a gate reads, and units of its LSTM (cifar/models.py, embed_dim and hidden_dim)."""

RUN_PROBABILITY = Fraction(1, 2)
"""The probability that a block runs (section 4.1; the same for all blocks: assumed)."""


def skipnet(net: ProgramBuilder, *, depth: int, classes: int) -> None:
    """Output: logits (1, classes)."""
    x = net.conv("conv1", image(net, 32), 16, 3, pad=1)
    gates = _SharedGates(net)
    for layer, planes in enumerate((16, 32, 64), start=1):
        for i in range((depth - 2) // 6):
            name, stride = f"layer{layer}.{i}", 2 if layer > 1 and i == 0 else 1
            if layer == 1 and i == 0:
                x = add(net, f"{name}.add", _residual(net, name, x, planes, stride), x)
            else:
                x = _gated(net, name, x, planes, stride, gates)
    net.output(classifier(net, "fc", x, classes))


class _SharedGates:
    """The gates: the weights that all of them share, and the LSTM's state after the last one."""

    def __init__(self, net: ProgramBuilder) -> None:
        self.net = net
        self.cell = recurrent_cell(net, "gate.lstm", "lstm", GATE_UNITS, GATE_UNITS)
        bias = net.weight("gate.fc.bias", 1, bias_dtype(net.dtype))
        self.project = [net.weight("gate.fc.weight", GATE_UNITS), bias]
        self.state: tuple[Value, ...] = ()

    def before(self, name: str, x: Value) -> Value:
        """The number that decides whether block ``name`` with input ``x`` runs."""
        net = self.net
        pooled = net.flatten(net.pool(f"{name}.gate.pool", x, None, kind="average_pool"))
        seen = net.dense(f"{name}.gate.features", pooled, GATE_UNITS)
        self.state = step(net, f"{name}.gate.lstm", self.cell, seen, self.state)
        return net.dense(f"{name}.gate.fc", self.state[0], 1, weights=self.project)


def _gated(net: ProgramBuilder, name: str, x: Value, planes: int, stride: int, gates: _SharedGates) -> Value:
    """A block with its gate; where the size changes, the 1x1 convolution runs in any case."""
    score = gates.before(name, x)
    kept = x if stride == 1 else net.conv(f"{name}.downsample", x, planes, 1, stride=stride)
    joined = f"{name}.out"

    def run() -> None:
        y = _residual(net, name, x, planes, stride)
        net.vector("add", f"{name}.add", [y, kept], rows=y.shape[2], outputs=[joined])

    def skip() -> None:
        copy_to(net, f"{name}.skip", kept, joined)

    choose(
        net,
        f"{name}.gate",
        score,
        {"run": run, "skip": skip},
        {"run": RUN_PROBABILITY, "skip": 1 - RUN_PROBABILITY},
    )
    return Value(joined, kept.shape, kept.dtype)


def _residual(net: ProgramBuilder, name: str, x: Value, planes: int, stride: int) -> Value:
    y = net.conv(f"{name}.conv1", x, planes, 3, stride=stride, pad=1)
    return net.conv(f"{name}.conv2", y, planes, 3, pad=1)
