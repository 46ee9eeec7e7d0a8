"""The version of whatever decides a study's answers."""

from __future__ import annotations

import platform
from functools import cache
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

ROOT = Path(__file__).parent.parent
FOLDERS = ("chipmodel", "solvers", "dma", "workloads")
OTHERS = ("onnx", "ortools")
"""Packages that answers come from as well."""
NEVER_DECIDE = ("cli", "study_", "compare_", "progress", "live_line", "stepper", "verify")
"""How names of modules of ``chipmodel`` begin that only ask, store, show or check; ``study_run`` and
``study_workload``, which answer and load, do decide."""


@cache
def code_version() -> str:
    """A hash of the sources that load, plan and simulate, of the Python and of the packages beneath."""
    digest = sha256(platform.python_version().encode())
    for name in OTHERS:
        digest.update(f"{name} {_version(name)}".encode())
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            name = path.relative_to(ROOT).as_posix()
            if decides(name):
                digest.update(name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def decides(name: str) -> bool:
    """Whether an edit of the source ``name``, such as ``chipmodel/cli.py``, may change an answer."""
    if name in ("chipmodel/study_run.py", "chipmodel/study_workload.py"):
        return True
    return not name.startswith(tuple(f"chipmodel/{begin}" for begin in NEVER_DECIDE))


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""
