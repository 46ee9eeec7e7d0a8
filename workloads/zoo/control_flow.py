"""Layers of networks with loops, as words of the catalogue (``WORDS``), and what other modules take of them.

==============================  ==========================================================================
``a=room:int32,20,1``           a tensor of this type and shape, by default the network's type, which a loop
                                fills slice by slice
``a=carry``                     a copy of the tensor so far, ``a``, for the first iteration
``pick:a,1,42``                 the iteration's slice of ``a``, in this shape
``collect:a``                   copies the tensor so far to the iteration's slice of ``a``
``loop=hand:a<b,c<d``           at the end of an iteration, the next ``a`` is ``b``, the next ``c`` is ``d``
``cell:lstm,512,w,h,c``         one step of a GRU or LSTM of 512 units with the weights ``w`` and the state
                                ``h``, of an LSTM ``h,c``, or none; its second output ends in ``.cell``
``look-up:a,1000,64``           the rows of ``a``, a table of 1000 rows of 64 numbers, at the indices so far
``argmax`` ``row:mul,64``       the index of the largest number: greedy decoding; work that is not cut, with
                                64 numbers as its result, by default as many as before
==============================  ==========================================================================
"""

from __future__ import annotations

from collections.abc import Sequence

from chipmodel.model.attributes import AlongAxis
from chipmodel.model.work import Recurrent, Vector
from workloads.build.builder import ProgramBuilder
from workloads.build.loop_tensors import allocate, collect, hand_over, pick
from workloads.build.shapes import Value, bias_dtype
from workloads.zoo.layered import LayeredNetwork, Words

GATES = {"gru": 3, "lstm": 4}


def recurrent_weights(net: ProgramBuilder, name: str, kind: str, inputs: int, hidden: int) -> tuple[str, str]:
    """Declare the weights of a GRU or LSTM, with one bias per gate row as in Keras 2.0 and the papers."""
    rows = GATES[kind] * hidden
    matrix = net.weight(f"{name}.weight", rows * (inputs + hidden))
    return matrix, net.weight(f"{name}.bias", rows, bias_dtype(net.dtype))


def step(at: LayeredNetwork, name: str, cell: tuple[str, int, str], state: Sequence[Value]) -> Value:
    """Append one step of a ``cell``, its kind, units and the name of its weights, on the tensor so far
    (1, inputs) as one op. The new state is named ``name`` and ``name.cell``."""
    kind, hidden, own = cell
    x, net = at.now, at.net
    names = [name, f"{name}.cell"][: 2 if kind == "lstm" else 1]
    weights = recurrent_weights(net, own, kind, x.shape[-1], hidden)
    work = Recurrent(1, x.shape[-1], hidden, GATES[kind])
    new = net.emit(kind, name, work, [x, *state], [(1, hidden)] * len(names), weights=weights, outputs=names)
    at.saved.update((value.name, value) for value in new)
    return new[0]


def _room(at: LayeredNetwork, name: str, texts: Sequence[str]) -> Value:
    return allocate(at.net, f"{name}.room", name, [*map(at.number, texts[1:])], texts[0] or at.net.dtype)


def _carry(at: LayeredNetwork, name: str, _: Sequence[str]) -> Value:
    return at.net.elementwise("copy", f"{name}.first", [at.now], outputs=[name])


def _pick(at: LayeredNetwork, name: str, texts: Sequence[str]) -> Value:
    whole = at.called(texts[0])
    return pick(at.net, name, whole, whole.shape[0], [*map(at.number, texts[1:])])


def _collect(at: LayeredNetwork, name: str, texts: Sequence[str]) -> Value:
    whole = at.called(texts[0])
    collect(at.net, name, at.now, whole, whole.shape[0])
    return at.now


def _hand(at: LayeredNetwork, name: str, texts: Sequence[str]) -> Value:
    following = dict(text.split("<") for text in texts)
    hand_over(at.net, name, {old: at.called(new) for old, new in following.items()})
    return at.now


def _cell(at: LayeredNetwork, name: str, texts: Sequence[str]) -> Value:
    kind, units, own, *state = texts
    return step(at, name, (kind, at.number(units), own), [*map(at.called, state)])


def _look_up(at: LayeredNetwork, name: str, texts: Sequence[str]) -> Value:
    """Only the rows that are looked up are read from Psram."""
    token, net = at.now, at.net
    rows, width = map(at.number, texts[1:])
    row = Value(name, (*token.shape, width), net.dtype)
    work = Vector(row.elements, token.bytes, row.bytes, attributes=AlongAxis(0, 0))
    table = net.weight(texts[0], rows * width)
    return net.emit(
        "embedding", name, work, [token], [row.shape], weights=[table], out_dtype=net.dtype, gathers=True
    )[0]


def _argmax(at: LayeredNetwork, name: str, _: Sequence[str]) -> Value:
    x = at.now
    work = Vector(x.elements, x.bytes, 4, attributes=AlongAxis(1, x.shape[-1]))
    return at.net.emit("argmax", name, work, [x], [(1,)], out_dtype="int32")[0]


def _row(at: LayeredNetwork, name: str, texts: Sequence[str]) -> Value:
    kind, *size = texts
    return at.net.vector(kind, name, [at.now], (1, *map(at.number, size)) if size else None, rows=1)


WORDS: Words = {
    "room": _room,
    "carry": _carry,
    "pick": _pick,
    "collect": _collect,
    "hand": _hand,
    "cell": _cell,
    "look-up": _look_up,
    "argmax": _argmax,
    "row": _row,
}
