"""What Python code says of a workload as a document, whose values know the line of code that gave them."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, TypeAlias

from chipmodel.errors import Place
from chipmodel.files.yaml_tree import Document, YamlNode

Children: TypeAlias = dict[str | int, tuple[YamlNode, int, int]]
OURS = str(Path(__file__).parent)
"""Frames of this package are not the user's."""


class CodeMapping(dict[str, Any]):
    """A mapping of the document and the line of code that gave it; what is inside has the line of its
    parent."""

    def __init__(self, place: Place, **values: Any) -> None:
        super().__init__(**values)
        self.place = place


@dataclass(frozen=True, slots=True)
class CodeDocument(Document):
    """A document whose lines are numbers of ``places`` in Python files."""

    places: tuple[Place, ...] = ()

    def place(self, path: Sequence[str | int]) -> Place:
        """The line of code that gave the value at ``path``, or its nearest parent that exists."""
        return self.places[Document.place(self, path).line]


def document_of(data: CodeMapping) -> CodeDocument:
    """``data`` in the types that a file has: tuples as lists."""
    places = [data.place]
    root, _ = _node(data, 0, places)
    return CodeDocument(data.place.file, root.data, root, 0, 0, tuple(places))


def _node(value: Any, line: int, places: list[Place]) -> tuple[YamlNode, int]:
    """``value`` as a node, and its line; new lines are appended to ``places``."""
    if isinstance(value, CodeMapping):
        places.append(value.place)
        line = len(places) - 1
    children: Children = {}
    if isinstance(value, Mapping):
        named: Mapping[Any, Any] = value  # pyright: ignore[reportUnknownVariableType]
        for key, each in named.items():
            children[str(key)] = (*_node(each, line, places), 1)
        return _parent({key: node.data for key, (node, _, _) in children.items()}, children), line
    if isinstance(value, Sequence) and not isinstance(value, str):
        listed: Sequence[Any] = value  # pyright: ignore[reportUnknownVariableType]
        for index, each in enumerate(listed):
            children[index] = (*_node(each, line, places), 1)
        return _parent([node.data for node, _, _ in children.values()], children), line
    return YamlNode(value, {}, str(value)), line


def _parent(data: Any, children: Children) -> YamlNode:
    nodes = [node for node, _, _ in children.values()]
    height = 1 + max((node.height for node in nodes), default=0)
    return YamlNode(data, children, values=1 + sum(node.values for node in nodes), height=height)


def calling_line() -> Place:
    """The innermost line of code that is not of this package."""
    frame: FrameType | None = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    while frame is not None and _ours(frame.f_code.co_filename):
        frame = frame.f_back
    return Place(frame.f_code.co_filename, frame.f_lineno, 1) if frame else Place("Python")


def _ours(file: str) -> bool:
    return file.startswith(OURS) or Path(file).name == "contextlib.py"
