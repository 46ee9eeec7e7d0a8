"""Small ONNX models with real values: as programs with bytes of weights, and by onnx's evaluator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias, cast

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from chipmodel.execute.byte_arrays import Bytes
from chipmodel.execute.elements import encode
from chipmodel.execute.request import from_memory, to_memory
from chipmodel.model.program import Program, Tensor
from chipmodel.rewrites.op_shapes import SeenTensor
from workloads.load import load

Array: TypeAlias = NDArray[Any]
OPSET = 18
IR_VERSION = 9
"""The oldest that has what the models need."""
ROUNDING = 2e-5
"""Sums are in units of 2^-24, of a few hundred products at most."""


@dataclass(frozen=True, slots=True)
class RealModel:
    """Nodes, and the arrays of inputs and constants."""

    nodes: Sequence[onnx.NodeProto]
    inputs: Mapping[str, Array]
    constants: Mapping[str, Array] = field(default_factory=dict[str, Array])
    opset: int = OPSET

    @property
    def proto(self) -> onnx.ModelProto:
        last = self.nodes[-1].output
        given = [helper.make_tensor_value_info(n, _type(a), a.shape) for n, a in self.inputs.items()]
        made = [onnx.ValueInfoProto(name=name) for name in last if name]
        held = [numpy_helper.from_array(a, n) for n, a in self.constants.items()]
        graph = helper.make_graph(list(self.nodes), "real", given, made, held)
        opsets = [helper.make_opsetid("", self.opset)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION)
        return onnx.shape_inference.infer_shapes(model, strict_mode=True)

    def expected(self) -> dict[str, Array]:
        """The outputs by onnx's reference evaluator."""
        names = [each.name for each in self.proto.graph.output]
        evaluator: Any = ReferenceEvaluator(self.proto)
        found = cast("list[Array]", evaluator.run(None, dict(self.inputs)))
        return dict(zip(names, found, strict=True))

    def program(self, folder: Path) -> Program:
        """The model as the importer reads it, with elements of its own types."""
        file = folder / "real.onnx"
        file.write_bytes(self.proto.SerializeToString())
        return load(str(file), dtype="float32")

    def input_bytes(self, program: Program) -> dict[str, Bytes]:
        """The inputs in the order of memory."""
        return {name: in_memory(program.tensors[name], array) for name, array in self.inputs.items()}

    def weight_bytes(self, program: Program) -> dict[str, Bytes]:
        """The constants in the order of weights: those of an output channel together."""
        found: dict[str, Bytes] = {}
        for node in self.nodes:
            for name in node.input:
                if name in program.weights:
                    array = _by_output_channel(node, self.constants[name])
                    found[name] = encode(np.ascontiguousarray(array), str(array.dtype))
        return found


def _type(array: Array) -> int:
    return helper.np_dtype_to_tensor_dtype(array.dtype)


def _by_output_channel(node: onnx.NodeProto, array: Array) -> Array:
    """A constant with its output channels first, as weight blocks have them."""
    options = {each.name: helper.get_attribute_value(each) for each in node.attribute}
    if node.op_type == "ConvTranspose" and array.ndim > 1:
        groups = options.get("group", 1)
        inner, outer = array.shape[0] // groups, array.shape[1]
        split = array.reshape(groups, inner, outer, *array.shape[2:]).swapaxes(1, 2)
        return split.reshape(groups * outer, inner, *array.shape[2:])
    swapped = node.op_type == "Gemm" and options.get("transB", 0)
    products = ("Gemm", "MatMul", "MatMulInteger", "QLinearMatMul")
    return array.T if node.op_type in products and array.ndim == 2 and not swapped else array


def in_memory(tensor: Tensor, array: Array) -> Bytes:
    """``array`` as the bytes of ``tensor``."""
    return to_memory(_seen(tensor), array)


def from_bytes(tensor: Tensor, data: Bytes, shape: tuple[int, ...]) -> Array:
    """The inverse of ``in_memory``."""
    return from_memory(_seen(tensor), data).reshape(shape)


def _seen(tensor: Tensor) -> SeenTensor:
    return SeenTensor(tensor.name, tensor.shape, tensor.stored, tensor.dtype, tensor.bytes)


def compare(model: RealModel, found: Mapping[str, Any], folder: Path) -> None:
    """Fail where the bytes ``found`` are not what onnx's evaluator computes, within rounding."""
    program = model.program(folder)
    for name, right in model.expected().items():
        own = from_bytes(program.tensors[name], found[name], right.shape)
        if right.dtype.kind == "f":
            np.testing.assert_allclose(own, right, rtol=ROUNDING, atol=ROUNDING)
        else:
            np.testing.assert_array_equal(own, right)
