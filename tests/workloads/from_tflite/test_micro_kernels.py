"""What TensorFlow Lite Micro refuses, against its own interpreter (package tflite-micro)."""

from collections.abc import Sequence
from importlib import import_module
from itertools import product
from typing import Any

import numpy as np
import pytest

from chipmodel.errors import Place
from tests.support.tflite_writer import NUMPY_OF, ModelWriter
from workloads.from_tflite.micro_kernels import refused_parts
from workloads.from_tflite.model_file import parse_model

TYPES = ("FLOAT32", "INT8", "INT16", "INT32", "INT64", "UINT8", "BOOL", "FLOAT16")
COMMON = ("FLOAT32", "INT8", "INT16", "INT32", "BOOL")
IMAGE = (1, 2, 2, 4)
Operand = tuple[int, ...] | list[Any]
"""The shape of an activation, or the values of a constant."""
WITHOUT_KERNEL = ("BITCAST", "DENSIFY", "POW", "RANK")
PADS: Operand = [[0, 0]] * 4
FILTERS: Operand = np.zeros((4, 1, 1, 4)).tolist()
CASES: dict[str, tuple[Sequence[Operand], tuple[int, ...], str, dict[str, Any]]] = {
    **{name: ((IMAGE,), IMAGE, "", {}) for name in (
        "ABS", "BITCAST", "CAST", "CEIL", "COS", "DEQUANTIZE", "ELU", "EXP", "FLOOR", "HARD_SWISH", "LOG",
        "LOGICAL_NOT", "LOGISTIC", "LOG_SOFTMAX", "NEG", "QUANTIZE", "RANK", "RELU", "RELU6", "ROUND",
        "RSQRT", "SIN", "SQRT", "SQUARE", "TANH", "ZEROS_LIKE",
    )},
    **{name: ((IMAGE, IMAGE), IMAGE, f"{table}Options", {}) for name, table in {
        "ADD": "Add", "ADD_N": "AddN", "SUB": "Sub", "MUL": "Mul", "DIV": "Div", "FLOOR_DIV": "FloorDiv",
        "FLOOR_MOD": "FloorMod", "MAXIMUM": "MaximumMinimum", "SQUARED_DIFFERENCE": "SquaredDifference",
    }.items()},
    "PRELU": ((IMAGE, [[[0] * 4]]), IMAGE, "", {}),
    "POW": ((IMAGE, IMAGE), IMAGE, "PowOptions", {}),
    "DENSIFY": ((np.zeros(IMAGE).tolist(),), IMAGE, "DensifyOptions", {}),
    "EQUAL": ((IMAGE, IMAGE), IMAGE, "EqualOptions", {}),
    "SELECT_V2": ((IMAGE, IMAGE, IMAGE), IMAGE, "SelectV2Options", {}),
    "LEAKY_RELU": ((IMAGE,), IMAGE, "LeakyReluOptions", {"Alpha": 0.5}),
    "SOFTMAX": ((IMAGE,), IMAGE, "SoftmaxOptions", {"Beta": 1.0}),
    "L2_NORMALIZATION": ((IMAGE,), IMAGE, "L2NormOptions", {}),
    "MAX_POOL_2D": ((IMAGE,), (1, 1, 1, 4), "Pool2DOptions",
                    {"StrideW": 2, "StrideH": 2, "FilterWidth": 2, "FilterHeight": 2}),
    "L2_POOL_2D": ((IMAGE,), (1, 1, 1, 4), "Pool2DOptions",
                   {"StrideW": 2, "StrideH": 2, "FilterWidth": 2, "FilterHeight": 2}),
    "CONCATENATION": ((IMAGE, IMAGE), (1, 2, 2, 8), "ConcatenationOptions", {"Axis": 3}),
    "RESHAPE": ((IMAGE, [16]), (16,), "", {}),
    "TRANSPOSE": ((IMAGE, [0, 2, 1, 3]), IMAGE, "TransposeOptions", {}),
    "PAD": ((IMAGE, PADS), IMAGE, "PadOptions", {}),
    "MIRROR_PAD": ((IMAGE, PADS), IMAGE, "MirrorPadOptions", {}),
    "MEAN": ((IMAGE, [1, 2]), (1, 4), "ReducerOptions", {}),
    "REDUCE_MAX": ((IMAGE, [1, 2]), (1, 4), "ReducerOptions", {}),
    "REDUCE_ALL": ((IMAGE, [1, 2]), (1, 4), "ReducerOptions", {}),
    "CUMSUM": ((IMAGE, [1]), IMAGE, "CumsumOptions", {}),
    "EXPAND_DIMS": (((2, 4), [0]), (1, 2, 4), "ExpandDimsOptions", {}),
    "GATHER": (((2, 4), [0]), (1, 4), "GatherOptions", {}),
    "GATHER_ND": (((2, 4), [[0]]), (1, 4), "GatherNdOptions", {}),
    "EMBEDDING_LOOKUP": (((1,), np.zeros((2, 4)).tolist()), (1, 4), "", {}),
    "RESIZE_BILINEAR": ((IMAGE, [4, 4]), (1, 4, 4, 4), "ResizeBilinearOptions", {}),
    "RESIZE_NEAREST_NEIGHBOR": ((IMAGE, [4, 4]), (1, 4, 4, 4), "ResizeNearestNeighborOptions", {}),
    "REVERSE_V2": ((IMAGE, [1]), IMAGE, "ReverseV2Options", {}),
    "SPACE_TO_DEPTH": ((IMAGE,), (1, 1, 1, 16), "SpaceToDepthOptions", {"BlockSize": 2}),
    "DEPTH_TO_SPACE": ((IMAGE,), (1, 4, 4, 1), "DepthToSpaceOptions", {"BlockSize": 2}),
    "SPACE_TO_BATCH_ND": ((IMAGE, [1, 1], [[0, 0], [0, 0]]), IMAGE, "", {}),
    "BATCH_TO_SPACE_ND": ((IMAGE, [1, 1], [[0, 0], [0, 0]]), IMAGE, "", {}),
    "BROADCAST_TO": (((1, 4), [2, 4]), (2, 4), "", {}),
    "BROADCAST_ARGS": (((2,), (2,)), (2,), "", {}),
    "DYNAMIC_UPDATE_SLICE": (((2, 4), (1, 4), [0, 0]), (2, 4), "", {}),
    "FILL": (([2, 4], ()), (2, 4), "", {}),
    "BATCH_MATMUL": (((2, 4), (4, 2)), (2, 2), "BatchMatMulOptions", {}),
    "FULLY_CONNECTED": (((1, 4), np.zeros((4, 4)).tolist()), (1, 4), "FullyConnectedOptions", {}),
    "CONV_2D": ((IMAGE, FILTERS), IMAGE, "Conv2DOptions", {"StrideW": 1, "StrideH": 1}),
    "DEPTHWISE_CONV_2D": ((IMAGE, [[[[0] * 4]]]), IMAGE, "DepthwiseConv2DOptions",
                          {"StrideW": 1, "StrideH": 1, "DepthMultiplier": 1}),
    "TRANSPOSE_CONV": (([1, 2, 2, 4], FILTERS, IMAGE), IMAGE, "TransposeConvOptions",
                       {"StrideW": 1, "StrideH": 1}),
}  # fmt: skip


def _model(name: str, kinds: Sequence[str]) -> bytes:
    """An operator alone: the types are those of its inputs and, the last one, of its output."""
    operands, shape, table, options = CASES[name]
    model = ModelWriter()
    graph = model.graph()
    scale = 1 / 256
    inputs = [
        graph.constant(np.asarray(operand, NUMPY_OF[kind]), kind, scale=scale)
        if isinstance(operand, list)
        else graph.tensor(operand, kind, scale=scale)
        for operand, kind in zip(operands, kinds[:-1], strict=True)
    ]
    result = graph.tensor(shape, kinds[-1], scale=scale, zero=-128 if name == "SOFTMAX" else 0)
    graph.op(name, inputs, [result], table, **options)
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
    count = len(CASES[name][0]) + 1
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
