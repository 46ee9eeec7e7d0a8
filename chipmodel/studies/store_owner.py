"""Processes that work on a study, and whether they are still alive."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from time import time
from typing import Annotated

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

LEASE_SECONDS = 60.0
"""How long a process on another machine counts as alive after its last heartbeat."""


@dataclass(frozen=True, slots=True, config=ConfigDict(strict=True))
class Owner:
    """A process: number in the store, machine, pid, start, and last heartbeat (seconds since 1970)."""

    id: int
    host: str
    pid: Annotated[int, Field(ge=1, lt=1 << 31)]
    started: str
    beat: Annotated[float, Field(ge=0, allow_inf_nan=False)]


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
