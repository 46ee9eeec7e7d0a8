"""The modules of OR-Tools, which is installed with ``chipmodel[exact]`` only: with pandas, which it needs, it
is as large as most of the rest together.

Where it is missing, ``solvers.exact`` and ``dma.residency.joint`` go on with searches of their own.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any
from warnings import warn

from chipmodel.errors import LimitedSearch, PackageMissing

EXACT_EXTRA = "pip install 'chipmodel[exact]'"
"""What installs OR-Tools."""


def cp_sat_solver() -> Any:
    """CP-SAT. Raises PackageMissing."""
    return _module("ortools.sat.python.cp_model", "CP-SAT")


def linear_solvers() -> Any:
    """SCIP and GLOP, a module without types. Raises PackageMissing."""
    return _module("ortools.linear_solver.pywraplp", "mixed-integer programming")


@cache
def go_on_without(missing: str, instead: str) -> None:
    """Warn, once for a process, that what is ``missing`` was not asked and what is done ``instead``."""
    warn(LimitedSearch(f"{missing}: {instead}; {EXACT_EXTRA}"), stacklevel=2)


def _module(name: str, what: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        text = f"{what} needs OR-Tools, which is not installed"
        raise PackageMissing(text, hint=f"{EXACT_EXTRA}, or choose another planner") from None
