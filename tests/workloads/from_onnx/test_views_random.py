"""Views at random places of random networks change neither the ops nor their cycles."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from onnx import ModelProto

from chipmodel.hardware.chip_file import load_chip
from chipmodel.model.program import Program
from chipmodel.pipeline.request import PlanRequest
from chipmodel.pipeline.run import run
from tests.support.onnx_oracle import Array, imported, real_model
from tests.workloads.from_onnx.support_models import nodes
from tests.workloads.from_onnx.test_graphs import check, floats

CHIP = load_chip("luna-arcs")
OPSET = 19


SHAPES = {
    "s3": [2, 6, -1],
    "s2": [12, -1],
    "flat": [-1],
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
STEPS: Mapping[str, Sequence[str]] = {
    "dense": ("y = MatMul r w8",),
    "biased": ("c = MatMul r w8", "y = Add c g8"),
    "gemm": ("f = Reshape r s2", "c = Gemm f w8 g8", "y = Reshape c s3"),
    "relu": ("y = Relu r",),
    "silu": ("i = Sigmoid r", "y = Mul r i"),
    "gelu": ERF,
    "tanh": TANH,
    "half": ("y = Mul r half",),
    "residual": ("y = Add r x",),
    "norm": tuple(text.replace(" g", " g8").replace(" h", " h8") for text in NORM),
    "softmax": ("y = Softmax r",),
}
"""Nodes that make ``y`` of ``r``."""
VIEWS = {f"v{n}": np.array(shape) for n, shape in enumerate(([12, 8], [96], [2, 48], [1, 2, 6, 8], [4, 24]))}
MORE = {**CONSTANTS, **VIEWS, "w8": floats(20, 8, 8), "g8": floats(21, 8), "h8": floats(22, 8)}
ANY_SHAPE = frozenset(["relu", "silu", "gelu", "tanh", "half"])
"""Steps that compute the same in every shape."""


def real(made: Sequence[Any], constants: Mapping[str, Array]) -> ModelProto:
    read = {name for each in made for name in each.input}
    held = {name: value for name, value in constants.items() if name in read}
    return real_model(made, {"x": floats(0, 2, 6, 8)}, held, OPSET)


def network(steps: Sequence[str], views: Mapping[int, str]) -> list[str]:
    """The nodes of ``steps``, one after another: those of step 3 write ``3y``, the first reads ``x``.

    Those in ``views`` work in another shape.
    """
    texts, before = list[str](), "x"
    for number, step in enumerate(steps):
        if number in views:
            texts.append(f"{number}in = Reshape {before} {views[number]}")
            before = f"{number}in"
        own = {text.split(" ", 1)[0] for text in STEPS[step]}
        for text in STEPS[step]:
            words = (f"{number}{word}" if word in own else word for word in text.split())
            texts.append(" ".join(before if word == "r" else word for word in words))
        before = f"{number}y"
        if number in views:
            texts.append(f"{number}out = Reshape {before} s3")
            before = f"{number}out"
    return texts


def program_of(texts: Sequence[str], dtype: str = "int8") -> Program:
    with TemporaryDirectory() as folder:
        return imported(real(nodes(*texts), MORE), Path(folder), dtype)


def costs(program: Program) -> tuple[list[str], int]:
    return [op.kind for op in program.ops()], run(PlanRequest(program, CHIP)).trace.cycles


chains = st.lists(st.sampled_from(sorted(STEPS)), min_size=1, max_size=6)
shapes = st.sampled_from(sorted(VIEWS))


@pytest.mark.slow
@settings(max_examples=40)
@given(chains, st.data())
def test_a_view_with_its_inverse_costs_nothing(steps: list[str], data: st.DataObject) -> None:
    texts = network(steps, {})
    changed: list[str] = []
    for number, text in enumerate(texts):
        name, _, op, read, *others = text.split()
        if data.draw(st.booleans()):
            changed += [f"shape{number} = Shape {read}", f"row{number} = Reshape {read} flat"]
            changed += [f"back{number} = Reshape row{number} shape{number}"]
            read = f"back{number}"
        changed.append(" ".join((name, "=", op, read, *others)))
    assert costs(program_of(changed)) == costs(program_of(texts))


def drawn_views(steps: Sequence[str], data: st.DataObject) -> dict[int, str]:
    able = [number for number, step in enumerate(steps) if step in ANY_SHAPE]
    return {number: data.draw(shapes) for number in able if data.draw(st.booleans())}


@settings(max_examples=25)
@given(chains, st.data())
def test_ops_compute_what_the_model_does(steps: list[str], data: st.DataObject) -> None:
    texts = network(steps, drawn_views(steps, data))
    check(real(nodes(*texts), MORE), program_of(texts, "float32"))
