"""One frame of RNNoise (Valin 2018, arXiv:1709.08243) as Arm's int8 TFLite file computes it
(github.com/ARM-software/ML-zoo, models/noise_suppression/RNNoise, recreate_model/model.py).

Three GRUs of 24, 48 and 96 units, unrolled for one step: two dense layers, gates and blending as ops of their
own. States are inputs and outputs. ``zoo:denoise`` runs many frames and skips parts of them.
"""

from __future__ import annotations

from chipmodel.model.attributes import AlongAxis
from workloads.build.builder import ProgramBuilder
from workloads.build.shapes import Value

UNITS = {"vad": 24, "noise": 48, "denoise": 96}
"""Units of each GRU."""
GAINS = 22


def rnnoise(net: ProgramBuilder, *, size: int) -> None:
    """Inputs: ``input`` (1, size) features and three states. Outputs: gains, voice, and the new states."""
    x = net.input("input", (1, size))
    states = {name: net.input(f"{name}_state", (1, units)) for name, units in UNITS.items()}
    seen = net.elementwise("tanh", "fc1.tanh", [net.dense("fc1", x, 24)])
    voice = _gru(net, "vad", seen, states["vad"])
    noise = _gru(net, "noise", _joined(net, "noise_input", [seen, voice, x]), states["noise"])
    clean = _gru(net, "denoise", _joined(net, "denoise_input", [voice, noise, x]), states["denoise"])
    for name, value, width in (("gains", clean, GAINS), ("voice", voice, 1)):
        net.output(net.elementwise("sigmoid", f"{name}.sigmoid", [net.dense(name, value, width)]))
    for state in (voice, noise, clean):
        net.output(state)


def _gru(net: ProgramBuilder, name: str, x: Value, state: Value) -> Value:
    """Keras' GRU with the reset gate after the product. The candidate of ``noise`` ends in a ReLU, which is
    fused; the others in a tanh."""
    units = UNITS[name]
    of_x = _gates(net, f"{name}.kernel", net.dense(f"{name}.kernel", x, 3 * units))
    of_state = _gates(net, f"{name}.recurrent", net.dense(f"{name}.recurrent", state, 3 * units))
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


def _gates(net: ProgramBuilder, name: str, x: Value) -> tuple[Value, ...]:
    shapes = [(1, x.shape[1] // 3)] * 3
    outputs = [f"{name}.{index}" for index in range(3)]
    along = AlongAxis(1, x.shape[1])
    return net.vectors("split", f"{name}.split", [x], shapes, rows=1, attributes=along, outputs=outputs)


def _joined(net: ProgramBuilder, name: str, parts: list[Value]) -> Value:
    width = sum(part.shape[1] for part in parts)
    return net.vector("concat", name, parts, (1, width), rows=1, attributes=AlongAxis(1, width))
