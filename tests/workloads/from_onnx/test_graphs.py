"""What nodes become together: which are merged and which must not be, and that the ops compute the same and
say what they read of it. ``tests/data/onnx_graphs.yaml`` has the graphs."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto

from chipmodel.model.program import Program
from tests.support.onnx_operators import cases, shape
from tests.support.onnx_oracle import (
    Array,
    check_reads,
    computed,
    imported,
    needless_rows,
    of_op,
    random_values,
    real_model,
)
from tests.workloads.from_onnx.support_models import nodes

GRAPHS = cases("onnx_graphs")
ABOUT_HALF = 0.5
"""A part at the edge of an image may say that it reads a row that only its padding would need."""


def floats(seed: int, *sizes: int) -> Array:
    """Values around 0 as networks have them."""
    return np.random.default_rng(seed).normal(0, 1, sizes).astype(np.float32)


def constant(seed: int, given: Any) -> Array:
    """The given numbers, or random ones of a shape: ``4x3``, ``+4x3`` above 0, ``ones 4x3``, ``int8 4x3``."""
    if not isinstance(given, str):
        return np.array(given, "f" if isinstance(given, float) else "i8")
    if given == "least":
        return np.array(-np.inf, "f")
    kind, _, sizes = given.rpartition(" ")
    own = shape(sizes.removeprefix("+"))
    match kind:
        case "int8":
            return np.random.default_rng(seed).integers(-9, 9, own).astype(np.int8) * np.int8(bool(own))
        case "ones":
            return np.ones(own, "f")
        case _:
            return np.abs(floats(seed, *own)) + 1 if given.startswith("+") else floats(seed, *own) / 4


def graph_model(name: str) -> ModelProto:
    """The model of a row of the table."""
    case = GRAPHS[name]
    held = {n: constant(seed, given) for seed, (n, given) in enumerate(case.get("constants", {}).items(), 1)}
    inputs = {n: floats(0, *shape(sizes)) for n, sizes in case["inputs"].items()}
    return real_model(nodes(*case["nodes"]), inputs, held, case["opset"])


def check(model: ModelProto, program: Program) -> None:
    """Fail unless the ops one after another compute what the model does, each of what it says it reads.

    An output that is named as what it is a view or a transpose of has the same elements."""
    values = random_values(model, 1)
    right = computed(model, values)
    for op in program.ops():
        own = of_op(model, op)
        values.update(computed(own, {name: values[name] for name in op.inputs}))
        check_reads(model, program, op, 1)
    for name, (output, found) in zip(program.outputs, right.items(), strict=True):
        made, wanted = (
            array.ravel() if name == output else np.sort(array, None) for array in (values[name], found)
        )
        np.testing.assert_allclose(made, wanted, 1e-4, 1e-5)


@pytest.mark.parametrize("name", GRAPHS)
def test_what_nodes_become(name: str, tmp_path: Path) -> None:
    model = graph_model(name)
    program = imported(model, tmp_path)
    assert [op.kind for op in program.ops()] == GRAPHS[name]["kinds"].split()
    check(model, program)
    assert program.parameters == GRAPHS[name].get("parameters", program.parameters)
    if "weights" in GRAPHS[name]:
        (op,) = program.ops()
        assert (op.weights, op.outputs) == (tuple(GRAPHS[name]["weights"].split()), ("y",))


@pytest.mark.slow
@pytest.mark.parametrize("name", GRAPHS)
def test_what_nodes_become_reads_no_row_that_it_does_not_need(name: str, tmp_path: Path) -> None:
    model = graph_model(name)
    program = imported(model, tmp_path)
    assert all(needless_rows(model, program, op) <= ABOUT_HALF for op in program.ops())
