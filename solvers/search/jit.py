"""The one door to numba, with a type: a compiled function keeps the signature that it was written with."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar
from zlib import crc32

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """``function`` as machine code, kept on disk, free of the interpreter's lock while it runs.

    Where neither the package's folder nor the user's cache may be written, each process compiles for itself.
    """
    numba: Any = import_module("numba")
    try:
        result: Function = numba.njit(cache=True, nogil=True, error_model="numpy")(function)
    except RuntimeError:  # numba found no folder for its cache.
        result = numba.njit(nogil=True, error_model="numpy")(function)
    return result


def fingerprint(*modules: str) -> int:
    """A number that changes with the text of these modules of this package.

    Raises FileNotFoundError for a module that is not there: its edits would go unnoticed, and stale machine
    code would run.
    """
    folder = Path(__file__).parent
    return crc32(b"".join((folder / f"{module}.py").read_bytes() for module in modules))
