"""Shapes of inputs, operator sets, quantised models, operators of other domains, attention as one node."""

from pathlib import Path
from typing import Any

import numpy
import pytest

from chipmodel.errors import BadInput
from tests.workloads.from_onnx.support_models import (
    helper,
    ints,
    kinds,
    load,
    model,
    node,
    nodes,
    onnx,
    operations,
)

NEWEST: int = onnx.defs.onnx_opset_version()
EXP = node("Exp", "x", "y")


# -- symbolic sizes ----------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [["N", "C", 8], [1, "height", 8], ["N", 3, None], None])
def test_other_symbolic_sizes_must_be_given(shape: Any, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"input 'x' is not fixed(?s:.)*--shape x="):
        load(tmp_path, model([EXP], {"x": shape}, "y"))
    program = load(tmp_path, model([EXP], {"x": shape}, "y"), shapes={"x": (1, 3, 8)})
    assert (program.tensors["y"].shape, program.notes) == ((1, 3, 8), ())


def test_one_input_binds_the_symbols_of_another(tmp_path: Path) -> None:
    made = model([node("Add", "x z", "y")], {"x": ["n", "t", 4], "z": ["n", "t", 4]}, "y")
    assert load(tmp_path, made, shapes={"x": (2, 7, 4)}).tensors["z"].shape == (2, 7, 4)
    with pytest.raises(BadInput, match=r"'t' to 7 and to 8"):
        load(tmp_path, made, shapes={"x": (2, 7, 4), "z": (2, 8, 4)})


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        ({"z": (1,)}, r"--shape names 'z'(?s:.)*its inputs are x\[N, 3\]"),
        ({"w": (1,)}, r"--shape names 'w'"),
        ({"x": (1, 2, 3)}, r"the shape \[1, 2, 3\]; the model has \[N, 3\](?s:.)*--shape x=1,3"),
        ({"x": (-1, 3)}, r"the shape \[-1, 3\]"),
    ],
)
def test_a_wrong_shape_option(shapes: dict[str, tuple[int, ...]], message: str, tmp_path: Path) -> None:
    made = model([node("MatMul", "x w", "y")], {"x": ["N", 3]}, "y", {"w": (3, 2)})
    with pytest.raises(BadInput, match=message):
        load(tmp_path, made, shapes=shapes)


def _counted(kind: int, shape: Any) -> Any:
    """A model that expands ``x`` to the sizes in ``n``."""
    nodes = [
        node("Cast", "n", "wide", to=7),
        node("Reshape", "wide flat", "sizes"),
        node("Expand", "x sizes", "e"),
        node("Exp", "e", "y"),
    ]
    return model(nodes, {"x": [1], "n": shape}, "y", {"flat": ints(-1)}, types={"n": kind})


INT8, INT64, BOOL, FLOAT16, TEXT, UINT64 = 3, 7, 9, 10, 8, 13


@pytest.mark.parametrize(
    ("kind", "shape", "numbers", "out"),
    [
        (INT64, [], (6,), (6,)),
        (INT64, [2], (3, 4), (3, 4)),
        (INT64, ["n"], (3, 4), (3, 4)),
        (INT64, None, (3, 4), (3, 4)),
        (INT8, [1, 1], (5.0,), (5,)),
        (FLOAT16, [], (4,), (4,)),
        (BOOL, [1], (True,), (1,)),
    ],
)
def test_the_value_of_an_input_decides_shapes(
    kind: int, shape: Any, numbers: tuple[float, ...], out: tuple[int, ...], tmp_path: Path
) -> None:
    program = load(tmp_path, _counted(kind, shape), values={"n": numbers})
    assert (program.tensors["y"].shape, program.inputs) == (out, ("x",))


def test_a_value_replaces_the_default_of_an_input(tmp_path: Path) -> None:
    nodes = [node("Expand", "x n", "y")]
    made = model(nodes, {"x": [1], "n": [1]}, "y", {"n": ints(3)}, types={"n": INT64})
    assert load(tmp_path, made).tensors["y"].shape == (3,)
    assert load(tmp_path, made, values={"n": (5,)}).tensors["y"].shape == (5,)


