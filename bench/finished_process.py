"""One finished process: its wall seconds, and what the operating system accounts it for."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter


@dataclass(frozen=True, slots=True)
class FinishedProcess:
    """Wall and CPU seconds, and peak resident memory in MiB."""

    wall: float
    cpu: float
    megabytes: float


def finished(
    command: Sequence[str], folder: Path, environment: Mapping[str, str], codes: Sequence[int] = (0,)
) -> FinishedProcess:
    """``command``, run in ``folder`` with its output discarded. Ends this process, with its messages,
    if its exit code is none of ``codes``."""
    with tempfile.TemporaryFile() as messages:
        began = perf_counter()
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=messages
        )
        _, status, usage = os.wait4(process.pid, 0)
        wall = perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode not in codes:
            messages.seek(0)
            said = messages.read().decode(errors="replace")
            raise SystemExit(f"{shlex.join(command)} ended with {process.returncode}:\n{said}")
    return FinishedProcess(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)
