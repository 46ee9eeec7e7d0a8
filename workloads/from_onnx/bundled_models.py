"""The models in the onnx package, which it has for its own tests: ``onnx:light_squeezenet`` and others."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from chipmodel.errors import BadInput
from chipmodel.files.suggestions import shown, suggest

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