@pytest.mark.parametrize(
    ("kind", "shape", "name", "numbers", "message"),
    [
        (INT64, [], "m", (6,), r"names 'm', which is not an input(?s:.)*its inputs are x, n"),
        (INT64, [], "sizes", (6,), r"names 'sizes'"),
        (INT64, [2], "n", (6,), r"1 numbers; its shape is \[2\](?s:.)*give 2,"),
        (INT64, [], "n", (1.5,), r"1.5, which the type int64"),
        (INT64, [], "n", (True,), r"True, which the type int64"),
        (INT64, [], "n", (2**70,), "type int64"),
        (INT8, [], "n", (300,), "type int8"),
        (UINT64, [], "n", (-1,), "type uint64"),
        (BOOL, [], "n", (2,), r"type bool(?s:.)*true or false"),
        (FLOAT16, [], "n", (1e9,), "type float16"),
        (TEXT, [], "n", (1,), "of type string"),
    ],
)
def test_a_wrong_value_option(
    kind: int, shape: Any, name: str, numbers: tuple[float, ...], message: str, tmp_path: Path
) -> None:
    with pytest.raises(BadInput, match=message):
        load(tmp_path, _counted(kind, shape), values={name: numbers})


def _by_symbols() -> Any:
    inputs: dict[str, Any] = {"x": ["batch", "seq", 4], "z": ["batch", "seq + 1", 4]}
    return model([node("Concat", "x z", "y", axis=1)], inputs, "y")


def test_symbols_are_bound_in_every_input_at_once(tmp_path: Path) -> None:
    program = load(tmp_path, _by_symbols(), shapes={"seq": (7,), "batch": (2,)})
    assert [program.tensors[n].shape for n in "xzy"] == [(2, 7, 4), (2, 8, 4), (2, 15, 4)]


def test_an_open_shape_offers_the_symbols(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"--shape batch=1,seq=128, or with --shape x=1,128,4"):
        load(tmp_path, _by_symbols())
    assert load(tmp_path, _by_symbols(), shapes={"x": (1, 128, 4)}).tensors["y"].shape == (1, 257, 4)
    images: dict[str, Any] = {"x": ["batch", 3, "height", "width"], "y": ["batch", "?", "?", 3]}
    with pytest.raises(BadInput, match="--shape batch=1,height=224,width=224, or with --shape x=1,3,224,224"):
        load(tmp_path, model([node("Relu", "x", "z")], images, "z"))
    with pytest.raises(BadInput, match="--shape y=1,224,224,3"):
        load(tmp_path, model([node("Relu", "y", "z")], {"y": images["y"]}, "z"))
    with pytest.raises(BadInput, match=r"the symbolic size 'seq' 2 sizes"):
        load(tmp_path, _by_symbols(), shapes={"seq": (7, 8)})
    with pytest.raises(BadInput, match=r"'seq' to 9 and to 7"):
        load(tmp_path, _by_symbols(), shapes={"seq": (9,), "x": (1, 7, 4)})


UNKNOWN = [node("Reshape", "x n", "z"), node("Exp", "z", "y")]


def test_a_shape_that_depends_on_data_is_an_error_unless_the_file_declares_it(tmp_path: Path) -> None:
    inputs: dict[str, Any] = {"x": [3, 4], "n": [2]}
    types = {"n": 7}
    message = r"'Reshape_0' \(Reshape\): the shape of its output 'z'(?s:.)*--shape z=1,128 (?s:.)*value_info"
    with pytest.raises(BadInput, match=message):
        load(tmp_path, model(UNKNOWN, inputs, "y", types=types))
    declared = model(UNKNOWN, inputs, "y", declared={"z": [2, 6]}, types=types)
    assert load(tmp_path, declared).tensors["y"].shape == (2, 6)
    given = load(tmp_path, model(UNKNOWN, inputs, "y", types=types), shapes={"z": (6, 2)})
    assert given.tensors["y"].shape == (6, 2)


BOXES = {"x": [2, 50, 4], "s": [2, 3, 50]}
SIZED: dict[str, tuple[Any, dict[str, Any], tuple[int, ...], tuple[int, ...]]] = {
    "NonZero": (node("NonZero", "x", "z"), {"x": [3, 4]}, (2, 12), (2, 5)),
    "NonMaxSuppression": (node("NonMaxSuppression", "x s limit", "z"), BOXES, (120, 3), (5, 3)),
    "Unique": (node("Unique", "x", "z"), {"x": [3, 4]}, (12,), (5,)),
    "Compress": (node("Compress", "x c", "z", axis=1), {"x": [3, 4], "c": [4]}, (3, 4), (3, 5)),
    "Range": (node("Range", "n m one", "z"), {"n": [], "one": [], "m": []}, (100,), (5,)),
}


