"""Run a search: its first nodes as Python, which needs nothing loaded, the rest as machine code.

Both change the same arrays in the same way, so the answer does not depend on when one takes over from the
other. Where LLVM cannot be loaded, everything runs as Python.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from threading import Lock

import numpy as np

from chipmodel.errors import LimitedSearch
from solvers.core.or_tools import EXACT_EXTRA
from solvers.search import columns as col
from solvers.search import kernel
from solvers.search.state import SearchState

COMPILED_FROM = ("columns", "state", "moves", "branching", "kernel")
"""Modules of this package whose text the machine code on disk depends on."""
TRANSLATED_BY = ("arithmetic", "expressions", "machine", "mark", "program", "statements", "types", "writer")
"""The same of ``solvers.search.native``."""
PYTHON_WORK = 20_000
"""Nodes times items searched as Python before a process loads machine code, which takes about as long."""
PYTHON_NODES = 16
"""Nodes after which what is left of that is looked at."""


@dataclass(frozen=True, slots=True)
class Entries:
    """The kernel's functions as machine code; a state is passed by its address."""

    restart: Callable[[int], None]
    run: Callable[[int, int], int]
    code: object
    """Keeps the machine code in memory."""


def machine_code() -> Entries:
    """The machine code, from disk if it is there.

    Raises ImportError, OSError or RuntimeError where LLVM cannot be used.
    """
    from solvers.search.native.machine import MachineCode  # Imports LLVM.

    code = MachineCode((kernel.restart, kernel.run), fingerprint())
    return Entries(code.function(kernel.restart), code.function(kernel.run), code)


class Engine:
    """What the searches of a process run by: Python at first, then machine code."""

    def __init__(self, source: Callable[[], Entries], python_work: int = PYTHON_WORK) -> None:
        self._source = source
        self._lock = Lock()
        self._entries: Entries | None = None
        self._failed = False
        self._python_left = python_work

    def load(self) -> Entries | None:
        """The machine code, loaded once; None, and a warning the first time, where that is impossible."""
        with self._lock:
            if self._entries is None and not self._failed:
                try:
                    self._entries = self._source()
                except (ImportError, OSError, RuntimeError) as error:
                    self._failed = True
                    install = f"; {EXACT_EXTRA}" if isinstance(error, ImportError) else ""
                    what = f"the search runs as Python, a few hundred times slower: {error}{install}"
                    warnings.warn(LimitedSearch(what), stacklevel=2)
        return self._entries

    def ready(self) -> Entries | None:
        """The machine code if it is time for it, or None for Python."""
        if self._entries is not None or self._failed or self._python_left > 0:
            return self._entries
        return self.load()

    def spend(self, work: int) -> None:
        """Count what was searched as Python."""
        self._python_left -= work


ENGINE = Engine(machine_code)


def fingerprint() -> str:
    """A checksum of the source text of all that the machine code is made of.

    Raises FileNotFoundError for a module that does not exist: otherwise its edits would go unnoticed, and
    stale machine code would run.
    """
    folder = Path(__file__).parent
    files = [folder / f"{module}.py" for module in COMPILED_FROM]
    files += [folder / "native" / f"{module}.py" for module in TRANSLATED_BY]
    return sha256(b"\0".join(file.read_bytes() for file in files)).hexdigest()


class SearchRun:
    """One search's state, and what advances it."""

    def __init__(self, state: SearchState, engine: Engine = ENGINE) -> None:
        self.state = state
        self._engine = engine
        self._views = views(state)
        self._table = addresses(state)

    def restart(self) -> None:
        """Begin again: nothing placed; weights, ranks and the number of nodes stay."""
        entries = self._engine.ready()
        if entries is None:
            kernel.restart(self._views)
        else:
            entries.restart(self._table.ctypes.data)

    def run(self, nodes: int) -> int:
        """Search for at most ``nodes`` more; the status, RUNNING where that was not enough."""
        left, status = nodes, int(self.state.control[col.STATUS])
        while left > 0 and status == col.RUNNING:
            entries = self._engine.ready()
            if entries is not None:
                return entries.run(self._table.ctypes.data, left)
            status = kernel.run(self._views, min(left, PYTHON_NODES))
            self._engine.spend(min(left, PYTHON_NODES) * len(self.state.items))
            left -= PYTHON_NODES
        return status


def views(state: SearchState) -> SearchState:
    """The same arrays for the kernel as Python: their elements are read as Python's numbers."""
    return SearchState(*(memoryview(array) for array in state))  # type: ignore[arg-type]


def addresses(state: SearchState) -> np.typing.NDArray[np.int64]:
    """Address, rows and columns of each array, as compiled functions take them; valid while ``state`` lives.

    Raises ValueError for an array that is not in one piece or not of 64-bit elements.
    """
    rows = [(array.ctypes.data, array.shape[0], array.shape[-1]) for array in state]
    if not all(array.flags.c_contiguous and array.dtype.itemsize == 8 for array in state):
        raise ValueError("the search's arrays are not as compiled functions take them")
    return np.array(rows, dtype=np.int64)
