"""Answers as JSON values: the one place that makes documents of them.

The keys of an object are the fields of its dataclass, in their order: a field has the key's name, which has
the unit in it (``peak_bytes``, ``total_cycles``), and is told where it is declared. A class may say more:

``FORMAT``
    The version of its document, the first key; a key that changes its meaning makes it another.
``KEYS``
    The keys where they are not just the fields: ``key``, or ``key=attribute`` of a field or property, of an
    inner value too (``bytes=request.bytes``, None where there is no such value), with ``?`` at the end where
    None leaves the key out; ``*attribute`` stands for all keys of a mapping.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, fields, is_dataclass
from fractions import Fraction
from functools import cache
from types import SimpleNamespace
from typing import Any, NamedTuple, cast

MICROSECOND = 6
"""Digits after the point of seconds of a clock."""


def left_out() -> Any:
    """A field that is None unless it is given, and whose key is then left out."""
    return field(default=None, metadata={"optional": True})


def document(value: Any) -> dict[str, Any]:
    """Return an answer as JSON values: fractions are floats, seconds whole microseconds."""
    kind = cast("Any", type(value))
    head: dict[str, Any] = {"format": kind.FORMAT} if hasattr(kind, "FORMAT") else {}
    return head | _values(_keys(kind), value)


def keyed(keys: tuple[str, ...], parts: Mapping[str, object]) -> dict[str, Any]:
    """Return a document with ``keys``, spelled as ``KEYS`` of a class are, of values by their names."""
    return _values(_spelled(keys), SimpleNamespace(**parts))


def _values(keys: tuple[_DocumentKey, ...], value: Any) -> dict[str, Any]:
    plain_values: dict[str, Any] = {}
    for key in keys:
        part = key.of(value)
        if key.name.startswith("*"):
            plain_values |= plain(part)
        elif not (part is None and key.optional):
            plain_values[key.name] = plain(part)
    if "seconds" in plain_values:
        plain_values["seconds"] = round(plain_values["seconds"], MICROSECOND)
    return plain_values


def plain(value: Any) -> Any:
    """Return a value of an answer as JSON has it."""
    if is_dataclass(value):
        return document(value)
    if isinstance(value, Mapping):
        return {key: plain(each) for key, each in value.items()}  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, tuple | list):
        return [plain(each) for each in value]  # pyright: ignore[reportUnknownVariableType]
    return float(value) if isinstance(value, Fraction) else value


class _DocumentKey(NamedTuple):
    name: str
    path: tuple[str, ...]
    optional: bool

    def of(self, value: Any) -> Any:
        for name in self.path:
            value = None if value is None else getattr(value, name)
        return value


@cache
def _keys(kind: Any) -> tuple[_DocumentKey, ...]:
    if hasattr(kind, "KEYS"):
        return _spelled(kind.KEYS)
    return tuple(_DocumentKey(each.name, (each.name,), "optional" in each.metadata) for each in fields(kind))


def _spelled(keys: tuple[str, ...]) -> tuple[_DocumentKey, ...]:
    spelled = ((key.removesuffix("?").partition("="), key.endswith("?")) for key in keys)
    return tuple(
        _DocumentKey(name, (*(path or name.removeprefix("*")).split("."),), optional)
        for (name, _, path), optional in spelled
    )
