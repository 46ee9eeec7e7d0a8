"""Constants of equal bytes are one weight; a Gather of one constant index is a slice."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy
import numpy as np
import pytest
from onnx import helper

from chipmodel.geometry.interval import Interval
from tests.support.onnx_oracle import Array, imported, real_model
from tests.workloads.from_onnx.support_models import load, model, node

VALUES = numpy.arange(16, dtype="f").reshape(4, 4)


def two_products(*between: Any, **constants: Any) -> Any:
    nodes = [node("MatMul", "x w", "p"), *between, node("MatMul", "q v", "y")]
    return model(nodes, {"x": [2, 4]}, "y", {"w": VALUES, "v": VALUES.copy(), **constants})


def test_equal_weights_are_stored_once(tmp_path: Path) -> None:
    program = load(tmp_path, two_products(node("Softmax", "p", "q")))
    assert list(program.weights) == ["w"]
    assert [op.weights for op in program.ops()] == [("w",), (), ("w",)]
    assert program.weight_bytes == 16


def normalised(tmp_path: Path, second: Any, name: str) -> int:
    """The weight bytes of two convolutions with one weight, each with a batch norm of its own."""
    rows = numpy.arange(1, 5, dtype="f")
    nodes = [
        node("Conv", "x w", "a", kernel_shape=[1, 1]),
        node("BatchNormalization", "a s b m v", "n"),
        node("Conv", "n u", "c", kernel_shape=[1, 1]),
        node("BatchNormalization", f"c {name} b m v", "y"),
    ]
    weight = VALUES.reshape(4, 4, 1, 1)
    constants = {"w": weight, "u": weight.copy(), "s": rows, "t": second, "b": rows, "m": rows, "v": rows}
    return load(tmp_path, model(nodes, {"x": [1, 4, 3, 3]}, "y", constants)).weight_bytes


def test_weights_that_another_batch_norm_is_merged_into_are_not_shared(tmp_path: Path) -> None:
    rows = numpy.arange(1, 5, dtype="f")
    assert normalised(tmp_path, rows * 2, "t") == 2 * 16 + 2 * 16
    # The same norm, by name or by its bytes, gives the same weights and biases again.
    assert normalised(tmp_path, rows.copy(), "t") == 16 + 16
    assert normalised(tmp_path, rows, "s") == 16 + 16


def test_float_biases_of_an_integer_network_are_of_their_layers(tmp_path: Path) -> None:
    bias = numpy.arange(4, dtype="f")
    nodes = [node("Gemm", "x w b", "p"), node("Softmax", "p", "q"), node("Gemm", "q w c", "y")]
    made = model(nodes, {"x": [2, 4]}, "y", {"w": VALUES, "b": bias, "c": bias.copy()})
    assert load(tmp_path, made).weight_bytes == 16 + 2 * 4 * 4
    assert load(tmp_path, made, dtype="float32").weight_bytes == (16 + 4) * 4


X = np.zeros((4, 3, 5), np.float32)
INDICES: Mapping[str, Array] = {
    "first": np.array(0),
    "last": np.array(-1),
    "second": np.array(1),
    "alone": np.array([-1]),
    "two": np.array([0, 2]),
}


@pytest.mark.parametrize(
    ("index", "axis", "kinds", "shape", "first"),
    [
        ("last", 0, "slice relu", (3, 5), 45),
        ("last", -3, "slice relu", (3, 5), 45),
        ("first", 0, "slice relu", (3, 5), 0),
        ("second", 1, "slice relu", (4, 5), 5),
        ("alone", 0, "slice relu", (1, 3, 5), 45),
        ("two", 0, "gather relu", (2, 3, 5), None),
    ],
)
def test_one_index_is_a_slice(
    index: str, axis: int, kinds: str, shape: tuple[int, ...], first: int | None, tmp_path: Path
) -> None:
    nodes = [
        helper.make_node("Gather", ["x", index], ["g"], name="pick", axis=axis),
        helper.make_node("Relu", ["g"], ["y"], name="last"),
    ]
    model = real_model(nodes, {"x": X}, {index: INDICES[index]})
    program = imported(model, tmp_path, "int8")
    assert [op.kind for op in program.ops()] == kinds.split()
    assert program.tensors["y"].shape == shape
    op = next(program.ops())
    if first is not None and axis == 0:
        part = op.reads(0, Interval(0, op.work.rows), Interval(0, op.work.channels))
        assert part.rows.start * X.size // part.of_rows == first


@pytest.mark.parametrize(("index", "left"), [("last", "relu relu"), ("second", "tanh slice relu")])
def test_of_a_concat_only_the_operand_with_the_index_is_needed(index: str, left: str, tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Tanh", ["x"], ["a"], name="four"),
        helper.make_node("Relu", ["z"], ["b"], name="one"),
        helper.make_node("Concat", ["a", "b"], ["c"], name="joined", axis=0),
        helper.make_node("Gather", ["c", index], ["g"], name="pick", axis=0),
        helper.make_node("Relu", ["g"], ["y"], name="last"),
    ]
    model = real_model(nodes, {"x": X, "z": X[:1]}, {index: INDICES[index]})
    program = imported(model, tmp_path)
    assert [op.kind for op in program.ops()] == left.split()
