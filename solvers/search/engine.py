"""Run a search: by the compiled kernel, or where that was not built, by its Python text.

Both change the same arrays in the same way, so the answer does not depend on which of them runs.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Protocol, cast

from chipmodel.errors import LimitedSearch, warn_caller
from solvers.search import kernel as python_kernel
from solvers.search.state import SearchState

HOW_TO_BUILD = "'pip install' builds it where there is a C++ compiler"


class Kernel(Protocol):
    """The two functions of ``solvers.search.kernel`` by which a search runs."""

    def restart(self, state: SearchState, /) -> None: ...

    def run(self, state: SearchState, nodes: int, /) -> int: ...


@cache
def fastest_kernel() -> Kernel:
    """The compiled kernel; where it cannot be loaded, the Python text, and a warning the first time."""
    try:
        return cast(Kernel, import_module("solvers.search._kernel"))
    except ImportError as error:
        what = f"the search runs as Python, a few hundred times slower: {error}"
        warn_caller(LimitedSearch(f"{what}; {HOW_TO_BUILD}"))
        return python_kernel


class SearchRun:
    """One search's state, and what advances it."""

    def __init__(self, state: SearchState, kernel: Kernel | None = None) -> None:
        self.state = state
        self._kernel = kernel or fastest_kernel()
        self._views = views(state)

    def restart(self) -> None:
        """Begin again: nothing placed; weights, ranks and the number of nodes stay."""
        self._kernel.restart(self._views)

    def run(self, nodes: int) -> int:
        """Search for at most ``nodes`` more; the status, RUNNING where that was not enough."""
        return self._kernel.run(self._views, nodes)


def views(state: SearchState) -> SearchState:
    """The same arrays, whose elements Python reads as numbers of its own."""
    return SearchState(*(memoryview(array) for array in state))  # type: ignore[arg-type]
