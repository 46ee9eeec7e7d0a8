"""Small ONNX models, and hostile changes of them."""

from functools import cache
from random import Random
from typing import Any

from tests.fuzz.hostile.values import NAMES
from tests.workloads.from_onnx.support_models import helper, ints, model, node, nodes, onnx, zeros

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
    conv = model(
        nodes(
            *("c1 = Conv x w b; pads: [1, 1, 1, 1], strides: [2, 2]", "r = Relu c1"),
            *("p = MaxPool r; kernel_shape: [2, 2], strides: [2, 2]", "j = Concat p p; axis: 1"),
            *("g = GlobalAveragePool j", "f = Flatten g", "y = Gemm f v; transB: 1"),
        ),
        {"x": (1, 3, 8, 8)},
        "y",
        {"w": (4, 3, 3, 3), "b": (4,), "v": (5, 8)},
    )
    numbers = {"zero": (0,), "minus": (-1,), "size": (2, 12), "start": (0,), "stop": (6,), "axes": (1,)}
    shapes = model(
        nodes(
            *("s = Shape x", "n = Gather s zero; axis: 0", "to = Concat n minus; axis: 0"),
            *("flat = Reshape x to", "ones = ConstantOfShape size", "sum = Add flat ones"),
            *(
                "cut = Slice sum start stop axes",
                "t = Transpose cut; perm: [1, 0]",
                "y = Softmax t; axis: -1",
            ),
        ),
        {"x": (2, 3, 4)},
        "y",
        {name: ints(*values) for name, values in numbers.items()},
    )
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
    return tuple(each.SerializeToString() for each in (conv, shapes, control, _functions(3), _outside()))


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
    """``raw`` with one to three changes of nodes, attributes, shapes and names."""
    made = onnx.ModelProto()
    made.ParseFromString(raw)
    for _ in range(random.choice([1, 1, 2, 3])):
        if made.functions and random.random() < 0.5:
            _change_functions(made, random)
        else:
            _change(made.graph, made, random)
    return bytes(made.SerializeToString())


def _change(graph: Any, made: Any, random: Random) -> None:
    inner = [a.g for n in graph.node for a in n.attribute if a.HasField("g")]
    if inner and random.random() < 0.5:
        graph = random.choice(inner)
    changed = random.choice(graph.node) if graph.node else graph.node.add()
    match random.randrange(5):
        case 0:
            _change_structure(graph, changed, random)
        case 1:
            _change_data(graph, random)
        case 2:
            _rename(graph, _a_name(graph, random), _text(random))
        case 3 if changed.attribute:
            _change_attribute(random.choice(changed.attribute), random)
        case 3 if made.opset_import:
            made.opset_import[0].version = random.choice([*SIZES, 7, 11, 13])
        case _:
            _near_attribute(changed, random)


def _change_functions(made: Any, random: Random) -> None:
    """Let a function be missing, call another one or itself, or be below many more."""
    changed = random.choice(made.functions)
    match random.randrange(4):
        case 0:
            made.functions.remove(changed)
        case 1:
            random.choice(changed.node).op_type = random.choice(made.functions).name
        case 2:
            changed.name = _text(random)
        case _:
            deeper = _functions(random.choice([9, 12, 16, 40]))
            del made.functions[:]
            made.functions.extend(deeper.functions)
            made.graph.CopyFrom(deeper.graph)


def _change_structure(graph: Any, changed: Any, random: Random) -> None:
    """Change which nodes there are, and what they read and write."""
    match random.randrange(7):
        case 0 if changed.input:
            changed.input[random.randrange(len(changed.input))] = random.choice([_a_name(graph, random), ""])
        case 1 if changed.output:
            changed.output[random.randrange(len(changed.output))] = _a_name(graph, random)
        case 2:
            changed.op_type = random.choice(OPS)
        case 3:
            changed.name = _text(random)
        case 4:
            graph.node.add().CopyFrom(changed)
        case 5:
            graph.node.remove(changed)
        case _:
            name = random.choice(["axis", "perm", "pads", "value"])
            changed.attribute.add(name=name, ints=[_size(random)], type=7)


def _change_data(graph: Any, random: Random) -> None:
    """Change a constant, or the shape of an input or output."""
    if graph.initializer and random.random() < 0.5:
        _change_constant(random.choice(graph.initializer), random)
    else:
        infos = [*graph.input, *graph.output]
        if infos:
            _change_shape(random.choice(infos), random)


def _rename(graph: Any, old: str, new: str) -> None:
    """Give a tensor another name, wherever it stands in this graph."""
    for each in graph.node:
        for names in (each.input, each.output):
            names[:] = [new if name == old else name for name in names]
    for each in (*graph.initializer, *graph.input, *graph.output):
        each.name = new if each.name == old else each.name


def _near_attribute(changed: Any, random: Random) -> None:
    """Change numbers of a node a little."""
    for attribute in changed.attribute:
        attribute.i = max(LEAST, min(MOST, attribute.i + random.choice([-1, 0, 1])))
        near = (n + random.choice([-1, 0, 0, 1, 2]) for n in attribute.ints)
        attribute.ints[:] = [min(max(0, n), MOST) for n in near]


def _a_name(graph: Any, random: Random) -> str:
    names: list[str] = [name for n in graph.node for name in (*n.input, *n.output)] + [
        i.name for i in graph.initializer
    ]
    return random.choice([*names, _text(random)])


def _text(random: Random) -> str:
    text: str = random.choice(NAMES)
    return text.encode(errors="replace").decode()


def _size(random: Random) -> int:
    return random.choice(SIZES)


def _change_attribute(attribute: Any, random: Random) -> None:
    attribute.i = _size(random)
    if attribute.ints:
        attribute.ints[random.randrange(len(attribute.ints))] = _size(random)
    if random.random() < 0.3:
        del attribute.ints[:]
        attribute.ints.extend([_size(random)] * random.choice([0, 1, 70]))
    if random.random() < 0.3:
        attribute.type = random.choice([1, 2, 3, 4, 6, 7, 8])


def _change_constant(tensor: Any, random: Random) -> None:
    if tensor.external_data and random.random() < 0.5:
        entry = random.choice(tensor.external_data)
        entry.value = random.choice([*PLACES, _text(random), "../w", "/dev/zero", "/etc/passwd"])
        return
    match random.randrange(4):
        case 0:
            tensor.dims.append(_size(random))
        case 1:
            rank = random.choice([1, 9, 32, 33, 65, 3000])
            tensor.CopyFrom(helper.make_tensor(tensor.name, 7, [rank], [random.choice([1, 1, 2])] * rank))
        case 2:
            tensor.data_type = random.choice([0, 1, 2, 6, 7, 8, 9, 16, 22, 99])
        case _:
            values = [_size(random) for _ in range(random.choice([0, 1, 2]))]
            tensor.CopyFrom(helper.make_tensor(tensor.name, 7, [len(values)], values))


def _change_shape(info: Any, random: Random) -> None:
    dims = info.type.tensor_type.shape.dim
    if dims and random.random() < 0.7:
        dims[random.randrange(len(dims))].dim_value = _size(random)
    elif random.random() < 0.5:
        dims.add(dim_param=_text(random))
    else:
        info.name = _text(random)
