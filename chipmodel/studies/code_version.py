"""The version of whatever decides a study's answers."""

from __future__ import annotations

import platform
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDERS = ("chipmodel", "solvers", "dma", "workloads")
OTHERS = ("onnx", "ortools")
"""Packages that answers come from as well."""
NEVER_DECIDE = ("chipmodel/cli", "chipmodel/terminal", "chipmodel/studies")
"""Folders that only ask, store, show or check."""
STILL_DECIDE = ("chipmodel/studies/answer.py", "chipmodel/studies/workload.py")
"""Files of these folders that answer a point or load its workload."""


@cache
def code_version() -> str:
    """A hash of the sources that load, plan and simulate, of the Python and of the packages beneath.

    Raises FileNotFoundError where a folder or file named here is not there: rows answered by other code would
    be taken for answers of this one.
    """
    digest = sha256(platform.python_version().encode())
    for name in OTHERS:
        digest.update(f"{name} {version(name)}".encode())
    for name in deciding_files():
        digest.update(name.encode() + b"\0" + (ROOT / name).read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def deciding_files(root: Path = ROOT) -> tuple[str, ...]:
    """The sources below ``root`` whose edits may change an answer, sorted, such as ``dma/stream.py``."""
    missing = [name for name in (*FOLDERS, *NEVER_DECIDE, *STILL_DECIDE) if not (root / name).exists()]
    if missing:
        raise FileNotFoundError(f"not below {root}: {', '.join(missing)}")
    names = (
        path.relative_to(root).as_posix() for folder in FOLDERS for path in (root / folder).rglob("*.py")
    )
    return tuple(sorted(name for name in names if _decides(name)))


def _decides(name: str) -> bool:
    if name in STILL_DECIDE:
        return True
    return not any(name == other or name.startswith(f"{other}/") for other in NEVER_DECIDE)
