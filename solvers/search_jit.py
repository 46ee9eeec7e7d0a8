"""The one door to numba, with a type: a compiled function keeps the signature that it was written with."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """``function`` as machine code, kept on disk, free of the interpreter's lock while it runs."""
    numba: Any = import_module("numba")
    result: Function = numba.njit(cache=True, nogil=True, error_model="numpy")(function)
    return result
