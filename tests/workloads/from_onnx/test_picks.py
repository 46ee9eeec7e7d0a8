"""A Gather of one constant index reads one index: a slice, of the operand of a Concat that has it."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from onnx import helper

from chipmodel.geometry.interval import Interval
from tests.support.onnx_oracle import Array, imported, real_model

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


def test_a_concat_of_another_axis_stays(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Concat", ["x", "z"], ["c"], name="joined", axis=1),
        helper.make_node("Gather", ["c", "last"], ["y"], name="pick", axis=0),
    ]
    model = real_model(nodes, {"x": X, "z": X}, {"last": INDICES["last"]})
    assert [op.kind for op in imported(model, tmp_path).ops()] == ["concat", "slice"]
