"""The only use of numba, typed: a compiled function keeps the signature that it was written with."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar
from zlib import crc32

Function = TypeVar("Function", bound=Callable[..., Any])


# The compiled functions allocate nothing, so arrays need no reference counts (``_nrt``): with them every call
# that passes a ``SearchState`` would pay for atomic operations on eight arrays.
OPTIONS: dict[str, object] = {"nogil": True, "error_model": "numpy", "_nrt": False}


def compiled(function: Function) -> Function:
    """``function`` as machine code, kept on disk, which releases the interpreter's lock while it runs.

    It must not allocate. Where neither the package's folder nor the user's cache is writable, each process
    compiles for itself.
    """
    numba: Any = import_module("numba")
    try:
        result: Function = numba.njit(cache=True, **OPTIONS)(function)
    except RuntimeError:  # numba found no folder for its cache.
        result = numba.njit(**OPTIONS)(function)
    return result


def fingerprint(*modules: str) -> int:
    """A checksum of the source text of these modules of this package.

    Raises FileNotFoundError for a module that does not exist: otherwise its edits would go unnoticed, and
    stale machine code would run.
    """
    folder = Path(__file__).parent
    return crc32(b"".join((folder / f"{module}.py").read_bytes() for module in modules))
