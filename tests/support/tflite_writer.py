"""Writes small TensorFlow Lite models for tests, with the functions that the tflite package generates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

tflite: Any = import_module("tflite")
flatbuffers: Any = import_module("flatbuffers")

NUMPY = {"INT8": np.int8, "INT16": np.int16, "INT32": np.int32, "INT64": np.int64, "FLOAT32": np.float32}
NUMPY_OF = {**NUMPY, "BOOL": np.bool_, "UINT8": np.uint8, "FLOAT16": np.float16}


@dataclass
class GraphWriter:
    """A subgraph: its tensors, operators, inputs and outputs by number."""

    model: ModelWriter
    name: str = "main"
    tensors: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    operators: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    inputs: Sequence[int] = ()
    outputs: Sequence[int] = ()

    def tensor(self, shape: Sequence[int], kind: str = "INT8", name: str = "", **more: Any) -> int:
        """An activation. ``more``: ``scale``, ``zero``, ``variable``, ``signature``."""
        number = len(self.tensors)
        self.tensors.append({"shape": shape, "kind": kind, "name": name or f"t{number}", "buffer": 0, **more})
        return number

    def constant(self, values: Any, kind: str = "INT8", name: str = "", **more: Any) -> int:
        """A constant with its ``values``. ``more``: ``scale`` (one, or one for each channel), ``axis``."""
        array: Any = np.asarray(values, NUMPY_OF[kind])
        buffer = more.pop("buffer", None) or self.model.buffer(array.tobytes())
        number = self.tensor(array.shape, kind, name or f"c{len(self.tensors)}", **more)
        self.tensors[number]["buffer"] = buffer
        return number

    def op(
        self, name: str, inputs: Sequence[int], outputs: Sequence[int], table: str = "", **options: Any
    ) -> None:
        """An operator, ``table`` the name of its options."""
        self.operators.append(
            {"name": name, "inputs": inputs, "outputs": outputs, "table": table, "options": options}
        )


@dataclass
class ModelWriter:
    """A model; the first graph is what runs."""

    graphs: list[GraphWriter] = field(default_factory=list[GraphWriter])
    buffers: list[bytes] = field(default_factory=lambda: [b""])
    metadata: dict[str, bytes] = field(default_factory=dict[str, bytes])

    def graph(self, name: str = "main") -> GraphWriter:
        """A new subgraph."""
        self.graphs.append(GraphWriter(self, name))
        return self.graphs[-1]

    def buffer(self, data: bytes) -> int:
        """The number of a new buffer."""
        self.buffers.append(data)
        return len(self.buffers) - 1

    def write(self, path: Path) -> Path:
        """Write the model to a file."""
        path.write_bytes(self.bytes())
        return path

    def bytes(self) -> bytes:
        """The file."""
        out = flatbuffers.Builder(1024)
        names = list(dict.fromkeys(op["name"] for graph in self.graphs for op in graph.operators))
        extra = {name: self.buffer(data) for name, data in self.metadata.items()}
        codes = _tables(out, [_code(out, name) for name in names])
        graphs = _tables(out, [_graph(out, graph, names) for graph in self.graphs])
        buffers = _tables(out, [_buffer(out, data) for data in self.buffers])
        entries = [
            _table(out, "Metadata", {"Name": out.CreateString(name), "Buffer": number})
            for name, number in extra.items()
        ]
        fields = {"Version": 3, "OperatorCodes": codes, "Subgraphs": graphs, "Buffers": buffers}
        if entries:
            fields["Metadata"] = _tables(out, entries)
        out.Finish(_table(out, "Model", fields), b"TFL3")
        return bytes(out.Output())


def _table(out: Any, kind: str, fields: Mapping[str, Any]) -> Any:
    getattr(tflite, f"{kind}Start")(out)
    for name, value in fields.items():
        getattr(tflite, f"{kind}Add{name}")(out, value)
    return getattr(tflite, f"{kind}End")(out)


def _tables(out: Any, offsets: Sequence[Any]) -> Any:
    out.StartVector(4, len(offsets), 4)
    for offset in reversed(offsets):
        out.PrependUOffsetTRelative(offset)
    return out.EndVector()


def _numbers(out: Any, values: Sequence[int]) -> Any:
    return out.CreateNumpyVector(np.asarray(values, np.int32))


def _code(out: Any, name: str) -> Any:
    if not hasattr(tflite.BuiltinOperator, name):
        custom = out.CreateString(name)
        number = tflite.BuiltinOperator.CUSTOM
        return _table(
            out, "OperatorCode", {"BuiltinCode": number, "DeprecatedBuiltinCode": 32, "CustomCode": custom}
        )
    number = getattr(tflite.BuiltinOperator, name)
    fields = {"BuiltinCode": number, "DeprecatedBuiltinCode": min(number, 127), "Version": 1}
    return _table(out, "OperatorCode", fields)


def _buffer(out: Any, data: bytes) -> Any:
    if not data:
        return _table(out, "Buffer", {})
    out.StartVector(1, len(data), 16)
    out.head -= len(data)
    out.Bytes[out.head : out.head + len(data)] = data
    return _table(out, "Buffer", {"Data": out.EndVector()})


def _graph(out: Any, graph: GraphWriter, names: Sequence[str]) -> Any:
    tensors = _tables(out, [_tensor(out, each) for each in graph.tensors])
    operators = _tables(out, [_operator(out, each, names) for each in graph.operators])
    fields = {
        "Tensors": tensors,
        "Inputs": _numbers(out, graph.inputs),
        "Outputs": _numbers(out, graph.outputs),
        "Operators": operators,
        "Name": out.CreateString(graph.name),
    }
    return _table(out, "SubGraph", fields)


def _tensor(out: Any, given: Mapping[str, Any]) -> Any:
    fields = {
        "Shape": _numbers(out, given["shape"]),
        "Type": getattr(tflite.TensorType, given["kind"]),
        "Buffer": given["buffer"],
        "Name": out.CreateString(given["name"]),
        "IsVariable": given.get("variable", False),
    }
    if "scale" in given:
        scales = np.atleast_1d(np.asarray(given["scale"], np.float32))
        zeros = np.resize(np.asarray(given.get("zero", 0), np.int64), len(scales))
        quantisation = {"Scale": out.CreateNumpyVector(scales), "ZeroPoint": out.CreateNumpyVector(zeros)}
        quantisation["QuantizedDimension"] = given.get("axis", 0)
        fields["Quantization"] = _table(out, "QuantizationParameters", quantisation)
    if "signature" in given:
        fields["ShapeSignature"] = _numbers(out, given["signature"])
    return _table(out, "Tensor", fields)


def _operator(out: Any, given: Mapping[str, Any], names: Sequence[str]) -> Any:
    fields = {
        "OpcodeIndex": names.index(given["name"]),
        "Inputs": _numbers(out, given["inputs"]),
        "Outputs": _numbers(out, given["outputs"]),
    }
    if given["table"]:
        options: dict[str, Any] = {}
        for key, value in given["options"].items():
            options[key] = out.CreateString(value) if isinstance(value, str) else value
        fields["BuiltinOptionsType"] = getattr(tflite.BuiltinOptions, given["table"])
        fields["BuiltinOptions"] = _table(out, given["table"], options)
    return _table(out, "Operator", fields)
