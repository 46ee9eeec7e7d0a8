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


def package() -> Any:
    """The tflite package."""
    return import_module("tflite")


@cache
def names_of(enumeration: str) -> Mapping[int, str]:
    """The names of an enumeration of the schema, such as ``BuiltinOperator``, by number."""
    kind: Any = getattr(package(), enumeration)
    names: list[str] = [name for name in dir(kind) if not name.startswith("_")]
    return {int(getattr(kind, name)): name for name in names}
