"""The onnx package, imported on first use, and names for its messages.

Importing onnx takes about 0.2 s, so nothing here imports it before a model is read. Its protobuf messages
have types that only one of the two type checkers sees, hence ``Any``.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

ModelProto = Any
GraphProto = Any
NodeProto = Any
TensorProto = Any
TypeProto = Any
ValueInfoProto = Any
Schema = Any


def module(name: str) -> Any:
    """``onnx`` or a module of it, such as ``onnx.helper``."""
    return import_module(name)
