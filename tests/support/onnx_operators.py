"""Operators of ONNX as small models: the rows of tables in ``tests/data``."""

from collections.abc import Mapping
from typing import Any, cast

import numpy

from chipmodel.files.yaml_file import read_yaml
from tests.support.folders import data
from tests.workloads.from_onnx.support_models import model, node, nodes

Case = Mapping[str, Any]


def cases(name: str) -> Mapping[str, Case]:
    """The rows of ``tests/data/NAME.yaml``."""
    return cast("Mapping[str, Case]", read_yaml(data(f"{name}.yaml"), name).data)


OPERATORS = cases("onnx_operators")
"""Models of one node."""
TYPES = {"uint8": 2, "int8": 3, "int32": 6, "int64": 7, "bool": 9}


def shape(text: str) -> tuple[int, ...]:
    """``2x6``, ``5x`` of one axis, or ``scalar``."""
    return () if text == "scalar" else tuple(int(size) for size in text.split("x") if size)


def _constant(given: Any, dtype: str) -> Any:
    """The shape of floats, an array of the given numbers, or integers so small that no sum overflows."""
    if isinstance(given, str):
        integers = numpy.random.default_rng(21).integers(-2, 3, shape(given))
        return integers.astype(dtype) if dtype else shape(given)
    values = numpy.array(given)
    return values.astype(dtype or ("f" if values.dtype.kind == "f" else "i8"))


def operator_model(case: Case) -> tuple[Mapping[str, tuple[int, ...]], Any]:
    """The shapes of the inputs, and the model of one node or of ``nodes``."""
    types: Mapping[str, str] = case.get("types", {})
    inputs = {name: shape(text) for name, text in case["inputs"].items()}
    constants = {n: _constant(given, types.get(n, "")) for n, given in case.get("constants", {}).items()}
    operands, outputs = case.get("operands", " ".join([*inputs, *constants])), case.get("outputs", "y")
    domain, attributes = case.get("domain", ""), case.get("attributes", {})
    made = (
        nodes(*case["nodes"])
        if "nodes" in case
        else [node(case["op"], operands, outputs, domain=domain, **attributes)]
    )
    declared = {name: shape(text) for name, text in case.get("declared", {}).items()}
    numbers = {name: TYPES[dtype] for name, dtype in types.items()}
    opset: int = case.get("opset", 17)
    made_of = made, inputs, outputs, constants
    return inputs, model(*made_of, opset=opset, types=numbers, declared=declared)
