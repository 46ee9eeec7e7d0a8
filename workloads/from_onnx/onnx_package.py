"""The onnx package, imported on first use, and aliases for the types of its protobuf messages.

Importing onnx takes about 0.2 s (measured), so it is only imported to read a model. The aliases are ``Any``
because mypy and pyright disagree about the types of these messages.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any

ModelProto = Any
GraphProto = Any
NodeProto = Any
AttributeProto = Any
TensorProto = Any
TypeProto = Any
ValueInfoProto = Any
Schema = Any


def module(name: str) -> Any:
    """The module ``name``, which is slow to import: ``onnx``, ``onnx.helper`` and so on."""
    return import_module(name)


def inner_graphs(node: NodeProto) -> Iterator[GraphProto]:
    """The sub-graphs in the attributes of a node; an empty one for an attribute that is none."""
    for attribute in node.attribute:
        yield from (attribute.g, *attribute.graphs)
