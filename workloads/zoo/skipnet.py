"""The gates of SkipNet (Wang et al., ECCV 2018, arXiv:1711.09485).

Ten features of a block's input pass one step of an LSTM of ten units, and one number says whether the block
runs. All gates share their weights.

The paper states the computation of the whole network: SkipNet-110 with recurrent gates saves 50 % on CIFAR-10
(section 4.1). From that it is assumed that each block, at any depth, runs with probability 1/2.
"""

from __future__ import annotations

from collections.abc import Sequence

from workloads.build.shapes import Value, bias_dtype
from workloads.zoo.control_flow import recurrent_weights, step
from workloads.zoo.layered import LayeredNetwork, Words

GATE_UNITS = 10
"""Features that a gate reads, and units of its LSTM (cifar/models.py, embed_dim and hidden_dim)."""
CELL = ("lstm", GATE_UNITS, "gate.lstm")
STATE = ("gate.state", "gate.cell")
"""What the LSTM's state after the last gate is saved as."""


def declare(at: LayeredNetwork, _: str, __: Sequence[str]) -> Value:
    """Declare the weights that all gates share."""
    recurrent_weights(at.net, "gate.lstm", "lstm", GATE_UNITS, GATE_UNITS)
    at.net.weight("gate.fc.bias", 1, bias_dtype(at.net.dtype))
    at.net.weight("gate.fc.weight", GATE_UNITS)
    return at.now


def next_state(at: LayeredNetwork, name: str, _: Sequence[str]) -> Value:
    """One step of the LSTM."""
    after = step(at, name, CELL, [at.saved[key] for key in STATE if key in at.saved])
    at.saved.update(zip(STATE, (after, at.saved[f"{name}.cell"]), strict=True))
    return after


def score(at: LayeredNetwork, name: str, _: Sequence[str]) -> Value:
    """The number that decides whether a block runs."""
    return at.net.dense(name, at.now, 1, weights=["gate.fc.weight", "gate.fc.bias"])


WORDS: Words = {"gates": declare, "step": next_state, "score": score}
