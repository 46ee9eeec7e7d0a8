"""Types of elements in files: the rows of ``element_types.csv``.

``onnx`` is the number in ``TensorProto.DataType``: FLOAT to FLOAT4E2M1 and FLOAT8E8M0. ``tflite`` is the name
in TensorFlow Lite's schema (schema.fbs), where handles are counted with strings: no chip computes
with them. ``numpy`` is the type of elements whose values are read.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path

with Path(__file__).with_suffix(".csv").open(encoding="utf-8", newline="") as _table:
    _ROWS = tuple(csv.DictReader(_table))
_TFLITE = [row for row in _ROWS if row["tflite"]]

FLOATS = frozenset(int(row["onnx"]) for row in _ROWS if row["kind"] == "float")
"""ONNX's numbers of types that deployment replaces by its own type."""
ELEMENT_NAMES: Mapping[int, str] = {
    int(row["onnx"]): row["name"] for row in _ROWS if row["name"] and row["kind"] != "float"
}
"""Types that deployment does not change, by ONNX's numbers."""
ELEMENT_BITS: Mapping[int, int] = {int(row["onnx"]): int(row["bits"]) for row in _ROWS if row["bits"]}
"""Bits of an element in the file, by ONNX's numbers."""
ELEMENT_OF_TYPE: Mapping[str, int] = {row["tflite"]: int(row["onnx"]) for row in _TFLITE}
NUMPY_OF_TYPE: Mapping[str, str] = {row["tflite"]: row["numpy"] for row in _TFLITE if row["numpy"]}
TYPE_BITS: Mapping[str, int] = {row["tflite"]: int(row["bits"]) for row in _TFLITE if row["bits"]}
"""The same by TensorFlow Lite's names."""
TYPE_OF_LETTER: Mapping[str, str] = {row["letter"]: row["tflite"] for row in _TFLITE if row["letter"]}
"""TensorFlow Lite's names by the letters that stand for them in its table of operators."""
