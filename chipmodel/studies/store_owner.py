"""Processes that work on a study, and whether they are still alive."""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass
from pathlib import Path
from time import time

LEASE_SECONDS = 60.0
"""How long a process on another machine counts as alive after its last heartbeat."""


@dataclass(frozen=True, slots=True)
class Owner:
    """A process: number in the store, machine, pid, start, and last heartbeat (seconds since 1970)."""

    id: int
    host: str
    pid: int
    started: str
    beat: float


def myself() -> Owner:
    """This process, not yet in a store."""
    return Owner(0, socket.gethostname(), os.getpid(), _started(os.getpid()), time())


def is_alive(owner: Owner) -> bool:
    """Whether ``owner`` may still store what it has claimed. On this machine that is known; a pid that was
    given to another process since began at another time."""
    # On Windows os.kill ends the process, whatever the signal.
    if owner.host != socket.gethostname() or os.name == "nt":
        return time() - owner.beat < LEASE_SECONDS
    try:
        os.kill(owner.pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return owner.started == _started(owner.pid)


def _started(pid: int) -> str:
    """When the process began, in clock ticks (proc(5), field 22 of stat); empty where it is not told."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return ""
    state, *rest = stat.rpartition(")")[2].split()
    return "" if state == "Z" else rest[18]
