"""JSON files: errors name line and column, both of broken JSON and of a wrong value in sound JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Mapping
from math import isfinite
from typing import NoReturn, TypeGuard, TypeVar

from chipmodel.errors import BadInput, Place
from chipmodel.files.suggestions import shown
from chipmodel.files.text_file import place_of
from chipmodel.records import dataclass

T = TypeVar("T")
PathStep = str | int
"""A key of an object or an index of a list."""
MAX_INTEGER = (1 << 63) - 1
"""Largest absolute value of a whole number; more than any count of bytes or cycles."""
_BLANK = " \t\n\r"
_DECODER = json.JSONDecoder()
_TOKEN = re.compile(r'("(?:[^"\\]|\\.)*")\s*(:)?|[{}]')
_ESCAPE = re.compile(r"\\(?:u[dD][89abAB]..\\u[dD][c-fC-F]..|(u[dD][89a-fA-F]..)|.)")
"""An escape in a string; half a pair of surrogates is a group."""


@dataclass(frozen=True, slots=True)
class _JsonSource:
    """The file that values come from; ``hint`` is the advice in every error about it."""

    text: str
    file: str
    hint: str


@dataclass(frozen=True, slots=True)
class JsonValue:
    """A value of a JSON file and the path to it. Every reader below raises BadInput, at the value's line and
    column, where the value is of another type."""

    value: object
    path: tuple[PathStep, ...]
    source: _JsonSource

    @property
    def file(self) -> str:
        """The name of the file, for messages."""
        return self.source.file

    def fail(self, what: str) -> NoReturn:
        """Raise BadInput at this value's line and column."""
        where = _place(self.source.text, self.path, self.source.file)
        raise BadInput(f"{_prefix(self.path)}{what}", where=where, hint=self.source.hint)

    def mapping(self) -> Mapping[str, object]:
        """The value as an object."""
        if not _is_object(self.value):
            self.fail(f"expected an object, not {shown(self.value)}")
        return self.value

    def has(self, key: str) -> bool:
        """Whether the object has a ``key``."""
        return key in self.mapping()

    def at(self, key: str) -> JsonValue:
        """What the object has at ``key``."""
        values = self.mapping()
        if key not in values:
            self.fail(f"the key {key!r} is missing")
        return JsonValue(values[key], (*self.path, key), self.source)

    def only(self, *known: str) -> None:
        """Refuse an object with a key that is none of ``known``."""
        for key in self.mapping():
            if key not in known:
                self.fail(f"the key {shown(key)} is none of {', '.join(known)}")

    def values(self, read: Callable[[JsonValue], T]) -> dict[str, T]:
        """Every value of the object, in its order."""
        return {key: read(self.at(key)) for key in self.mapping()}

    def each(self, read: Callable[[JsonValue], T]) -> tuple[T, ...]:
        """Every item of the list."""
        if not _is_list(self.value):
            self.fail(f"expected a list, not {shown(self.value)}")
        return tuple(read(JsonValue(v, (*self.path, i), self.source)) for i, v in enumerate(self.value))

    def text(self) -> str:
        """The value as a string."""
        if not isinstance(self.value, str):
            self.fail(f"expected a string, not {shown(self.value)}")
        return self.value

    def flag(self) -> bool:
        """The value as true or false."""
        if not isinstance(self.value, bool):
            self.fail(f"expected true or false, not {shown(self.value)}")
        return self.value

    def integer(self) -> int:
        """The value as a whole number."""
        if not isinstance(self.value, int) or isinstance(self.value, bool):
            self.fail(f"expected a whole number, not {shown(self.value)}")
        if abs(self.value) > MAX_INTEGER:
            self.fail(f"{shown(self.value)} is too large")
        return self.value

    def count(self) -> int:
        """The value as a whole number of at least 0."""
        if not isinstance(self.value, int) or isinstance(self.value, bool) or self.value < 0:
            self.fail(f"expected a whole number of 0 or more, not {shown(self.value)}")
        return self.integer()

    def optional(self, read: Callable[[JsonValue], T]) -> T | None:
        """What ``read`` returns; None for null."""
        return None if self.value is None else read(self)

    def choice(self, known: Collection[str]) -> str:
        """The value as one of the ``known`` strings."""
        if not isinstance(self.value, str) or self.value not in known:
            self.fail(f"expected {' or '.join(known)}, not {shown(self.value)}")
        return self.value

    def integers(self, count: int) -> tuple[int, ...]:
        """The value as a list of exactly ``count`` whole numbers."""
        return tuple(item.integer() for item in self.items(count))

    def items(self, count: int) -> tuple[JsonValue, ...]:
        """The items of a list of exactly ``count``."""
        items = self.each(lambda item: item)
        if len(items) != count:
            self.fail(f"expected {count} values, not {len(items)}")
        return items

    def number(self) -> float:
        """The value as a finite number."""
        if isinstance(self.value, bool) or not isinstance(self.value, int | float):
            self.fail(f"expected a number, not {shown(self.value)}")
        if isinstance(self.value, int):
            return self.integer()
        if not isfinite(self.value):
            self.fail(f"expected a finite number, not {shown(self.value)}")
        return self.value


