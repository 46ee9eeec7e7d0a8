"""The onnx package, imported on first use, and aliases for the types of its protobuf messages.

Importing onnx takes about 0.2 s (measured), so it is only imported to read a model. The aliases are ``Any``
because mypy and pyright disagree about the types of these messages.

The package has models for its own tests: ``onnx:light_squeezenet`` and others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from chipmodel.errors import BadInput
from chipmodel.files.suggestions import shown, suggest

ModelProto = Any
GraphProto = Any
NodeProto = Any
AttributeProto = Any
TensorProto = Any
TypeProto = Any
ValueInfoProto = Any

FAULTS = (ArithmeticError, LookupError, RuntimeError, TypeError, ValueError)
"""Exceptions of packages that read, infer or compute, for what is damaged or what they do not support."""


@cache
def module(name: str) -> Any:
    """The module ``name``, which is slow to import: ``onnx``, ``onnx.helper`` and so on."""
    return import_module(name)


def inner_graphs(node: NodeProto) -> Iterator[GraphProto]:
    """The sub-graphs in the attributes of a node; an empty one for an attribute that is none."""
    for attribute in node.attribute:
        yield from (attribute.g, *attribute.graphs)


SCHEME = "onnx:"
FOLDER = "backend/test/data/light"
"""Folder in the package with nine image networks of the ONNX Model Zoo, which compute their weights."""


def models() -> Mapping[str, Path]:
    """The files by name, sorted; none where the package or its test data is not installed."""
    package = find_spec("onnx")
    folders = [] if package is None else package.submodule_search_locations or []
    return {path.stem: path for folder in folders for path in sorted(Path(folder, FOLDER).glob("*.onnx"))}


def model_file(source: str) -> Path:
    """The file that ``onnx:NAME`` means. Raises BadInput where there is none."""
    known, name = models(), source.removeprefix(SCHEME)
    if name in known:
        return known[name]
    hint = suggest(name, known, "models are") if known else "install onnx with its test data, as pip does"
    raise BadInput(f"the onnx package has no model {shown(name)}", hint=hint)
