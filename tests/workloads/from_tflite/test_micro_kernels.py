"""What TensorFlow Lite Micro refuses, against its own interpreter (package tflite-micro)."""

from collections.abc import Sequence
from importlib import import_module
from itertools import product
from typing import Any

import numpy as np
import pytest
import yaml

from chipmodel.errors import Place
from tests.support.folders import ROOT
from tests.support.tflite_writer import NUMPY_OF, ModelWriter
from workloads.from_tflite.micro_kernels import refused_parts
from workloads.from_tflite.model_file import parse_model

TYPES = ("FLOAT32", "INT8", "INT16", "INT32", "INT64", "UINT8", "BOOL", "FLOAT16")
COMMON = ("FLOAT32", "INT8", "INT16", "INT32", "BOOL")
IMAGE = (1, 2, 2, 4)
Operand = tuple[int, ...] | list[Any]
"""The shape of an activation, or the values of a constant."""
WITHOUT_KERNEL = ("BITCAST", "DENSIFY", "POW", "RANK")
CASES: dict[str, dict[str, Any]] = yaml.safe_load(
    (ROOT / "tests" / "data" / "tflite_kernels.yaml").read_text()
)


def _operand(written: Any) -> Operand:
    match written:
        case "image":
            return IMAGE
        case str(shape):
            return tuple(int(size) for size in shape.split("x") if size)
        case {"zeros": shape}:
            return list(np.zeros(shape))
        case _:
            return list(written)


def _model(name: str, kinds: Sequence[str]) -> bytes:
    """An operator alone: the types are those of its inputs and, the last one, of its output."""
    case = CASES[name]
    operands, shape = list(map(_operand, case["in"])), _operand(case.get("out", "image"))
    model = ModelWriter()
    graph = model.graph()
    scale = 1 / 256
    inputs = [
        graph.constant(np.asarray(operand, NUMPY_OF[kind]), kind, scale=scale)
        if isinstance(operand, list)
        else graph.tensor(operand, kind, scale=scale)
        for operand, kind in zip(operands, kinds[:-1], strict=True)
    ]
    result = graph.tensor(tuple(shape), kinds[-1], scale=scale, zero=-128 if name == "SOFTMAX" else 0)
    graph.op(name, inputs, [result], case.get("table", ""), **case.get("options", {}))
    graph.inputs = [number for number in inputs if graph.tensors[number]["buffer"] == 0]
    graph.outputs = [result]
    return model.bytes()


def _runs(data: bytes) -> bool:
    runtime: Any = import_module("tflite_micro.python.tflite_micro.runtime")
    try:
        runtime.Interpreter.from_bytes(data, arena_size=1 << 16)
    except RuntimeError:
        return False
    return True


QUANTISED = ("ADD", "DIV", "LOGISTIC", "LOG_SOFTMAX", "PAD", "SOFTMAX", "SUB", "TANH", "TRANSPOSE")
"""Operators that are refused for values of constants and scales as well as for types."""


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_the_types_that_the_interpreter_refuses_are_refused(name: str) -> None:
    count = len(CASES[name]["in"]) + 1
    runs = 0
    for kinds in product(TYPES if count < 3 else COMMON, repeat=count):
        data = _model(name, kinds)
        refused = refused_parts(parse_model(data, Place("m.tflite")))
        real = _runs(data)
        runs += real
        assert not (real and refused), (kinds, refused)
        assert real or refused or name in QUANTISED, kinds
    assert (runs == 0) == (name in WITHOUT_KERNEL)


@pytest.mark.parametrize(
    ("kind", "runs"), [("STRING", False), ("VARIANT", False), ("RESOURCE", True), ("FLOAT64", True)]
)
def test_tensors_of_a_type_without_a_size_are_refused(kind: str, runs: bool) -> None:
    model = ModelWriter()
    graph = model.graph()
    graph.inputs, graph.outputs = [graph.tensor((1, 4), kind)], [graph.tensor((1, 4), kind)]
    graph.op("RELU", graph.inputs, graph.outputs)
    refused = refused_parts(parse_model(model.bytes(), Place("m.tflite")))
    assert (_runs(model.bytes()), not refused) == (runs, runs)
