"""The values of a YAML file as a tree with the line and column of each.

It is built from the parser's events, within limits, so that even a malicious file (deep nesting, aliases of
aliases) is refused quickly.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
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
    """Builds the nodes of one document from the ``events`` of a YAML parser."""

    def __init__(self, file: str, events: Iterator[Any]) -> None:
        self.file, self.events = file, events
        self.anchors: dict[str, YamlNode] = {}
        self.open: list[YamlNode] = []
        """Lists and mappings that have not ended yet, the outermost first."""
        self.values = -1  # The document itself does not count.

    def document(self) -> tuple[YamlNode, int, int] | None:
        """The value of the document with its line and column; None where there is none."""
        root: tuple[YamlNode, int, int] | None = None
        for event in self.events:
            if root and isinstance(event, yaml.DocumentStartEvent):
                what = "a second YAML document begins here"
                self._fail(event.start_mark, what, "keep one document in a file")
            if isinstance(event, yaml.NodeEvent):
                mark: Any = event.start_mark
                root = self._value(event), mark.line + 1, mark.column + 1
        return root

    def _value(self, event: Any) -> YamlNode:
        """The value that begins with ``event``, with all that is in it."""
        node = self._node(event)
        self.values += node.values
        if self.values > MAX_VALUES or (self.open and len(self.open) + node.height > MAX_DEPTH):
            self._refuse_size(event.start_mark)
        if isinstance(event, yaml.CollectionStartEvent):
            self.open.append(node)
            self._fill(node, node.data)
            self.open.pop()
        return node

    def _node(self, event: Any) -> YamlNode:
        """The scalar of ``event``, what it stands for, or an empty list or mapping."""
        if isinstance(event, yaml.AliasEvent):
            return self._aliased(event.anchor or "", event.start_mark)
        if event.tag is not None:
            hint = "remove it; quote a value that is a text"
            self._fail(event.start_mark, f"the tag {cut(repr(event.tag))} has no meaning here", hint)
        if isinstance(event, yaml.ScalarEvent):
            node = self._scalar(event, event.start_mark)
        else:
            node = YamlNode({} if isinstance(event, yaml.MappingStartEvent) else [], {})
        if event.anchor is not None:
            self.anchors[event.anchor] = node
        return node

    def _fill(self, node: YamlNode, data: Any) -> None:
        for event in self.events:
            if isinstance(event, yaml.CollectionEndEvent):
                return
            mark = event.start_mark
            step: PathStep = len(node.children)
            if isinstance(data, dict):
                step, event = self._key(node, event), next(self.events)
            inner = self._value(event)
            node.children[step] = (inner, mark.line + 1, mark.column + 1)
            if isinstance(data, dict):
                data[step] = inner.data
            else:
                data.append(inner.data)
            node.values += inner.values
            node.height = max(node.height, inner.height + 1)

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
        if any(each is node for each in self.open):
            what = f"the alias '*{cut(anchor)}' stands inside what it names"
            self._fail(mark, what, "write the values out")
        return node

    def _refuse_size(self, mark: Any) -> NoReturn:
        if self.values > MAX_VALUES:
            hint = "make it smaller; each alias counts as all that it stands for"
            self._fail(mark, f"the file holds more than {MAX_VALUES:,} values", hint)
        what = f"values are nested more than {MAX_DEPTH} levels deep"
        self._fail(mark, what, "check the brackets and dashes")

    def _key(self, into: YamlNode, event: Any) -> str:
        node, mark = self._node(event), event.start_mark
        key = node.data
        if type(key) is int and node.text == str(key):
            key = node.text  # written one way only, so unambiguous
        if isinstance(key, dict | list):
            what = "a key must be a text, not a list or mapping"
            self._fail(mark, what, "write the key as a plain word")
        if not isinstance(key, str):
            what = f"a key must be a text, not {cut(node.text) or 'nothing'}"
            self._fail(mark, what, f'quote it: "{cut(node.text)}":')
        if key == "<<" and node.plain:
            self._fail(mark, "merge keys ('<<') are not supported", "write the fields out")
        if key in into.children:
            what = f"the key '{cut(key)}' is given twice, first on line {into.children[key][1]}"
            self._fail(mark, what, "remove one of the two")
        return key

    def _fail(self, mark: Any, what: str, hint: str) -> NoReturn:
        raise BadInput(what, where=Place(self.file, mark.line + 1, mark.column + 1), hint=hint)
