"""One frame of RNNoise (Valin 2018, arXiv:1709.08243) as Arm's int8 TFLite file computes it
(github.com/ARM-software/ML-zoo, models/noise_suppression/RNNoise, recreate_model/model.py).

Three GRUs of 24, 48 and 96 units, unrolled for one step: two dense layers, gates and blending as ops of their
own. States are inputs and outputs. ``zoo:denoise`` runs many frames and skips parts of them.
"""

from __future__ import annotations

from workloads.build.builder import ProgramBuilder
from workloads.build.shapes import Value
from workloads.zoo.layers import concat, split

UNITS = {"vad": 24, "noise": 48, "denoise": 96}
"""Units of each GRU."""
GAINS = 22


def rnnoise(net: ProgramBuilder, *, size: int) -> None:
    """Inputs: ``input`` (1, size) features and three states. Outputs: gains, voice, and the new states."""
    x = net.input("input", (1, size))
    states = {name: net.input(f"{name}_state", (1, units)) for name, units in UNITS.items()}
    seen = net.elementwise("tanh", "fc1.tanh", [net.dense("fc1", x, 24)])
    voice = _gru(net, "vad", seen, states["vad"])
    noise = _gru(net, "noise", concat(net, "noise_input", [seen, voice, x]), states["noise"])
    clean = _gru(net, "denoise", concat(net, "denoise_input", [voice, noise, x]), states["denoise"])
    for name, value, width in (("gains", clean, GAINS), ("voice", voice, 1)):
        net.output(net.elementwise("sigmoid", f"{name}.sigmoid", [net.dense(name, value, width)]))
    for state in (voice, noise, clean):
        net.output(state)


def _gru(net: ProgramBuilder, name: str, x: Value, state: Value) -> Value:
    """Keras' GRU with the reset gate after the product. The candidate of ``noise`` ends in a ReLU, which is
    fused; the others in a tanh."""
    units = UNITS[name]
    of_x = _gates(net, f"{name}.kernel", x, units)
    of_state = _gates(net, f"{name}.recurrent", state, units)
    update, reset = (
        net.elementwise(
            "sigmoid",
            f"{name}.{gate}",
            [net.elementwise("add", f"{name}.{gate}.sum", [of_x[i], of_state[i]])],
        )
        for i, gate in enumerate(("update", "reset"))
    )
    kept = net.elementwise("mul", f"{name}.kept", [reset, of_state[2]])
    candidate = net.elementwise("add", f"{name}.candidate.sum", [of_x[2], kept])
    if name != "noise":
        candidate = net.elementwise("tanh", f"{name}.candidate", [candidate])
    old = net.elementwise("mul", f"{name}.old", [update, state])
    rest = net.elementwise("sub", f"{name}.rest", [update], weights=[net.weight(f"{name}.one", 1)])
    new = net.elementwise("mul", f"{name}.new", [rest, candidate])
    return net.elementwise("add", f"{name}.state", [old, new])


def _gates(net: ProgramBuilder, name: str, x: Value, units: int) -> tuple[Value, ...]:
    """The three gates of a dense layer."""
    outputs = [f"{name}.{index}" for index in range(3)]
    return split(net, f"{name}.split", net.dense(name, x, 3 * units), [units] * 3, outputs=outputs)
