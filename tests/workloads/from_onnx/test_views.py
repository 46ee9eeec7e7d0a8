"""Views hide nothing: what is fused without them is fused with them, and computes the same."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from onnx import ModelProto

from tests.support.onnx_oracle import Array, imported, real_model
from tests.workloads.from_onnx.support_models import nodes
from tests.workloads.from_onnx.test_graphs import check, floats

OPSET = 19


SHAPES = {
    "s3": [2, 6, -1],
    "s2": [12, -1],
    "flat": [-1],
    "image": [1, 16, 12],
    "long": [1, 8, 2, 6],
    "last": [-1],
}
SCALARS = {
    "one": 1,
    "two": 2,
    "three": 3,
    "half": 0.5,
    "root": 1.4142135,
    "cube": 0.044715,
    "outer": 0.7978845,
    "eps": 1e-5,
}
CONSTANTS: Mapping[str, Array] = {
    **{name: np.array(shape) for name, shape in SHAPES.items()},
    **{name: np.array(value, "f") for name, value in SCALARS.items()},
    "k": floats(1, 16, 8, 1, 1),
    "rows": floats(2, 16, 1),
}
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


def real(made: Sequence[Any], constants: Mapping[str, Array]) -> ModelProto:
    read = {name for each in made for name in each.input}
    held = {name: value for name, value in constants.items() if name in read}
    return real_model(made, {"x": floats(0, 2, 6, 8)}, held, OPSET)
