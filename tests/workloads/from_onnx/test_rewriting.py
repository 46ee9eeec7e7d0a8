"""Constants of equal bytes are one weight."""

from pathlib import Path
from typing import Any

import numpy
import pytest

from chipmodel.geometry.interval import Interval
from tests.workloads.from_onnx.support_models import load, model, node, nodes

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


@pytest.mark.parametrize(("index", "first"), [(0, 0), (-1, 45), ([-1], 45)])
def test_one_index_is_a_slice(index: int | list[int], first: int, tmp_path: Path) -> None:
    made = model(nodes("g = Gather x i", "y = Relu g"), {"x": [4, 3, 5]}, "y", {"i": numpy.array(index)})
    op = next(load(tmp_path, made).ops())
    part = op.reads(0, Interval(0, op.work.rows), Interval(0, op.work.channels))
    assert part.rows.start * 60 // part.of_rows == first
