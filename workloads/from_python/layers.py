"""Every kind of op as a method; ``layers.pyi`` has their signatures and texts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import cache, wraps
from inspect import getmembers, isfunction, signature
from pathlib import Path
from types import FunctionType
from typing import Any


class Layers(ABC):
    """The ops of a network, each appended to the innermost open block; a tensor is known by its name."""

    __slots__ = ()

    def __init__(self) -> None:
        _complete()

    @abstractmethod
    def _append(
        self, kind: str, inputs: str | Sequence[str] | None, keys: Mapping[str, Any]
    ) -> tuple[str, ...]:
        """Append an op with those keys that are not None; the names of its outputs."""


@cache
def _complete() -> None:
    """Give ``Layers`` the methods, when there is a first network: to read their texts takes a while."""
    written: dict[str, Any] = {}
    exec(Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8"), written)
    for kind, described in getmembers(written["Layers"], isfunction):
        if not kind.startswith("_"):
            setattr(Layers, kind, _method(kind, described))


def _method(kind: str, described: FunctionType) -> Callable[..., str | tuple[str, ...]]:
    """Return the method of one kind of op, with the signature and text of ``described``."""
    whole, several = signature(described), described.__annotations__["return"] != "str"

    @wraps(described)
    def append(self: Layers, /, *inputs: Any, **keys: Any) -> str | tuple[str, ...]:
        given = whole.bind(self, *inputs, **keys).arguments
        read, further = given.pop("x", None) or given.pop("inputs", None), given.pop("keys", {})
        own = {key: value for key, value in given.items() if key != "self"}
        made = self._append(kind, read, further | own)  # pyright: ignore[reportPrivateUsage]
        return made if several else made[0]

    return append
