"""The tflite package (the schema's generated readers), imported on first use, and its numbers as names.

Importing it takes about 0.2 s, so it is only imported to read a model. Its classes have no types.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import Any

CUSTOM = "CUSTOM"
IDENTIFIER = b"TFL3"
"""At byte 4 of every TensorFlow Lite file (schema.fbs, file_identifier)."""

ELEMENT_OF_TYPE: Mapping[str, int] = {
    "FLOAT32": 1,
    "UINT8": 2,
    "INT8": 3,
    "UINT16": 4,
    "INT16": 5,
    "INT32": 6,
    "INT64": 7,
    "STRING": 8,
    "BOOL": 9,
    "FLOAT16": 10,
    "FLOAT64": 11,
    "UINT32": 12,
    "UINT64": 13,
    "COMPLEX64": 14,
    "COMPLEX128": 15,
    "BFLOAT16": 16,
    "INT4": 22,
    "RESOURCE": 8,
    "VARIANT": 8,
}
"""``TensorProto.DataType`` of ONNX by the name of the type in TensorFlow Lite's schema (schema.fbs). Handles
of resources are counted with strings: no chip computes with them."""

NUMPY_OF_TYPE: Mapping[str, str] = {
    "FLOAT32": "<f4",
    "UINT8": "<u1",
    "INT8": "<i1",
    "UINT16": "<u2",
    "INT16": "<i2",
    "INT32": "<i4",
    "INT64": "<i8",
    "BOOL": "?",
    "FLOAT16": "<f2",
    "FLOAT64": "<f8",
    "UINT32": "<u4",
    "UINT64": "<u8",
}
"""NumPy's types of the elements whose values are read."""

TYPE_BITS: Mapping[str, int] = {
    "INT4": 4,
    **dict.fromkeys(("UINT8", "INT8", "BOOL"), 8),
    **dict.fromkeys(("UINT16", "INT16", "FLOAT16", "BFLOAT16"), 16),
    **dict.fromkeys(("FLOAT32", "INT32", "UINT32"), 32),
    **dict.fromkeys(("INT64", "UINT64", "FLOAT64", "COMPLEX64"), 64),
    "COMPLEX128": 128,
}
"""Bits of an element in the file."""


def package() -> Any:
    """The tflite package."""
    return import_module("tflite")


@cache
def names_of(enumeration: str) -> Mapping[int, str]:
    """The names of an enumeration of the schema, such as ``BuiltinOperator``, by number."""
    kind: Any = getattr(package(), enumeration)
    names: list[str] = [name for name in dir(kind) if not name.startswith("_")]
    return {int(getattr(kind, name)): name for name in names}
