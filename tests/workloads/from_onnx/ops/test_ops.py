"""Every family of operators: which op it becomes, its MACs, its parameters, its shape."""

from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import Any, cast

import numpy
import pytest

from chipmodel.files.yaml_file import read_yaml
from tests.support.folders import ROOT
from tests.workloads.from_onnx.support_models import kinds, load, model, node, onnx, reference_shapes

Case = Mapping[str, Any]
TABLE = ROOT / "tests" / "data" / "onnx_operators.yaml"
CASES = cast("Mapping[str, Case]", read_yaml(TABLE.read_text(), str(TABLE)).data)
TYPES = {"bool": 9, "int64": 7}
NEWEST: int = onnx.defs.onnx_opset_version()


def shape(text: str) -> tuple[int, ...]:
    """``2x6``, ``5x`` of one axis, or ``scalar``."""
    return () if text == "scalar" else tuple(int(size) for size in text.split("x") if size)


def constant(given: Any) -> Any:
    """A shape, or an array of the given numbers."""
    values = numpy.array(0 if isinstance(given, str) else given)
    return (
        shape(given) if isinstance(given, str) else values.astype("f" if values.dtype.kind == "f" else "i8")
    )


def number(given: Any) -> int:
    """A number, or factors and terms of it."""
    return sum(prod(map(int, term.split("*"))) for term in str(given).split("+"))


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_operator(case: Case, tmp_path: Path) -> None:
    opset: int = case.get("opset", 17)
    if opset > NEWEST:
        pytest.skip(f"the installed onnx package knows operator sets up to {NEWEST}")
    inputs = {name: shape(text) for name, text in case["inputs"].items()}
    constants = {name: constant(given) for name, given in case.get("constants", {}).items()}
    operands, outputs = case.get("operands", " ".join([*inputs, *constants])), case.get("outputs", "y")
    types = {name: TYPES[kind] for name, kind in case.get("types", {}).items()}
    made_node = node(case["op"], operands, outputs, **case.get("attributes", {}))
    made = model([made_node], inputs, outputs, constants, opset=opset, types=types)
    program = load(tmp_path, made, strict=True)
    assert kinds(program) == case["kinds"].split()
    assert program.macs == number(case.get("macs", 0))
    assert program.parameters == number(case.get("parameters", 0))
    if "shape" in case:
        assert program.tensors[program.outputs[0]].shape == shape(case["shape"])
    elif program.body:
        assert [program.tensors[t].shape for t in program.outputs] == reference_shapes(made, inputs)
    else:
        assert program.outputs == program.inputs
