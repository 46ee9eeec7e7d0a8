"""The values of a model's weights, as the bytes that its ops read: channel after channel of the output.

A program has only the sizes of its weights. Their values are read again from the file, by name, for those
whose bytes there are as many as the program says: not for weights that are deployed as another type, nor for
those of recurrent layers, whose gates lie one after another in a file and by channel in a plan.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from chipmodel.errors import Place
from chipmodel.model.program import Program
from chipmodel.model.work import Recurrent
from workloads.from_tflite.context import SCALE_BYTES
from workloads.from_tflite.model_file import read_model

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Named = tuple[str, NDArray[Any], bytes]
    """A constant: its name, its values with the channels of the output first, and its scales."""

LAST_AXIS = {"MatMul": 1, "MatMulInteger": 1, "QLinearMatMul": 3}
"""Operators of ONNX whose right operand, at this place, has the output's channels last."""
TRANSPOSED = {"ConvTranspose": 1}
"""Operators whose weights have them second: ``(C, M, kH, kW)`` of one group."""
DEPTHWISE = "DEPTHWISE_CONV_2D"


def weight_values(path: Path, program: Program) -> dict[str, NDArray[Any]]:
    """Return the bytes of the weights of ``program`` that the ONNX or TensorFlow Lite file ``path`` has; none
    for another file."""
    import numpy as np

    reader = {".onnx": _onnx, ".tflite": _tflite}.get(path.suffix.lower())
    apart = {name for op in program.ops() if isinstance(op.work, Recurrent) for name in op.constants}
    arrays: dict[str, NDArray[Any]] = {}
    for name, array, scales in reader(path) if reader and path.is_file() else ():
        wanted = None if name in apart else program.weights.get(name)
        plain = np.frombuffer(np.ascontiguousarray(array).tobytes(), np.uint8)
        if wanted is not None and wanted.bytes == len(plain) + len(scales) and len(scales):
            both = plain, np.frombuffer(scales, np.uint8)
            plain = np.concatenate([each.reshape(len(scales) // 4, -1) for each in both], axis=1).reshape(-1)
        if wanted is not None and wanted.bytes == len(plain):
            arrays[name] = plain
    return arrays


def _onnx(path: Path) -> Iterator[Named]:
    model: Any = import_module("onnx").load(str(path))
    axes: Mapping[str, int] = dict(_onnx_axes(model.graph))
    for held in model.graph.initializer:
        array = import_module("onnx.numpy_helper").to_array(held)
        axis = axes.get(held.name, 0)
        yield held.name, _channels_first(array, axis), b""


def _onnx_axes(graph: Any) -> Iterator[tuple[str, int]]:
    """The axis of the output's channels, for weights in which it is not the first one."""
    for node in graph.node:
        if node.op_type in LAST_AXIS and len(node.input) > LAST_AXIS[node.op_type]:
            yield node.input[LAST_AXIS[node.op_type]], -1
        elif node.op_type == "Gemm" and not any(each.name == "transB" and each.i for each in node.attribute):
            yield node.input[1], -1
        elif node.op_type in TRANSPOSED:
            yield node.input[TRANSPOSED[node.op_type]], 1


def _channels_first(array: NDArray[Any], axis: int) -> NDArray[Any]:
    import numpy as np

    return np.moveaxis(array, axis, 0) if array.ndim > 1 else array


def _tflite(path: Path) -> Iterator[Named]:
    for graph in read_model(path, Place(str(path))).subgraphs:
        depthwise = {op.input(1) for op in graph.operators if op.name == DEPTHWISE}
        for number, tensor in enumerate(graph.tensors):
            if tensor.shape and (array := tensor.array) is not None:
                scales = tensor.scales if len(tensor.scales) > SCALE_BYTES else b""
                yield tensor.name, _channels_first(array, -1 if number in depthwise else 0), scales
