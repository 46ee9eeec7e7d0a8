"""What the networks with control flow share: arms, recurrent steps within a loop, lengths of sentences."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

from chipmodel.model.program import Node
from chipmodel.model.work import Recurrent, Vector
from workloads.build.builder import ProgramBuilder
from workloads.build.shapes import Value, bias_dtype

GATES = {"gru": 3, "lstm": 4}


def choose(
    net: ProgramBuilder,
    name: str,
    condition: Value | None,
    arms: Mapping[str, Callable[[], object]],
    probabilities: Mapping[str, Fraction],
) -> None:
    """An ``if`` whose arms are filled by calling what ``arms`` gives for their names."""
    bodies: list[tuple[str, list[Node]]] = []
    for arm, fill in arms.items():
        with net.block() as body:
            fill()
        bodies.append((arm, body))
    net.add_if(name, bodies, condition, probabilities)


def copy_to(net: ProgramBuilder, name: str, value: Value, tensor: str) -> Value:
    """``value`` as ``tensor``: what an arm that makes nothing of its own gives."""
    return net.elementwise("copy", name, [value], outputs=[tensor])


def step_weights(net: ProgramBuilder, name: str, kind: str, inputs: int, hidden: int) -> list[str]:
    """The weights of a GRU or an LSTM with one bias a gate row, as Keras 2.0 and the papers count them."""
    rows = GATES[kind] * hidden
    matrix = net.weight(f"{name}.weight", rows * (inputs + hidden))
    return [matrix, net.weight(f"{name}.bias", rows, bias_dtype(net.dtype))]


def step(
    net: ProgramBuilder,
    name: str,
    kind: str,
    x: Value,
    state: Sequence[Value],
    hidden: int,
    weights: list[str],
) -> tuple[Value, ...]:
    """One step of a recurrent layer on ``x`` (1, inputs), one op as ONNX's; ``state`` is none, (h) or
    (h, c) from the step before. Gives the new state: ``name`` and, of an LSTM, ``name.cell``."""
    work = Recurrent(1, x.shape[-1], hidden, GATES[kind])
    names = [name, f"{name}.cell"][: 2 if kind == "lstm" else 1]
    shapes = [(1, hidden)] * len(names)
    return net.emit(kind, name, work, [x, *state], shapes, weights=weights, outputs=names)


def look_up(net: ProgramBuilder, name: str, token: Value, table: str, width: int) -> Value:
    """The row of the embedding ``table`` that ``token`` names: no other row leaves Psram."""
    row = Value(name, (1, width), net.dtype)
    work = Vector(width, token.bytes, row.bytes)
    return net.emit(
        "embedding", name, work, [token], [row.shape], weights=[table], out_dtype=net.dtype, gathers=True
    )[0]


def most_likely(net: ProgramBuilder, name: str, scores: Value) -> Value:
    """The index of the largest of ``scores``, one int32: greedy decoding."""
    work = Vector(scores.elements, scores.bytes, 4)
    return net.emit("argmax", name, work, [scores], [(1,)], out_dtype="int32")[0]


def lengths(most: int) -> tuple[tuple[int, Fraction], ...]:
    """How long a sentence becomes, assumed: one in two has half of ``most`` words, one in four three
    quarters of it, and one in four all; shares of equal lengths are added up."""
    chances: dict[int, Fraction] = {}
    for quarters, share in ((2, Fraction(1, 2)), (3, Fraction(1, 4)), (4, Fraction(1, 4))):
        words = -(-most * quarters // 4)
        chances[words] = chances.get(words, Fraction(0)) + share
    return tuple(chances.items()) if len(chances) > 1 else ()
