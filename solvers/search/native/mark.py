"""The mark of functions that are compiled where that is possible, and that also run as Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])
_marked: set[Callable[..., Any]] = set()


def compiled(function: Function) -> Function:
    """``function`` itself, marked: machine code may call it, so it must keep to the subset."""
    _marked.add(function)
    return function


def is_compiled(function: object) -> bool:
    """Whether ``function`` bears the mark."""
    return callable(function) and function in _marked
