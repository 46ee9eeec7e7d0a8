"""Views hide nothing: what is fused without them is fused with them, and computes the same."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, helper

from tests.support.onnx_oracle import Array, imported, real_model
from tests.workloads.from_onnx.test_graphs import check, floats, nodes

OPSET = 19


SHAPES = {
    "s3": np.array([2, 6, -1]),
    "s2": np.array([12, -1]),
    "flat": np.array([-1]),
    "image": np.array([1, 16, 12]),
    "long": np.array([1, 8, 2, 6]),
    "axes": np.array([0]),
    "last": np.array([-1]),
}
SCALARS = {
    name: np.array(value, "f")
    for name, value in zip(
        ("one", "two", "three", "half", "root", "cube", "outer", "eps", "scale"),
        (1, 2, 3, 0.5, 1.4142135, 0.044715, 0.7978845, 1e-5, 0.05),
        strict=True,
    )
}
WEIGHTS = {
    "w": (8, 16),
    "b": (16,),
    "w2": (16, 8),
    "b2": (8,),
    "g": (16,),
    "h": (16,),
    "k": (16, 8, 1, 1),
    "rows": (16, 1),
    "tall": (6, 1),
}
CONSTANTS: Mapping[str, Array] = {
    **SHAPES,
    **SCALARS,
    **{name: floats(seed, *shape) for seed, (name, shape) in enumerate(WEIGHTS.items(), 1)},
    "var": np.abs(floats(0, 16)) + 1,
    "wq": np.random.default_rng(0).integers(-9, 9, (8, 16)).astype(np.int8),
    "zero": np.array(0, np.int8),
}
FACTORS = {"k": floats(3, 6, 3, 8)}
ERF = ("d = Div r root", "e = Erf d", "a = Add e one", "m = Mul r a", "y = Mul m half")
TANH = (
    *("p = Pow r three", "q = Mul p cube", "a = Add r q", "i = Mul a outer", "t = Tanh i"),
    *("u = Add t one", "v = Mul r u", "y = Mul half v"),
)
NORM = (
    *("m = ReduceMean r last", "d = Sub r m", "p = Pow d two", "v = ReduceMean p last", "a = Add v eps"),
    *("s = Sqrt a", "n = Div d s", "z = Mul n g", "y = Add z h"),
)


def test_an_image_keeps_its_channels_in_a_view(tmp_path: Path) -> None:
    made = nodes("i = Reshape x long", "c = Conv i k", "r = Reshape c image", "a = Add r rows", "y = Relu a")

    model = real(made, CONSTANTS)
    program = imported(model, tmp_path)
    (op,) = program.ops()
    assert (op.weights, program.tensors["y"].shape) == (("k", "rows"), (1, 16, 2, 6))
    check(model, program)


@pytest.mark.parametrize(
    ("order", "also", "kinds"),
    [
        ((0, 2, 1), (), "relu matmul"),
        ((0, 2, 1), ("z = MatMul t y",), "relu transpose matmul matmul"),
        ((1, 2, 0), (), "relu transpose dense"),
    ],
)
def test_a_product_reads_a_transposed_factor_as_it_was(
    order: tuple[int, ...], also: Sequence[str], kinds: str, tmp_path: Path
) -> None:
    """Where only the last axes are swapped, and nothing else reads it."""
    turned = helper.make_node("Transpose", ["r"], ["t"], "t", perm=list(order))
    left = "x" if order == (0, 2, 1) else "k"
    model = real([*nodes("r = Relu x"), turned, *nodes(f"y = MatMul {left} t", *also)], FACTORS)
    program = imported(model, tmp_path)
    assert [op.kind for op in program.ops()] == kinds.split()
    check(model, program)


def real(made: Sequence[Any], constants: Mapping[str, Array]) -> ModelProto:
    read = {name for each in made for name in each.input}
    held = {name: value for name, value in constants.items() if name in read}
    return real_model(made, {"x": floats(0, 2, 6, 8)}, held, OPSET)


def test_transposes_with_views_in_between_undo_each_other(tmp_path: Path) -> None:
    turned = helper.make_node("Transpose", ["x"], ["t"], "t", perm=[0, 2, 1])
    views = nodes("n = Shape t", "v = Reshape t flat", "r = Reshape v n", "e = Relu r")
    back = helper.make_node("Transpose", ["e"], ["y"], "y", perm=[0, 2, 1])
    model = real([turned, *views, back], CONSTANTS)
    program = imported(model, tmp_path)
    assert [op.kind for op in program.ops()] == ["relu"]
