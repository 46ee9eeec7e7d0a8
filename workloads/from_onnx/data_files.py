"""The files next to an ONNX model that hold its weights."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from workloads.from_onnx.onnx_package import GraphProto, TensorProto, inner_graphs, module

LOCATION = "location"
"""The key of external data that names its file (onnx.proto, TensorProto.external_data)."""


def data_files(model: Path) -> tuple[Path, ...]:
    """The files that ``model`` names as places of its tensors; none where it is no ONNX model."""
    try:
        raw = model.read_bytes()
    except OSError:
        return ()
    if LOCATION.encode() not in raw:  # Most models: nothing to decode.
        return ()
    try:
        graph = module("onnx").ModelProto.FromString(raw).graph
    except module("google.protobuf.message").DecodeError:
        return ()
    names = (
        entry.value for tensor in _of_graph(graph) for entry in tensor.external_data if entry.key == LOCATION
    )
    return tuple(model.parent / name for name in dict.fromkeys(names))


def _of_graph(graph: GraphProto) -> Iterator[TensorProto]:
    yield from graph.initializer
    for node in graph.node:
        for attribute in node.attribute:
            yield from (attribute.t, *attribute.tensors)
        for inner in inner_graphs(node):
            yield from _of_graph(inner)
