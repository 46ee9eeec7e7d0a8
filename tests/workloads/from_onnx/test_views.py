"""Views hide nothing: what is fused without them is fused with them, and computes the same."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, helper

from chipmodel.model.program import Program
from tests.support.onnx_oracle import Array, check_reads, computed, imported, of_op, random_values, real_model

OPSET = 19


def nodes(*texts: str) -> list[Any]:
    """A node for each ``output = Op inputs``."""
    parts = [text.replace(" = ", " ").split(" ", 2) for text in texts]
    return [helper.make_node(op, read.split(), [name], name=name) for name, op, read in parts]


def floats(seed: int, *shape: int) -> Array:
    return np.random.default_rng(seed).normal(0, 1, shape).astype(np.float32)


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
GEMM = ("f = Reshape x s2", "c = Gemm f w b")
ERF = ("d = Div r root", "e = Erf d", "a = Add e one", "m = Mul r a", "y = Mul m half")
TANH = (
    *("p = Pow r three", "q = Mul p cube", "a = Add r q", "i = Mul a outer", "t = Tanh i"),
    *("u = Add t one", "v = Mul r u", "y = Mul half v"),
)
NORM = (
    *("m = ReduceMean r last", "d = Sub r m", "p = Pow d two", "v = ReduceMean p last", "a = Add v eps"),
    *("s = Sqrt a", "n = Div d s", "z = Mul n g", "y = Add z h"),
)
QUANTISED = (
    *("xq = QuantizeLinear x scale zero", "xd = DequantizeLinear xq scale zero"),
    *("f = Reshape xd s2", "fq = QuantizeLinear f scale zero", "fd = DequantizeLinear fq scale zero"),
    *("wd = DequantizeLinear wq scale zero", "c = Gemm fd wd b", "cq = QuantizeLinear c scale zero"),
    *("cd = DequantizeLinear cq scale zero", "r = Reshape cd s3", "rq = QuantizeLinear r scale zero"),
    *("rd = DequantizeLinear rq scale zero", "i = Sigmoid rd", "iq = QuantizeLinear i scale zero"),
    *("id = DequantizeLinear iq scale zero", "y = Mul rd id"),
)
QUANTISED_NORM = (
    *("xq = QuantizeLinear x scale zero", "xd = DequantizeLinear xq scale zero", "p = Pow xd two"),
    *("v = ReduceMean p last", "vq = QuantizeLinear v scale zero", "vd = DequantizeLinear vq scale zero"),
    *("a = Add vd scale", "s = Sqrt a", "i = Reciprocal s", "iq = QuantizeLinear i scale zero"),
    *("id = DequantizeLinear iq scale zero", "n = Mul xd id", "nq = QuantizeLinear n scale zero"),
    *("nd = DequantizeLinear nq scale zero", "y = Mul b2 nd"),
)
CASES: Mapping[str, tuple[Sequence[str], str]] = {
    "SiLU": ((*GEMM, "r = Reshape c s3", "i = Sigmoid r", "y = Mul r i"), "dense"),
    "GELU by erf": ((*GEMM, "r = Reshape c s3", *ERF), "dense"),
    "GELU by tanh": ((*GEMM, "r = Reshape c s3", *TANH), "dense"),
    "GELU between products": (
        (*GEMM, "r = Reshape c s3", *ERF, "f2 = Reshape y s2", "c2 = Gemm f2 w2 b2", "o = Reshape c2 s3"),
        "dense dense",
    ),
    "views in the middle": (
        (*GEMM, "r = Reshape c s3", *ERF[:3], "v = Reshape a s2", "m = Mul c v", "o = Reshape m s3"),
        "dense",
    ),
    "layer norm": ((*GEMM, "r = Reshape c s3", *NORM), "dense layer_norm"),
    "quantised": (QUANTISED, "dense"),
    "quantised norm": (QUANTISED_NORM, "rms_norm"),
    "bias and slopes": ((*GEMM, "r = Reshape c s3", "a = Add r g", "y = PRelu a h"), "dense"),
    "axes of size 1": (
        (*GEMM, "r = Unsqueeze c axes", "t = Transpose r", "y = Relu t"),
        "dense transpose relu",
    ),
    "batch norm": ((*GEMM, "n = BatchNormalization c g h b var", "r = Reshape n s3", "y = Relu r"), "dense"),
    "no batch norm": (
        (*GEMM, "f2 = Reshape c flat", "r = Reshape c image", "y = BatchNormalization r g h b var"),
        "dense batch_norm",
    ),
    "scale of rows": ((*GEMM, "r = Reshape c s3", "y = Mul r tall"), "dense mul"),
    "no scale of what is not a channel": ((*GEMM, "r = Reshape c image", "y = Mul r rows"), "dense mul"),
}


@pytest.mark.parametrize("name", CASES)
def test_views_hide_nothing(name: str, tmp_path: Path) -> None:
    texts, expected = CASES[name]
    model = real(nodes(*texts), CONSTANTS)
    program = imported(model, tmp_path)
    assert [op.kind for op in program.ops()] == expected.split()
    check(model, program)


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


def check(model: ModelProto, program: Program) -> None:
    """Fail unless the ops one after another compute what the model does, each of what it says it reads."""
    values = random_values(model, 1)
    right = computed(model, values)
    for op in program.ops():
        own = of_op(model, op)
        values.update(computed(own, {name: values[name] for name in op.inputs}))
        check_reads(model, program, op, 1)
    for name, found in zip(program.outputs, right.values(), strict=True):
        np.testing.assert_allclose(values[name].reshape(found.shape), found, 1e-4, 1e-5)


def test_transposes_with_views_in_between_undo_each_other(tmp_path: Path) -> None:
    turned = helper.make_node("Transpose", ["x"], ["t"], "t", perm=[0, 2, 1])
    views = nodes("n = Shape t", "v = Reshape t flat", "r = Reshape v n", "e = Relu r")
    back = helper.make_node("Transpose", ["e"], ["y"], "y", perm=[0, 2, 1])
    model = real([turned, *views, back], CONSTANTS)
    program = imported(model, tmp_path)
    assert [op.kind for op in program.ops()] == ["relu"]
