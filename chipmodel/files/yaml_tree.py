"""The values of a YAML file as a tree with the line and column of each.

It is built from the parser's events, without recursion and within limits, so that even a malicious file
(deep nesting, aliases of aliases) is refused quickly.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NoReturn

import yaml

from chipmodel.errors import BadInput, Place
from chipmodel.files.suggestions import cut
from chipmodel.records import dataclass

Data = dict[str, Any] | list[Any] | str | int | float | bool | None
PathStep = str | int

MAX_DEPTH = 100
"""Limit of nested lists and mappings."""
MAX_VALUES = 300_000
"""Limit of values, counted with every alias replaced by its anchor's values."""


_INTEGER = re.compile(r"[-+]?(0|[1-9][0-9]*)")
_HEXADECIMAL = re.compile(r"0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_PADDED = re.compile(r"[-+]?0[0-9]+")
_WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_MAX_NUMBER_CHARACTERS = 400
"""More than any float needs, and fewer than the 4,300 digits that ``int`` refuses."""


@dataclass(slots=True)
class YamlNode:
    """One value of the file. ``children`` maps a key or index to its value and to the line and column,
    counted from 1, of the key or item; ``text`` is a scalar as written."""

    data: Data
    children: dict[PathStep, tuple[YamlNode, int, int]]
    text: str = ""
    plain: bool = False
    values: int = 1
    """Number of values in it, itself included, with aliases replaced."""
    height: int = 1


_NO_CHILDREN: dict[PathStep, tuple[YamlNode, int, int]] = {}
"""Shared by all scalars: a dict for each would double the time of a large file."""


def scalar(text: str) -> str | int | float | bool | None:
    """The value of a scalar without quotes in the YAML 1.2 core schema.

    Raises ``ValueError``, with a message for the user, for a number that is too long or ambiguous.
    """
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in "0123456789+-." or (len(text) > _MAX_NUMBER_CHARACTERS and not _is_number(text)):
        return text
    if len(text) > _MAX_NUMBER_CHARACTERS:
        raise ValueError(f"the number {cut(text)} is too long")
    if _INTEGER.fullmatch(text):
        return int(text)
    if _HEXADECIMAL.fullmatch(text):
        return int(text, 16)
    if _PADDED.fullmatch(text):
        raise ValueError(
            f"the number {text} with a leading zero is read as octal by some and decimal by others"
        )
    return _float(text) if _FLOAT.fullmatch(text) else text


def _is_number(text: str) -> bool:
    return any(form.fullmatch(text) for form in (_INTEGER, _HEXADECIMAL, _PADDED, _FLOAT))


def _float(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise ValueError(f"the number {text} is too large")
    return value


@dataclass(slots=True)
class _OpenNode:
    """A list or mapping that has not ended yet; ``key`` is the one whose value comes next."""

    node: YamlNode
    key: str | None = None
    line: int = 0
    column: int = 0


@dataclass(frozen=True, slots=True)
class Document:
    """The contents of a file: ``data`` as plain dicts, lists and scalars, and the position of every value."""

    file: str
    data: Data
    root: YamlNode
    line: int = 1
    column: int = 1

    def place(self, path: Sequence[PathStep]) -> Place:
        """The position of the key or item at ``path``, or of its nearest parent that exists."""
        node, line, column = self.root, self.line, self.column
        for step in path:
            if step not in node.children:
                break
            node, line, column = node.children[step]
        return Place(self.file, line, column)

    def written(self, path: Sequence[PathStep]) -> str:
        """The text of the scalar at ``path`` as written in the file, so that 30.891 stays exact.

        Raises ``KeyError`` where the document has no such path.
        """
        node = self.root
        for step in path:
            node = node.children[step][0]
        return node.text


class Tree:
    """Builds the nodes of one document from the events of a YAML parser.

    ``root`` is None before the first event; ``start`` is its line and column.
    """

    def __init__(self, file: str) -> None:
        self.file = file
        self.frames: list[_OpenNode] = []
        self.anchors: dict[str, YamlNode] = {}
        self.root: YamlNode | None = None
        self.start = (1, 1)
        self.values = 0

    def take(self, event: Any) -> None:
        mark = event.start_mark
        match event:
            case yaml.ScalarEvent():
                if event.tag is not None:
                    self._refuse_tag(event, mark)
                self._add(self._scalar(event, mark), event.anchor, mark)
            case yaml.MappingStartEvent():
                self._open(YamlNode({}, {}), event, mark)
            case yaml.SequenceStartEvent():
                self._open(YamlNode([], {}), event, mark)
            case yaml.CollectionEndEvent():
                self._close()
            case yaml.AliasEvent():
                self._add(self._aliased(event.anchor or "", mark), None, mark)
            case yaml.DocumentStartEvent() if self.root is not None:
                self._fail(mark, "a second YAML document begins here", "keep one document in a file")
            case _:
                pass

    def _scalar(self, event: Any, mark: Any) -> YamlNode:
        text: str = event.value
        plain: bool = event.implicit[0]
        try:
            return YamlNode(scalar(text) if plain else text, _NO_CHILDREN, text, plain)
        except ValueError as error:
            self._fail(mark, str(error), "write the plain number, or quote a text")

    def _aliased(self, anchor: str, mark: Any) -> YamlNode:
        node = self.anchors.get(anchor)
        if node is None:
            self._fail(mark, f"nothing is anchored as '&{cut(anchor)}'", "put the anchor before its alias")
        if any(frame.node is node for frame in self.frames):
            self._fail(
                mark, f"the alias '*{cut(anchor)}' stands inside what it names", "write the values out"
            )
        return node

    def _refuse_tag(self, event: Any, mark: Any) -> NoReturn:
        hint = "remove it; quote a value that is a text"
        self._fail(mark, f"the tag {cut(repr(event.tag))} has no meaning here", hint)

    def _open(self, node: YamlNode, event: Any, mark: Any) -> None:
        if event.tag is not None:
            self._refuse_tag(event, mark)
        self._add(node, event.anchor, mark)
        self.frames.append(_OpenNode(node))

    def _close(self) -> None:
        node = self.frames.pop().node
        if self.frames:
            parent = self.frames[-1].node
            parent.values += node.values - 1
            parent.height = max(parent.height, node.height + 1)

    def _add(self, node: YamlNode, anchor: str | None, mark: Any) -> None:
        """Put ``node`` into the innermost list or mapping, as a key or a value."""
        if anchor is not None:
            self.anchors[anchor] = node
        if not self.frames:
            self.root, self.start = node, (mark.line + 1, mark.column + 1)
            return
        frame = self.frames[-1]
        data = frame.node.data
        if isinstance(data, dict) and frame.key is None:
            self._take_key(frame, node, mark)
            return
        self.values += node.values
        if self.values > MAX_VALUES or len(self.frames) + node.height > MAX_DEPTH:
            self._refuse_size(mark)
        frame.node.values += node.values
        if frame.node.height <= node.height:
            frame.node.height = node.height + 1
        if isinstance(data, list):
            frame.node.children[len(data)] = (node, mark.line + 1, mark.column + 1)
            data.append(node.data)
        elif isinstance(data, dict) and frame.key is not None:
            frame.node.children[frame.key] = (node, frame.line, frame.column)
            data[frame.key] = node.data
            frame.key = None

    def _refuse_size(self, mark: Any) -> NoReturn:
        if self.values > MAX_VALUES:
            hint = "make it smaller; each alias counts as all that it stands for"
            self._fail(mark, f"the file holds more than {MAX_VALUES:,} values", hint)
        what = f"values are nested more than {MAX_DEPTH} levels deep"
        self._fail(mark, what, "check the brackets and dashes")

    def _take_key(self, frame: _OpenNode, node: YamlNode, mark: Any) -> None:
        key = node.data
        if type(key) is int and node.text == str(key):
            key = node.text  # written one way only, so unambiguous
        if not isinstance(key, str):
            if isinstance(key, dict | list):
                self._fail(
                    mark, "a key must be a text, not a list or mapping", "write the key as a plain word"
                )
            what = f"a key must be a text, not {cut(node.text) or 'nothing'}"
            self._fail(mark, what, f'quote it: "{cut(node.text)}":')
        if key == "<<" and node.plain:
            self._fail(mark, "merge keys ('<<') are not supported", "write the fields out")
        if key in frame.node.children:
            first = frame.node.children[key][1]
            self._fail(
                mark, f"the key '{cut(key)}' is given twice, first on line {first}", "remove one of the two"
            )
        frame.key, frame.line, frame.column = key, mark.line + 1, mark.column + 1

    def _fail(self, mark: Any, what: str, hint: str) -> NoReturn:
        raise BadInput(what, where=Place(self.file, mark.line + 1, mark.column + 1), hint=hint)
