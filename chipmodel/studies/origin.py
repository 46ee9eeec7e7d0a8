"""Where an answer was made: versions of the software, and the machine."""

from __future__ import annotations

import os
import platform
import subprocess
from functools import cache
from importlib.metadata import version
from pathlib import Path

from chipmodel.studies.code_version import OTHERS, ROOT, code_version

CPU_FILE = Path("/proc/cpuinfo")


@cache
def origin() -> str:
    """``chipmodel 0.2.0 (commit 12ab, code 34cd); Python 3.12.3, ...; Linux-6.1, 2 cores of a CPU``."""
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
