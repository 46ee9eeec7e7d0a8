"""The version of whatever decides a study's answers, and where they were made."""

from __future__ import annotations

import os
import platform
import subprocess
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from itertools import chain
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDERS = ("chipmodel", "solvers", "dma", "workloads")
DATA = (
    *("workloads/zoo/networks/*.yaml", "chipmodel/hardware/*.csv", "chipmodel/hardware/*.yaml"),
    *("chipmodel/npu/*.csv", "solvers/*.csv", "dma/*.csv"),
)
"""Built-in networks, Psram, NPUs, planners; files of chips are hashed with the point that names one."""
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
    patterns = (*(f"{folder}/**/*.py" for folder in FOLDERS), *DATA)
    paths = chain.from_iterable(map(root.glob, patterns))
    names = (path.relative_to(root).as_posix() for path in paths)
    return tuple(sorted(name for name in names if _decides(name)))


def _decides(name: str) -> bool:
    if name in STILL_DECIDE:
        return True
    return not any(name == other or name.startswith(f"{other}/") for other in NEVER_DECIDE)


CPU_FILE = Path("/proc/cpuinfo")


@cache
def origin() -> str:
    """``chipmodel 1.0.0 (commit 12ab, code 34cd); Python 3.12.3, ...; Linux-6.1, 2 cores of a CPU``."""
    commit = _commit()
    made = f"commit {commit}, code {code_version()}" if commit else f"code {code_version()}"
    software = ", ".join(f"{name} {version(name)}" for name in OTHERS)
    return (
        f"chipmodel {version('chipmodel')} ({made}); Python {platform.python_version()}, {software}; "
        f"{platform.platform()}, {os.cpu_count()} cores of {_cpu()}"
    )


def _commit() -> str:
    """The checkout's commit; empty outside of one."""
    if not (ROOT / ".git").exists():
        return ""
    asked = ["git", "-C", str(ROOT), "rev-parse", "--short=12", "HEAD"]
    try:
        return subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip()
    except OSError:
        return ""


def _cpu() -> str:
    """The processor's name, as far as the system tells it."""
    try:
        lines = CPU_FILE.read_text(errors="replace").splitlines()
    except OSError:
        lines = []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.processor() or platform.machine())
