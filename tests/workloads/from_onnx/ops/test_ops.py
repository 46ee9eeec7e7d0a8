"""Operators alone and together: which ops they become, MACs, parameters, bytes of weights, shapes."""

from math import prod
from pathlib import Path
from typing import Any

import pytest

from tests.support.onnx_operators import OPERATORS, Case, cases, operator_model, shape
from tests.workloads.from_onnx.support_models import kinds, load, onnx, reference_shapes

NEWEST: int = onnx.defs.onnx_opset_version()

CASES = {**OPERATORS, **cases("onnx_networks")}


def number(given: Any) -> int:
    """A number, or factors and terms of it."""
    return sum(prod(map(int, term.split("*"))) for term in str(given).split("+"))


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_operator(case: Case, tmp_path: Path) -> None:
    if case.get("opset", 17) > NEWEST:
        pytest.skip(f"the installed onnx package knows operator sets up to {NEWEST}")
    inputs, made = operator_model(case)
    program = load(tmp_path, made, strict=True)
    assert kinds(program) == case["kinds"].split()
    assert program.macs == number(case.get("macs", 0))
    assert program.parameters == number(case.get("parameters", 0))
    assert number(case.get("weight_bytes", program.weight_bytes)) == program.weight_bytes
    assert {n: program.tensors[n].shape for n in case.get("tensors", {})} == {
        name: shape(text) for name, text in case.get("tensors", {}).items()
    }
    if "shape" in case:
        assert program.tensors[program.outputs[0]].shape == shape(case["shape"])
    elif program.body:
        assert [program.tensors[t].shape for t in program.outputs] == reference_shapes(made, inputs)
    else:
        assert program.outputs == program.inputs
