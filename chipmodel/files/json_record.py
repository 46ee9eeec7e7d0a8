"""Objects of JSON files that stand for values of a dataclass: each key is named once, to read and to write.

A ``JsonRecord`` has the keys of a class in the order in which they are written; types come from the class.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from types import NoneType
from typing import Any, Generic, Literal, TypeVar, get_args, get_origin, get_type_hints

from chipmodel.files.json_file import JsonValue
from chipmodel.files.suggestions import shown
from chipmodel.records import dataclass

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Codec(Generic[T]):
    """How a value is read from JSON and written to it."""

    read: Callable[[JsonValue], T]
    write: Callable[[T], object]


def _itself(value: object) -> object:
    return value


TEXT = Codec(JsonValue.text, _itself)
FLAG = Codec(JsonValue.flag, _itself)
INTEGER = Codec(JsonValue.integer, _itself)
COUNT = Codec(JsonValue.count, _itself)
_PLAIN: Mapping[object, Codec[Any]] = {str: TEXT, bool: FLAG, int: INTEGER}
Codecs = Mapping[Any, Codec[Any]]
"""Codecs of classes that are no plain values."""


def listed(codec: Codec[T]) -> Codec[tuple[T, ...]]:
    """Any number of values."""
    return Codec(lambda node: node.each(codec.read), lambda values: [*map(codec.write, values)])


def nullable(codec: Codec[T]) -> Codec[T | None]:
    """A value or null."""
    return Codec(
        lambda node: node.optional(codec.read), lambda each: None if each is None else codec.write(each)
    )


def at_least(least: int) -> Codec[int]:
    """A whole number of at least ``least``."""

    def read(node: JsonValue) -> int:
        if node.count() < least:
            node.fail(f"at least {least}, not {shown(node.value)}")
        return node.count()

    return Codec(read, _itself)


def codec_of(hint: Any, codecs: Codecs) -> Codec[Any]:
    """The codec of values of the type ``hint``."""
    arguments = [each for each in get_args(hint) if each is not NoneType]
    if hint in codecs or hint in _PLAIN:
        return codecs[hint] if hint in codecs else _PLAIN[hint]
    if get_origin(hint) is tuple:
        return listed(codec_of(arguments[0], codecs))
    if get_origin(hint) is Mapping:
        return Codec(lambda node: node.values(codec_of(arguments[1], codecs).read), dict)
    if get_origin(hint) is Literal:
        return Codec(lambda node: node.choice(get_args(hint)), _itself)
    if len(arguments) == 1:
        return nullable(codec_of(arguments[0], codecs))
    raise AssertionError(f"no codec of {hint}")


@dataclass(frozen=True, slots=True)
class _Key:
    name: str
    attribute: str
    codec: Codec[Any]
    optional: bool
    default: object
    """The default of the class; an optional key with this value is not written."""


class JsonRecord(Generic[T]):
    """An object that stands for a value of ``kind``.

    Each of ``keys`` is the name of an attribute, ``key=attribute`` where it is called otherwise, and ends in
    ``?`` where it may be missing: then it is the class's default, and a whole number at least that. Without
    keys they are those of the class. An attribute that ``codecs`` has by its name has that codec. ``check``
    refuses values that do not go together. Keys ``also`` known are read by somebody else; ``others`` says
    that there may be any more.
    """

    def __init__(
        self,
        kind: type[T],
        *keys: str,
        codecs: Codecs,
        check: Callable[[JsonValue, T], None] | None = None,
        also: tuple[str, ...] = (),
        others: bool = False,
    ) -> None:
        self.kind, self.check, self.others = kind, check, others
        hints = get_type_hints(kind)
        defaults = {field.name: field.default for field in fields(kind)}  # type: ignore[arg-type]
        self.keys: list[_Key] = []
        for spelled in keys or tuple(defaults):
            name, _, attribute = spelled.removesuffix("?").partition("=")
            attribute = attribute or name
            optional, default = spelled.endswith("?"), defaults[attribute]
            hint = _given(hints[attribute]) if optional else hints[attribute]
            codec = codecs.get(attribute) or codec_of(hint, codecs)
            if optional and codec in (INTEGER, COUNT) and isinstance(default, int):
                codec = at_least(default)
            self.keys.append(_Key(name, attribute, codec, optional, default))
        self.names = (*also, *(key.name for key in self.keys))
        self.known = frozenset(self.names)

    def read(self, node: JsonValue) -> T:
        """The value at ``node``. Raises BadInput, with line and column, where it is none."""
        if not self.others and not self.known.issuperset(node.mapping()):
            node.only(*self.names)
        record = self.kind(**self.values(node))
        if self.check:
            self.check(node, record)
        return record

    def values(self, node: JsonValue) -> dict[str, Any]:
        """The attributes whose keys are there."""
        there = node.mapping()
        return {
            key.attribute: key.codec.read(node.at(key.name))
            for key in self.keys
            if not key.optional or key.name in there
        }

    def write(self, value: T) -> dict[str, object]:
        """What a JSON file has for ``value``."""
        values = ((key, getattr(value, key.attribute)) for key in self.keys)
        return {
            key.name: key.codec.write(each) for key, each in values if not key.optional or each != key.default
        }


def _given(hint: Any) -> Any:
    """The type of an optional attribute where it is given."""
    kept = [each for each in get_args(hint) if each is not NoneType]
    return kept[0] if NoneType in get_args(hint) else hint