@pytest.mark.parametrize("case", SIZED.values(), ids=SIZED)
def test_a_size_that_depends_on_data_has_a_bound(case: Any, tmp_path: Path) -> None:
    made_by, inputs, most, given = case
    constants = {"limit": ints(20)} if "limit" in made_by.input else {}
    made = model([made_by, node("Cast", "z", "y", to=1)], inputs, "y", constants, types={"c": 9})
    program = load(tmp_path, made)
    assert program.tensors["z"].shape == most
    (text,) = program.notes
    assert "depends on data" in text
    size = most[[a == b for a, b in zip(most, given, strict=True)].index(False)]
    assert f"(--shape z={size} sets it)" in text
    assert load(tmp_path, made, shapes={"z": (size,)}, strict=True).tensors["z"].shape == most
    chosen = load(tmp_path, made, shapes={"z": (5,)}, strict=True)
    assert (chosen.tensors["z"].shape, chosen.notes) == (given, ())
    with pytest.raises(BadInput, match="depends on data"):
        load(tmp_path, made, strict=True)


def test_a_shape_that_follows_from_the_inputs_is_not_for_the_option(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"--shape names 'y'(?s:.)*follows from the inputs"):
        load(tmp_path, model([EXP], {"x": [3, 4]}, "y"), shapes={"y": (3, 4)})
    made = model(SIZED["NonZero"][0:1], {"x": [3, 4]}, "z")
    with pytest.raises(BadInput, match=r"gives its output 'z' 3 sizes; it has 2"):
        load(tmp_path, made, shapes={"z": (1, 2, 3)})


# -- operator sets -----------------------------------------------------------------------------


@pytest.mark.parametrize("opset", range(9, NEWEST + 1))
def test_every_operator_set_since_9(opset: int, tmp_path: Path) -> None:
    made = nodes(
        *("c = Conv x w b; kernel_shape: [3, 3], pads: [1, 1, 1, 1]", "n = BatchNormalization c s b m v"),
        *("r = Relu n", "p = MaxPool r; kernel_shape: [2, 2], strides: [2, 2]", "f = Flatten p"),
        *("g = Gemm f d e; transB: 1", "y = Softmax g; axis: 1"),
    )
    constants: dict[str, Any] = {"w": (4, 3, 3, 3), "d": (10, 64), "e": (10,)}
    constants |= dict.fromkeys("bsmv", (4,))
    program = load(tmp_path, model(made, {"x": [1, 3, 8, 8]}, "y", constants, opset=opset), strict=True)
    assert kinds(program) == ["conv", "max_pool", "dense", "softmax"]
    assert (program.macs, program.notes) == (64 * 4 * 27 + 640, ())


def test_an_older_operator_set_is_read_with_a_note(tmp_path: Path) -> None:
    program = load(tmp_path, model([EXP], {"x": [2, 3]}, "y", opset=8))
    assert "operator set 8 is older than 9" in program.notes[0]


@pytest.mark.parametrize("opset", [0, -1, 999])
def test_an_unknown_operator_set(opset: int, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=rf"operator set {opset} is unknown(?s:.)*update the onnx package"):
        load(tmp_path, model([EXP], {"x": [2, 3]}, "y", opset=opset))


# -- element types and quantised models --------------------------------------------------------


def test_four_bit_weights(tmp_path: Path) -> None:
    weight = helper.make_tensor("w", onnx.TensorProto.INT4, [64, 32], [0] * 2048)
    nodes = [node("DequantizeLinear", "w s", "wd"), node("MatMul", "x wd", "y")]
    made = model(nodes, {"x": [1, 64]}, "y", {"s": numpy.array(0.1, "f")}, opset=21)
    made.graph.initializer.append(weight)
    program = load(tmp_path, made, dtype="float16")
    assert (program.parameters, program.weight_bytes) == (2048, 1024)


# -- operators that are not known --------------------------------------------------------------


def _foreign() -> Any:
    nodes = [node("Swirl", "x", "s", name="sw", domain="art"), node("Exp", "s", "y")]
    return model(nodes, {"x": [2, 8]}, "y", declared={"s": [2, 4]})


def test_an_unknown_operator_is_modelled_by_its_bytes(tmp_path: Path) -> None:
    program = load(tmp_path, _foreign())
    swirl = operations(program)[0]
    assert (swirl.kind, swirl.work.macs) == ("swirl", 0)
    assert getattr(swirl.work, "in_bytes", 0) == 16
    assert getattr(swirl.work, "out_bytes", 0) == 8
    assert "'sw' (art.Swirl)" in program.notes[0]
    with pytest.raises(BadInput, match=r"net.onnx: node 'sw' \(art.Swirl\)(?s:.)*domain 'art'"):
        load(tmp_path, _foreign(), strict=True)


# -- attention as one node, and ONNX Runtime's operators ---------------------------------------
