"""The modules of OR-Tools, imported when they are first needed: that takes longer than most commands."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def cp_sat_solver() -> Any:
    """CP-SAT."""
    return import_module("ortools.sat.python.cp_model")
