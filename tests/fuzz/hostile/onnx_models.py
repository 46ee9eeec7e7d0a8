"""Small ONNX models, and hostile changes of them."""

from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from random import Random
from typing import Any

from tests.fuzz.hostile.values import NAMES
from tests.support.onnx_operators import cases, operator_model
from tests.workloads.from_onnx.support_models import helper, ints, model, node, onnx, zeros

LEAST, MOST = -(1 << 63), (1 << 63) - 1
"""The least and the largest integer that an attribute can have."""
SIZES = (0, -1, 1, 3, 64, 65, 1 << 20, 1 << 31, 1 << 40, 1 << 53, MOST, LEAST)
PLACES = ("0", "-1", "3", "1e3", "9" * 30, str(MOST), "", "\0")
"""Offsets and lengths in a file of data."""
OPS = (
    *("Relu", "Conv", "ConstantOfShape", "Reshape", "Loop", "Softmax"),
    *("Split", "Gather", "Foo", "LSTM", "Einsum"),
)


@cache
def models() -> tuple[bytes, ...]:
    """Valid models: a feed-forward one, one whose shapes are computed, one with branches and loops."""
    tables = (operator_model(case)[1] for case in cases("hostile_models").values())
    body = helper.make_graph(
        [node("Identity", "on", "on_out"), node("Gemm", "h k", "h_out")],
        "body",
        [_info("i", 7, ()), _info("on", 9, ()), _info("h", 1, (1, 4))],
        [_info("on_out", 9, ()), _info("h_out", 1, (1, 4))],
    )
    arms = {
        name: helper.make_graph([node(op, "x", name)], name, [], [_info(name, 1, (1, 4))])
        for name, op in (("yes", "Relu"), ("no", "Tanh"))
    }
    control = model(
        [
            node("If", "on", "a", "gate", then_branch=arms["yes"], else_branch=arms["no"]),
            node("Loop", "count on a", "y", "steps", body=body),
        ],
        {"x": (1, 4), "on": ()},
        "y",
        {"count": ints(3).reshape(()), "k": zeros(4, 4)},
        types={"on": 9},
    )
    return tuple(each.SerializeToString() for each in (*tables, control, _functions(3), _outside()))


def _functions(depth: int) -> Any:
    """Functions, each of which calls the one below it twice."""
    made = model([node(f"F{depth}", "x", "y", domain="F")], {"x": (1, 4)}, "y")
    versions = [helper.make_opsetid("", 17), helper.make_opsetid("F", 1)]
    for level in range(depth + 1):
        op, domain = (f"F{level - 1}", "F") if level else ("Relu", "")
        body = [node(op, "a", "b", domain=domain), node(op, "b", "c", domain=domain)]
        made.functions.append(helper.make_function("F", f"F{level}", ["a"], ["c"], body, versions))
    made.opset_import.append(versions[1])
    return made


def _outside() -> Any:
    """A product with weights in another file."""
    made = model([node("Gemm", "x w", "y")], {"x": (1, 4)}, "y", {"w": (4, 4)})
    tensor = made.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = onnx.TensorProto.EXTERNAL
    for key, value in (("location", "hostile.onnx"), ("offset", "4"), ("length", "64")):
        tensor.external_data.add(key=key, value=value)
    return made


def _info(name: str, kind: int, shape: tuple[int, ...]) -> Any:
    return helper.make_tensor_value_info(name, kind, shape)


def mutated_model(raw: bytes, random: Random) -> bytes:
    """``raw`` with one to three fields changed, anywhere in it."""
    made = onnx.ModelProto()
    made.ParseFromString(raw)
    for _ in range(random.choice([1, 1, 2, 3])):
        _change(random.choice(list(_messages(made))), random)
    return bytes(made.SerializeToString())


def _messages(message: Any) -> Iterator[Any]:
    """A message and all that are inside it."""
    yield message
    for field, value in message.ListFields():
        if field.type == field.TYPE_MESSAGE:
            for inner in value if field.is_repeated else [value]:
                yield from _messages(inner)


def _change(message: Any, random: Random) -> None:
    """Change a field, of two in three one that is set; what has no such value stays as it is."""
    present = [field for field, _ in message.ListFields()]
    field = random.choice(present if present and random.random() < 0.7 else message.DESCRIPTOR.fields)
    value = getattr(message, field.name)
    with suppress(TypeError, ValueError):
        if field.is_repeated and value and random.random() < 0.8:
            at = random.randrange(len(value))
            match random.randrange(3):
                case 0:
                    del value[at]
                case 1:
                    value.extend([value[at]] * random.choice([1, 1, 2, 64]))
                case _ if field.type != field.TYPE_MESSAGE:
                    value[at] = _any_value(field, value[at], random)
                case _:
                    value[at].CopyFrom(random.choice(value))
        elif field.is_repeated:
            value.append(_any_value(field, 0, random) if field.type != field.TYPE_MESSAGE else value.add())
        elif field.type == field.TYPE_MESSAGE or random.random() < 0.2:
            message.ClearField(field.name)
        else:
            setattr(message, field.name, _any_value(field, value, random))


def _any_value(field: Any, before: Any, random: Random) -> Any:
    """A hostile value of the field's type, or one near to that which it has."""
    if field.cpp_type == field.CPPTYPE_STRING:
        text = random.choice([*NAMES, *PLACES, *OPS]).encode(errors="replace")
        return text if field.type == field.TYPE_BYTES else text.decode()
    if field.cpp_type in (field.CPPTYPE_FLOAT, field.CPPTYPE_DOUBLE):
        return random.choice([0.0, -1.0, 1e300, float("nan"), float("inf")])
    return random.choice([*SIZES, before - 1, before + 1, before + 1])
