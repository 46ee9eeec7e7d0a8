"""Damaged files: each is an error with the file's name and a hint, never a traceback."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from chipmodel.errors import BadInput
from chipmodel.files.yaml_file import read_yaml
from tests.support.mistakes import mistakes
from tests.workloads.from_onnx.support_models import helper, ints, load, model, node, nodes, onnx
from workloads.from_onnx.program import load_onnx

EXP = node("Exp", "x", "y")


def _network() -> Any:
    made = nodes(
        "first = Conv x w b; kernel_shape: [3, 3], pads: [1, 1, 1, 1]",
        *("n = BatchNormalization first s b m v", "r = Relu n"),
        *("p = MaxPool r; kernel_shape: [2, 2], strides: [2, 2]", "shape = Shape p"),
        *("batch = Gather shape zero", "flat = Concat batch minus; axis: 0", "f = Reshape p flat"),
        *("g = Gemm f d e; transB: 1", "y = Softmax g"),
    )
    constants: dict[str, Any] = {"w": (4, 3, 3, 3), "d": (10, 64), "e": (10,), "minus": ints(-1)}
    constants |= {"zero": ints(0)} | dict.fromkeys("bsmv", (4,))
    return model(made, {"x": ["N", 3, 8, 8]}, "y", constants)


BYTES = _network().SerializeToString()


# -- files that are no model -------------------------------------------------------------------

FILES: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "the file is empty"),
    "random": (bytes(range(256)) * 20, "not an ONNX model"),
    "text": (b"name: net\nops:\n  - {op: relu}\n", "not an ONNX model"),
    "zeros": (bytes(1000), "not an ONNX model"),
    "truncated in the middle": (BYTES[: len(BYTES) // 2], "not an ONNX model"),
    "truncated by one": (BYTES[:-1], "not an ONNX model"),
    "a name that is not UTF-8": (BYTES.replace(b"first", b"f\xff\xfe\xfdt"), "not UTF-8"),
}


@pytest.mark.parametrize(("data", "message"), FILES.values(), ids=FILES)
def test_a_file_that_is_no_model(data: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.onnx"
    path.write_bytes(data)
    with pytest.raises(BadInput, match=rf"bad\.onnx: .*{message}(?s:.)*hint: "):
        load_onnx(path)


@pytest.mark.parametrize("name", ["missing.onnx", "", "no/such/folder/net.onnx", "a\0b.onnx"])
def test_a_path_that_is_no_file(name: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"(no such|a directory|cannot be read)(?s:.)*hint: "):
        load_onnx(tmp_path / name)


def test_a_file_larger_than_protobuf_takes(tmp_path: Path) -> None:
    path = tmp_path / "large.onnx"
    with path.open("wb") as stream:
        stream.truncate(1 << 31)
    with pytest.raises(BadInput, match=r"larger than 2047 MiB(?s:.)*external data"):
        load_onnx(path)


# -- graphs that are wrong ---------------------------------------------------------------------


def _changed(change: Callable[[Any], object]) -> Any:
    made = _network()
    change(made)
    return made


def _one(op: str, operands: str, shapes: dict[str, list[Any]], **attributes: Any) -> Any:
    constants: dict[str, Any] = attributes.pop("constants", {})
    return model([node(op, operands, "y", name="bad", **attributes)], shapes, "y", constants)


def _set(made: Any, index: int, name: str, value: object) -> None:
    target = made.graph.node[index]
    kept = [a for a in target.attribute if a.name != name]
    del target.attribute[:]
    target.attribute.extend([*kept, helper.make_attribute(name, value)])


IMAGE = {"x": [1, 4, 8, 8]}
SELF = helper.make_function(
    "f", "F", ["a"], ["b"], [helper.make_node("F", ["a"], ["b"], domain="f")], [helper.make_opsetid("f", 1)]
)

CHANGED: dict[str, tuple[Callable[[Any], object], str]] = {
    "no nodes": (lambda m: m.graph.ClearField("node"), "it has no node"),
    "no operator set": (lambda m: m.ClearField("opset_import"), "it has no operator set"),
    "no outputs": (lambda m: m.graph.ClearField("output"), "has no output"),
    "initializer twice": (lambda m: m.graph.initializer.append(m.graph.initializer[0]), "defined twice"),
    "input twice": (lambda m: m.graph.input.append(m.graph.input[0]), "listed twice"),
    "input without a type": (lambda m: m.graph.input[0].ClearField("type"), "not a tensor"),
    "input is a sequence": (
        lambda m: m.graph.input[0].type.sequence_type.elem_type.tensor_type.SetInParent(),
        "not a tensor",
    ),
    "negative size of a constant": (
        lambda m: m.graph.initializer[0].dims.__setitem__(0, -4),
        "negative dimension",
    ),
    "constant with too few bytes": (
        lambda m: setattr(m.graph.initializer[0], "raw_data", b"123"),
        r"'w' of shape \[4, 3, 3, 3\] cannot be read: buffer size",
    ),
    "constant of unknown type": (
        lambda m: setattr(m.graph.initializer[0], "data_type", 99),
        "'w'.*cannot be read: 99",
    ),
    "external data file missing": (
        lambda m: _external(m.graph.initializer[0], "gone.bin"),
        "'w'.*cannot be read.*gone.bin",
    ),
    "external data outside the folder": (
        lambda m: _external(m.graph.initializer[0], "../../etc/passwd"),
        "'w'.*cannot be read.*points outside",
    ),
    "external data in a file with a NUL in its name": (
        lambda m: _external(m.graph.initializer[0], "we\0ird.bin"),
        "'w'.*cannot be read.*should be stored in",
    ),
    "external data offset": (
        lambda m: _external(m.graph.initializer[0], "gone.bin", "-5"),
        "'w'.*cannot be read.*-5",
    ),
    "attribute without a value": (
        lambda m: m.graph.node[0].attribute.append(onnx.AttributeProto(name="group")),
        "'first'",
    ),
}
"""Changes of the network that make it wrong, and what is said of them."""
SET: dict[str, tuple[int, str, object, str]] = {
    "attribute of a wrong type": (0, "strides", "two", "'first'.*strides"),
    "attribute that is foreign": (0, "shape", 3, "'first'.*shape"),
    "kernel of size 0": (0, "kernel_shape", [0, 3], "kernel_shape is"),
    "stride 0": (3, "strides", [0, 2], "strides is"),
    "no groups": (0, "group", 0, "in 0 groups"),
    "groups that do not divide": (0, "group", 2, "in 2 groups"),
    "pads of a wrong length": (0, "pads", [1, 1, 1], "'first'.*pads"),
}
"""Attributes of its nodes by number, with values that they cannot have."""
GRAPHS: dict[str, tuple[Callable[[], Any], str]] = {
    "reshape that does not fit": (
        lambda: _one("Reshape", "x s", IMAGE, constants={"s": ints(3, 5)}),
        "'bad'",
    ),
    "constant of a negative shape": (
        lambda: _one("ConstantOfShape", "s", {"x": [2]}, constants={"s": ints(2, -3)}),
        r"'bad'.*non-negative elements .'s' is \[ 2 -3\]",
    ),
    "filler of a type that does not exist": (
        lambda: _one(
            "ConstantOfShape",
            "s",
            {"x": [2]},
            constants={"s": ints(2)},
            value=onnx.TensorProto(data_type=119),
        ),
        "Attribute expected to have a one-dim tensor",
    ),
    "output that no node makes": (
        lambda: model([EXP], {"x": [2]}, "y elsewhere"),
        "output 'elsewhere' is produced by no node",
    ),
    "external data in a file whose name is not a text": (
        lambda: _with_bytes(_changed(lambda m: _external(m.graph.initializer[0], "gone.bin")), b"gone"),
        "'w'.*cannot be read",
    ),
    "strings": (lambda: model([node("Identity", "x", "y")], {"x": [2]}, "y", types={"x": 8}), "strings"),
    "element type that does not exist": (lambda: model([EXP], {"x": [2]}, "y", types={"x": 58}), "58"),
    "function that calls itself": (lambda: _recursive(), "functions|foreign|not known|'y'"),
    "functions in functions": (lambda: _nested(40), r"1,099,511,627,776 nodes once"),
    "many functions in functions": (lambda: _nested(17), r"131,072 nodes once"),
    "branches unlike their If": (lambda: _if_without_branches(), "'bad'"),
}


def _external(tensor: Any, location: str, offset: str = "0") -> None:
    tensor.ClearField("raw_data")
    tensor.data_location = onnx.TensorProto.EXTERNAL
    for key, value in (("location", location), ("offset", offset)):
        tensor.external_data.add(key=key, value=value)


def _with_bytes(made: Any, text: bytes) -> Any:
    """The model with the first byte of ``text`` changed, so that it is no UTF-8."""
    data: bytes = made.SerializeToString()
    changed = onnx.ModelProto()
    changed.ParseFromString(data.replace(text, b"\xff" + text[1:]))
    return changed


def _recursive() -> Any:
    made = model([node("F", "x", "y", domain="f")], {"x": [2]}, "y")
    made.functions.append(SELF)
    return made


def _nested(depth: int) -> Any:
    """Functions of which each calls the one before twice; the first has two nodes."""
    made = model([node("F", "x", "y", domain=f"f{depth - 1}")], {"x": [2]}, "y")
    for level in range(depth):
        called = ("Exp", "") if level == 0 else ("F", f"f{level - 1}")
        twice = [node(called[0], a, b, domain=called[1]) for a, b in ("xt", "ty")]
        domains = [helper.make_opsetid(d, 1) for d in {called[1]} - {""}]
        versions = [helper.make_opsetid("", 17), *domains]
        made.functions.append(helper.make_function(f"f{level}", "F", ["x"], ["y"], twice, versions))
    return made


def _if_without_branches() -> Any:
    return _one("If", "c", {"x": [2]}, constants={"c": numpy.array(True)})


@pytest.mark.parametrize(("make", "message"), GRAPHS.values(), ids=GRAPHS)
def test_a_graph_that_is_wrong(make: Callable[[], Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=message) as caught:
        load(tmp_path, make())
    assert str(caught.value).startswith(f"{tmp_path / 'net.onnx'}: ")
    assert "\n  hint: " in str(caught.value)


@pytest.mark.parametrize(("title", "texts", "inputs", "constants", "message"), mistakes("onnx_graph"))
def test_nodes_that_do_not_fit(
    title: str, texts: str, inputs: str, constants: str, message: str, tmp_path: Path
) -> None:
    shapes: Any = read_yaml(f"{{{inputs}}}", title).data
    held: Any = read_yaml(f"{{{constants}}}", title).data
    made = model(nodes(*texts.split(" && ")), shapes, "y", held)
    test_a_graph_that_is_wrong(lambda: made, message, tmp_path)


@pytest.mark.parametrize(("change", "message"), CHANGED.values(), ids=CHANGED)
def test_a_network_that_is_made_wrong(change: Callable[[Any], Any], message: str, tmp_path: Path) -> None:
    test_a_graph_that_is_wrong(lambda: _changed(change), message, tmp_path)


@pytest.mark.parametrize(("index", "name", "value", "message"), SET.values(), ids=SET)
def test_an_attribute_that_is_wrong(
    index: int, name: str, value: object, message: str, tmp_path: Path
) -> None:
    test_a_graph_that_is_wrong(lambda: _changed(lambda m: _set(m, index, name, value)), message, tmp_path)


def test_a_data_file_that_is_too_short(tmp_path: Path) -> None:
    (tmp_path / "weights.bin").write_bytes(bytes(10))
    made = _changed(lambda m: _external(m.graph.initializer[0], "weights.bin"))
    with pytest.raises(BadInput, match=r"'w'.*cannot be read"):
        load(tmp_path, made)


def test_an_unknown_dtype(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="'int7'"):
        load(tmp_path, _network(), dtype="int7")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    changes=st.lists(st.tuples(st.integers(0, len(BYTES) - 1), st.integers(0, 255)), min_size=1, max_size=4)
)
def test_flipped_bytes_never_raise_anything_else(changes: list[tuple[int, int]], tmp_path: Path) -> None:
    data = bytearray(BYTES)
    for position, byte in changes:
        data[position] = byte
    path = tmp_path / "net.onnx"
    path.write_bytes(bytes(data))
    with suppress(BadInput):
        assert load_onnx(path).body
