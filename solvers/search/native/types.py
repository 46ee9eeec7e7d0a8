"""The types of values in compiled functions, read from the annotations of Python functions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, get_args, get_type_hints

import numpy as np


class Untranslatable(Exception):
    """A compiled function leaves the subset: a fault of chipmodel, found when the function is compiled."""


@dataclass(frozen=True, slots=True)
class Scalar:
    """A single value, and its type in LLVM."""

    name: str
    llvm: str


INT = Scalar("int", "i64")
"""A signed number of 64 bits: a sum that leaves them wraps, unlike Python's."""
WORD = Scalar("word", "i64")
"""64 bits, an element of an array of ``uint64``: only bit operations, ``==`` and ``!=``."""
FLOAT = Scalar("float", "double")
BOOL = Scalar("bool", "i1")
NOTHING = Scalar("None", "void")


@dataclass(frozen=True, slots=True)
class Table:
    """An array of one or two dimensions, without gaps, row after row."""

    element: Scalar


@dataclass(frozen=True, slots=True)
class Record:
    """A NamedTuple of arrays, passed as the address of three numbers for each: address, rows, columns."""

    fields: tuple[tuple[str, Table], ...]


Type = Scalar | Table | Record


@dataclass(frozen=True, slots=True)
class Signature:
    """The types of a function's parameters, by name, and of its result."""

    parameters: tuple[tuple[str, Type], ...]
    result: Scalar


def signature(function: Callable[..., Any]) -> Signature:
    """The signature that the annotations of ``function`` state. Raises Untranslatable."""
    hints = get_type_hints(function)
    result = _type(hints.pop("return", None))
    if not isinstance(result, Scalar):
        raise Untranslatable(f"{function.__qualname__}: an array cannot be returned")
    code = function.__code__
    names = code.co_varnames[: code.co_argcount]
    if code.co_flags & 0x0C or code.co_kwonlyargcount or set(names) != set(hints):
        raise Untranslatable(f"{function.__qualname__}: positional parameters with annotations only")
    return Signature(tuple((name, _type(hints[name])) for name in names), result)


def _type(hint: Any) -> Type:
    simple: dict[Any, Scalar] = {int: INT, float: FLOAT, bool: BOOL, type(None): NOTHING, None: NOTHING}
    if hint in simple:
        return simple[hint]
    if hasattr(hint, "_fields"):
        fields = get_type_hints(hint)
        return Record(tuple((name, _table(fields[name])) for name in hint._fields))
    return _table(hint)


def _table(hint: Any) -> Table:
    elements: dict[Any, Scalar] = {np.int64: INT, np.uint64: WORD, np.float64: FLOAT}
    arguments = get_args(hint)
    element = get_args(arguments[1])[0] if len(arguments) == 2 and get_args(arguments[1]) else None
    if element not in elements:
        raise Untranslatable(f"no type of compiled functions: {hint}")
    return Table(elements[element])