def read_json(text: str, file: str, hint: str) -> JsonValue:
    """The value in ``text``, whose errors name ``file`` and end in ``hint``.

    Raises BadInput, with line and column, for what is not JSON, has a key twice in one object, or has half
    a character (a lone surrogate, which is no text) in a string.
    """
    try:
        value = json.loads(text, object_pairs_hook=_unique_keys)
    except json.JSONDecodeError as error:
        place = Place(file, error.lineno, error.colno)
        raise BadInput(f"not JSON: {error.msg}", where=place, hint=hint) from None
    except _DuplicateKey:
        key, index = _duplicate_key(text)
        what = f"the key {shown(key)} is given twice in one object"
        raise BadInput(what, where=place_of(text, index, file), hint=hint) from None
    except ValueError:
        # json leaves it to int() to refuse numbers of thousands of digits.
        raise BadInput("a number is too long", where=Place(file), hint=hint) from None
    except RecursionError:
        raise BadInput("nested too deeply", where=Place(file), hint=hint) from None
    if half := next((escape for escape in _ESCAPE.finditer(text) if escape[1]), None):
        place = place_of(text, half.start(), file)
        raise BadInput("half a character is not text", where=place, hint=hint)
    return JsonValue(value, (), _JsonSource(text, file, hint))


class _DuplicateKey(Exception):
    pass


def _unique_keys(pairs: list[tuple[str, object]]) -> dict[str, object]:
    mapping = dict(pairs)
    if len(mapping) < len(pairs):
        raise _DuplicateKey
    return mapping


def _is_object(value: object) -> TypeGuard[Mapping[str, object]]:
    return isinstance(value, dict)


def _is_list(value: object) -> TypeGuard[list[object]]:
    return isinstance(value, list)


def _prefix(path: tuple[PathStep, ...]) -> str:
    words = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return f"{words.lstrip('.')}: " if words else ""


def _place(text: str, path: tuple[PathStep, ...], file: str) -> Place:
    """Line and column of the value at ``path``, counted from 1."""
    index = _skip(text, 0)
    for step in path:
        index = _child(text, index, step)
    return place_of(text, index, file)


def _child(text: str, index: int, step: PathStep) -> int:
    """Where the value of a key or index begins, in the object or list that begins at ``index``."""
    position = 0
    index = _skip(text, index + 1)
    while True:
        key: PathStep = position
        if isinstance(step, str):
            name, index = _DECODER.raw_decode(text, index)
            key = str(name)
            index = _skip(text, _skip(text, index) + 1)
        if key == step:
            return index
        _, index = _DECODER.raw_decode(text, index)
        index = _skip(text, _skip(text, index) + 1)
        position += 1


def _duplicate_key(text: str) -> tuple[str, int]:
    """The first key that its object has already, and where it begins; up to there ``text`` is sound JSON."""
    objects: list[set[str]] = []
    for token in _TOKEN.finditer(text):
        if token[2]:
            key = json.loads(token[1])
            if key in objects[-1]:
                return key, token.start()
            objects[-1].add(key)
        elif token[0] == "{":
            objects.append(set())
        elif token[0] == "}":
            objects.pop()
    raise AssertionError("no object has a key twice")


def _skip(text: str, index: int) -> int:
    while index < len(text) and text[index] in _BLANK:
        index += 1
    return index
