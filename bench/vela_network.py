"""One op as a TensorFlow Lite file, for estimates of Vela that only its command gives (``bench.vela_ops``).

What the op reads and writes passes a max pooling of 2 x 2, so that all its tensors lie on the NPU, in bricks;
an addend has a second reader, or Vela would make one chain of the pooling and the addition.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tests.support.tflite_writer import GraphWriter, ModelWriter

RESULT = "result"
"""The name of what the op writes."""
SAME = 0
NAMES = {
    "Conv2DBias": ("CONV_2D", "Conv2DOptions"),
    "DepthwiseConv2DBias": ("DEPTHWISE_CONV_2D", "DepthwiseConv2DOptions"),
    "FullyConnected": ("FULLY_CONNECTED", "FullyConnectedOptions"),
    "MaxPool": ("MAX_POOL_2D", "Pool2DOptions"),
    "AvgPool": ("AVERAGE_POOL_2D", "Pool2DOptions"),
    "Mean": ("MEAN", "ReducerOptions"),
    "Add": ("ADD", "AddOptions"),
    "Mul": ("MUL", "MulOptions"),
}
"""Of an op of Vela, in TensorFlow Lite: the op, and its options."""


def write_network(query: Mapping[str, Any], path: Path) -> None:
    """Write the op of ``query``, as ``bench.vela_ops.query`` describes it."""
    model = ModelWriter()
    graph = model.graph()
    kind = f"INT{query['bits']}"
    side, made = [1, *query["ifm"]], [1, *query["ofm"]]
    given = [graph.tensor(side, kind, scale=0.05) for _ in range(query["inputs"])]
    inputs = [_pooled(graph, each, side, kind) for each in given]
    result = graph.tensor(made, kind, RESULT, scale=0.05)
    name, options = NAMES[query["type"]]
    ends = [_pooled(graph, each, side, kind) for each in inputs if query["block"] == "ElementWise"]
    operands = (
        [inputs[0], inputs[-1]] if query["block"] == "ElementWise" else [*inputs, *_weights(graph, query)]
    )
    graph.op(name, operands, [result], options, **_window(query))
    graph.inputs, graph.outputs = given, [*ends, _pooled(graph, result, made, kind)]
    model.write(path)


def _pooled(graph: GraphWriter, tensor: int, shape: Sequence[int], kind: str) -> int:
    found = graph.tensor(shape, kind, scale=0.05)
    sides = {"StrideH": 1, "StrideW": 1, "FilterHeight": 2, "FilterWidth": 2}
    graph.op("MAX_POOL_2D", [tensor], [found], "Pool2DOptions", Padding=SAME, **sides)
    return found


def _weights(graph: GraphWriter, query: Mapping[str, Any]) -> list[int]:
    """Weights of which none is zero, and biases; the axes of a mean."""
    if query["block"] == "Mean":
        return [graph.constant(np.array([1, 2]), "INT32")]
    if query["block"] == "Pooling":
        return []
    (high, wide, *_), channels, given = query["kernel"], query["ofm"][2], query["ifm"][2]
    shape, axis = {
        "ConvolutionMxN": ((channels, high, wide, given), 0),
        "ConvolutionDepthWise": ((1, high, wide, channels), 3),
        "VectorProduct": ((channels, given), 0),
    }[query["block"]]
    values = np.random.default_rng(1).integers(1, 120, shape)
    weights = graph.constant(values, axis=axis, scale=[0.01] * channels)
    kind = "INT64" if query["bits"] == 16 else "INT32"
    return [weights, graph.constant(np.arange(channels), kind, scale=[0.0005] * channels)]


def _window(query: Mapping[str, Any]) -> dict[str, Any]:
    high, wide, down, across, dilation_h, dilation_w = query["kernel"]
    moved: dict[str, Any] = {"Padding": SAME, "StrideH": down, "StrideW": across}
    match query["block"]:
        case "Pooling":
            return moved | {"FilterHeight": high, "FilterWidth": wide}
        case "ConvolutionMxN":
            return moved | {"DilationHFactor": dilation_h, "DilationWFactor": dilation_w}
        case "ConvolutionDepthWise":
            dilated = {"DilationHFactor": dilation_h, "DilationWFactor": dilation_w}
            return moved | dilated | {"DepthMultiplier": 1}
        case "VectorProduct":
            return {"KeepNumDims": True}
        case "Mean":
            return {"KeepDims": True}
        case _:
            return {}
