"""Constants, views and shape arithmetic, which become no op."""

from pathlib import Path

from tests.workloads.from_onnx.support_models import (
    helper,
    kinds,
    load,
    model,
    node,
    onnx,
    operations,
)
from workloads.from_onnx.program import load_onnx


def test_initializers_listed_as_inputs_are_weights(tmp_path: Path) -> None:
    made = model([node("MatMul", "x w", "y")], {"x": [2, 4], "w": [4, 3]}, "y", {"w": (4, 3)}, opset=9)
    program = load(tmp_path, made)
    assert (program.inputs, program.parameters) == (("x",), 12)


def test_a_weight_used_twice_is_declared_once(tmp_path: Path) -> None:
    """An embedding table that is also the classifier, transposed on the way."""
    nodes = [
        node("Gather", "table ids", "rows"),
        node("Transpose", "table", "turned", perm=[1, 0]),
        node("MatMul", "rows turned", "y"),
    ]
    made = model(nodes, {"ids": [1, 6]}, "y", {"table": (1000, 16)}, types={"ids": 7})
    program = load(tmp_path, made)
    gather, dense = operations(program)
    assert gather.weights == dense.weights == ("table",)
    assert program.parameters == 16_000
    assert gather.gathers
    assert program.block_bytes(gather) == 6 * 16
    assert program.block_bytes(dense) == 16_000


def test_an_empty_cache_is_nothing(tmp_path: Path) -> None:
    made = model(
        [node("Concat", "past x", "z", axis=1), node("Exp", "z", "y")],
        {"past": [1, "n", 4], "x": [1, 3, 4]},
        "y",
    )
    assert kinds(load(tmp_path, made, shapes={"past": (1, 0, 4)})) == ["exp"]
    assert kinds(load(tmp_path, made, shapes={"past": (1, 7, 4)})) == ["concat", "exp"]


def test_local_functions_are_inlined(tmp_path: Path) -> None:
    body = [helper.make_node("Relu", ["a"], ["b"]), helper.make_node("Exp", ["b"], ["c"])]
    opsets = [helper.make_opsetid("", 17)]
    function = helper.make_function("mine", "Twice", ["a"], ["c"], body, opsets)
    made = model([node("Twice", "x", "y", domain="mine")], {"x": [2, 3]}, "y")
    made.functions.append(function)
    assert kinds(load(tmp_path, made)) == ["relu", "exp"]


def test_external_weights_are_not_read(tmp_path: Path) -> None:
    made = model([node("MatMul", "x w", "y")], {"x": [1, 512]}, "y", {"w": (512, 512)})
    path = tmp_path / "net.onnx"
    onnx.save(made, path, save_as_external_data=True, location="weights.bin", size_threshold=0)
    assert load_onnx(path).parameters == 512 * 512
    data = tmp_path / "weights.bin"
    data.write_bytes(bytes(data.stat().st_size))
    assert load_onnx(path).parameters == 512 * 512
