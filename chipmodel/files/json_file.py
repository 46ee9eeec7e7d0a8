"""JSON files whose mistakes are named by line and column, also where the JSON itself is sound."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import NoReturn, TypeGuard, TypeVar

from chipmodel.errors import BadInput, Place
from chipmodel.files.suggestions import shown

T = TypeVar("T")
Step = str | int
_BLANK = " \t\n\r"
_DECODER = json.JSONDecoder()


@dataclass(frozen=True, slots=True)
class Node:
    """A value of a JSON file and how to get there, so that an error can say where it stands."""

    value: object
    path: tuple[Step, ...]
    text: str
    file: str
    hint: str
    """What to do about a file that is not of the kind that was asked for."""

    def fail(self, what: str) -> NoReturn:
        """Raise BadInput at this value's line and column."""
        raise BadInput(
            f"{_named(self.path)}{what}", where=_place(self.text, self.path, self.file), hint=self.hint
        )

    def mapping(self) -> Mapping[str, object]:
        """The value as an object."""
        if not _is_object(self.value):
            self.fail(f"expected an object, not {shown(self.value)}")
        return self.value

    def has(self, key: str) -> bool:
        """Whether the object has a ``key``."""
        return key in self.mapping()

    def at(self, key: str) -> Node:
        """What the object has at ``key``."""
        if key not in self.mapping():
            self.fail(f"the key {key!r} is missing")
        return Node(self.mapping()[key], (*self.path, key), self.text, self.file, self.hint)

    def values(self, read: Callable[[Node], T]) -> dict[str, T]:
        """Every value of the object, in its order."""
        return {key: read(self.at(key)) for key in self.mapping()}

    def each(self, read: Callable[[Node], T]) -> tuple[T, ...]:
        """Every item of the list."""
        if not _is_list(self.value):
            self.fail(f"expected a list, not {shown(self.value)}")
        items = enumerate(self.value)
        return tuple(read(Node(v, (*self.path, i), self.text, self.file, self.hint)) for i, v in items)

    def words(self) -> str:
        """The value as a string."""
        if not isinstance(self.value, str):
            self.fail(f"expected a string, not {shown(self.value)}")
        return self.value

    def flag(self) -> bool:
        """The value as true or false."""
        if not isinstance(self.value, bool):
            self.fail(f"expected true or false, not {shown(self.value)}")
        return self.value

    def count(self) -> int:
        """The value as a whole number of at least 0."""
        if not isinstance(self.value, int) or isinstance(self.value, bool) or self.value < 0:
            self.fail(f"expected a whole number of 0 or more, not {shown(self.value)}")
        return self.value

    def number(self) -> float:
        """The value as a finite number."""
        if isinstance(self.value, bool) or not isinstance(self.value, int | float):
            self.fail(f"expected a number, not {shown(self.value)}")
        if not isfinite(self.value):
            self.fail(f"expected a finite number, not {shown(self.value)}")
        return self.value


def read_json(text: str, file: str, hint: str) -> Node:
    """The value in ``text``. Raises BadInput, with its place, for what is not JSON or has a key twice."""
    try:
        value = json.loads(text, object_pairs_hook=_once)
    except json.JSONDecodeError as error:
        place = Place(file, error.lineno, error.colno)
        raise BadInput(f"not JSON: {error.msg}", where=place, hint=hint) from None
    except _Twice as twice:
        what = f"the key {shown(twice.key)} is given twice in one object"
        raise BadInput(what, where=_second(text, twice.key, file), hint=hint) from None
    except ValueError:
        # json leaves it to int() to refuse numbers of thousands of digits.
        raise BadInput("a number is too long", where=Place(file), hint=hint) from None
    except RecursionError:
        raise BadInput("nested too deeply", where=Place(file), hint=hint) from None
    return Node(value, (), text, file, hint)


class _Twice(Exception):
    def __init__(self, key: str) -> None:
        super().__init__(key)
        self.key = key


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found: dict[str, object] = {}
    for key, value in pairs:
        if key in found:
            raise _Twice(key)
        found[key] = value
    return found


def _is_object(value: object) -> TypeGuard[Mapping[str, object]]:
    return isinstance(value, dict)


def _is_list(value: object) -> TypeGuard[list[object]]:
    return isinstance(value, list)


def _named(path: tuple[Step, ...]) -> str:
    words = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return f"{words.lstrip('.')}: " if words else ""


def _place(text: str, path: tuple[Step, ...], file: str) -> Place:
    """Line and column of the value at ``path``, counted from 1."""
    index = _skip(text, 0)
    for step in path:
        index = _child(text, index, step)
    return _at(text, index, file)


def _at(text: str, index: int, file: str) -> Place:
    start = text.rfind("\n", 0, index) + 1
    return Place(file, text.count("\n", 0, index) + 1, index - start + 1)


def _child(text: str, index: int, step: Step) -> int:
    """Where the value of a key or index begins, in the object or list that begins at ``index``."""
    position = 0
    index = _skip(text, index + 1)
    while True:
        key: Step = position
        if isinstance(step, str):
            found, index = _DECODER.raw_decode(text, index)
            key = str(found)
            index = _skip(text, _skip(text, index) + 1)
        if key == step:
            return index
        _, index = _DECODER.raw_decode(text, index)
        index = _skip(text, _skip(text, index) + 1)
        position += 1


def _second(text: str, key: str, file: str) -> Place:
    """The second time that ``key`` stands in the text, or the file alone where it is written in escapes."""
    written = json.dumps(key, ensure_ascii=False)
    first = text.find(written)
    second = text.find(written, first + 1) if first >= 0 else -1
    return _at(text, second, file) if second >= 0 else Place(file)


def _skip(text: str, index: int) -> int:
    while index < len(text) and text[index] in _BLANK:
        index += 1
    return index
