"""Parts that networks with control flow share: arms, recurrent cells in a loop, lengths of sentences."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

from chipmodel.model.attributes import AlongAxis
from chipmodel.model.program import Node
from chipmodel.model.work import Recurrent, Vector
from chipmodel.records import dataclass
from workloads.build.builder import ProgramBuilder
from workloads.build.shapes import Value, bias_dtype

GATES = {"gru": 3, "lstm": 4}


@dataclass(frozen=True, slots=True)
class RecurrentCell:
    """A GRU or LSTM with ``hidden`` units and the names of its weights, which its steps share."""

    kind: str
    hidden: int
    weights: tuple[str, ...]


def choose(
    net: ProgramBuilder,
    name: str,
    condition: Value | None,
    arms: Mapping[str, Callable[[], object]],
    probabilities: Mapping[str, Fraction],
) -> None:
    """Append an ``if``; ``arms`` maps the name of each arm to a function that appends its ops."""
    bodies: list[tuple[str, list[Node]]] = []
    for arm, fill in arms.items():
        with net.block() as body:
            fill()
        bodies.append((arm, body))
    net.add_if(name, bodies, condition, probabilities)


def copy_to(net: ProgramBuilder, name: str, value: Value, tensor: str) -> Value:
    """Append a copy of ``value`` to ``tensor``, for an arm without ops or a loop's first value."""
    return net.elementwise("copy", name, [value], outputs=[tensor])


def recurrent_cell(net: ProgramBuilder, name: str, kind: str, inputs: int, hidden: int) -> RecurrentCell:
    """Declare the weights of a GRU or LSTM, with one bias per gate row as in Keras 2.0 and the papers."""
    rows = GATES[kind] * hidden
    matrix = net.weight(f"{name}.weight", rows * (inputs + hidden))
    return RecurrentCell(kind, hidden, (matrix, net.weight(f"{name}.bias", rows, bias_dtype(net.dtype))))


def step(
    net: ProgramBuilder, name: str, cell: RecurrentCell, x: Value, state: Sequence[Value]
) -> tuple[Value, ...]:
    """Append one step of ``cell`` on ``x`` (1, inputs) as one op; the new state.

    ``state`` is (), (h) or, of an LSTM, (h, c). The new state is named ``name`` and ``name.cell``.
    """
    work = Recurrent(1, x.shape[-1], cell.hidden, GATES[cell.kind])
    names = [name, f"{name}.cell"][: 2 if cell.kind == "lstm" else 1]
    shapes = [(1, cell.hidden)] * len(names)
    return net.emit(cell.kind, name, work, [x, *state], shapes, weights=cell.weights, outputs=names)


def look_up(net: ProgramBuilder, name: str, token: Value, table: str, width: int) -> Value:
    """The rows of the embedding ``table`` at the indices ``token``; only those are read from Psram."""
    row = Value(name, (*token.shape, width), net.dtype)
    work = Vector(row.elements, token.bytes, row.bytes, attributes=AlongAxis(0, 0))
    return net.emit(
        "embedding", name, work, [token], [row.shape], weights=[table], out_dtype=net.dtype, gathers=True
    )[0]


def most_likely(net: ProgramBuilder, name: str, scores: Value) -> Value:
    """The index of the largest of ``scores``, one int32: greedy decoding."""
    work = Vector(scores.elements, scores.bytes, 4, attributes=AlongAxis(1, scores.shape[-1]))
    return net.emit("argmax", name, work, [scores], [(1,)], out_dtype="int32")[0]


def lengths(most: int) -> tuple[tuple[int, Fraction], ...]:
    """Lengths of a sentence with their probabilities (assumed): half of ``most`` words with probability 1/2,
    three quarters with 1/4, all with 1/4. Empty where these are equal."""
    chances: dict[int, Fraction] = {}
    for quarters, share in ((2, Fraction(1, 2)), (3, Fraction(1, 4)), (4, Fraction(1, 4))):
        words = -(-most * quarters // 4)
        chances[words] = chances.get(words, Fraction(0)) + share
    return tuple(chances.items()) if len(chances) > 1 else ()
