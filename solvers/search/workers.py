"""Workers that search for the same plan in different orders, with ever longer rounds between restarts.

A worker's answer depends on the model, the capacity, its seed and the nodes it has used, and on nothing else;
the winner is the one that used fewest nodes, then the one with the lower number. So neither threads nor the
speed of the machine influence the answer, unless there is a limit in seconds.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from time import perf_counter
from typing import TYPE_CHECKING, Protocol, cast

import numpy as np
import numpy.typing as npt

from chipmodel.errors import LimitedSearch, warn_caller
from solvers.core.deadline import Deadline
from solvers.search import columns as col
from solvers.search.model import SearchModel
from solvers.search.state import Ints, SearchState, copy
from solvers.search.tables import rank, search_state

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor


HOW_TO_BUILD = "'pip install' builds it where there is a C++ compiler"


class Kernel(Protocol):
    """The two functions of ``solvers.search._kernel`` by which a search runs."""

    def restart(self, state: SearchState, /) -> None: ...

    def run(self, state: SearchState, nodes: int, /) -> int: ...


@cache
def compiled_kernel() -> Kernel | None:
    """The compiled kernel; None, and a warning the first time, where it cannot be loaded."""
    try:
        return cast(Kernel, import_module("solvers.search._kernel"))
    except ImportError as error:
        what = f"heuristics and CP-SAT pack without the compiled search: {error}"
        warn_caller(LimitedSearch(f"{what}; {HOW_TO_BUILD}"))
        return None


class SearchRun:
    """One search's state, and what advances it."""

    def __init__(self, state: SearchState) -> None:
        kernel = compiled_kernel()
        assert kernel is not None  # Without it no problem is searchable.
        self.state, self._kernel = state, kernel
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


Floats = npt.NDArray[np.float64]
SHORT_NODES = 300
"""Nodes of a short round, or twice the number of items where that is more."""
LONG_GROWTH = 1.5
"""How much longer each long round is than the last."""
SHORT_PER_LONG = 4.0
"""A long round is due once the short ones used this many nodes for each of its own (by measurement)."""
FIRST_WORKER_NODES = 1000
"""Nodes the first worker uses before the others are started: most problems end earlier."""
SLICE_SECONDS = 0.04
"""Time between two checks of the limits."""
INITIAL_RATE = 20_000.0
"""Nodes a second and worker, assumed until measured."""


class SearchWorker:
    """One search, restarted in rounds with another order of items and another rule for sections.

    Short rounds find plans quickly where an order is lucky; ever longer rounds in between lead to proofs.
    """

    def __init__(self, model: SearchModel, state: SearchState, seed: int, number: int) -> None:
        self.state = state
        self._search = SearchRun(state)
        self.random = np.random.default_rng((seed, number))
        self.size = np.array([float(item.size) for item in model.items])
        self.life = np.array([float(len(item.sections)) for item in model.items])
        self.round = number
        self.left = 0.0
        self.short = float(max(SHORT_NODES, 2 * len(model.items)))
        self.length = self.short
        self.short_nodes = 0.0
        self.status = col.RUNNING

    @property
    def nodes(self) -> int:
        return int(self.state.control[col.NODES])

    @property
    def offsets(self) -> Ints:
        """Offsets of all items in units; valid once the status is FOUND."""
        return self.state.items[:, col.OFFSET]

    @property
    def done(self) -> bool:
        return self.status in (col.FOUND, col.EXHAUSTED)

    def advance(self, until: int) -> None:
        """Search until this worker has used ``until`` nodes in all."""
        while not self.done and self.nodes < until:
            if self.left < 1 or self.status == col.NO_SPACE:
                self._restart()
            before = self.nodes
            if self.status == col.RUNNING:
                self.status = self._search.run(int(min(self.left, until - before)))
            if self.nodes == before:
                self.state.control[col.NODES] += 1
            self.left -= self.nodes - before

    def _restart(self) -> None:
        rank(self.state, self._keys())
        self.state.control[col.BRANCH_RULE] = self.random.integers(col.BRANCH_RULES)
        self.state.control[col.FLUSH_FIRST] = self.random.random() < 0.25
        self._search.restart()
        self.status = int(self.state.control[col.STATUS])
        self.round += 1
        self.left = self._length()

    def _length(self) -> float:
        """Nodes of the next round."""
        if self.short_nodes < SHORT_PER_LONG * self.length:
            self.short_nodes += self.short
            return self.short
        self.short_nodes = 0.0
        self.length *= LONG_GROWTH
        return self.length

    def _keys(self) -> Floats:
        """Sort keys of the items: in turn size, lifetime, area; with noise from the fourth round on."""
        noise = self.random.uniform(0.3, 1.0, len(self.size))
        base = (self.size, self.life, self.size * self.life)[self.round % 3]
        return -base * noise if self.round > 2 else -base


class WorkerRace:
    """``threads`` workers on one question."""

    def __init__(self, model: SearchModel, capacity: int, seed: int, threads: int, rules: int = 15) -> None:
        self._model = model
        self._seed = seed
        self._threads = max(1, threads)
        self._blank = search_state(model, capacity, rules)
        self.workers: list[SearchWorker] = []
        self._add()
        self._reached = 0
        self._rate = INITIAL_RATE

    def _add(self) -> None:
        self.workers.append(SearchWorker(self._model, copy(self._blank), self._seed, len(self.workers)))

    @property
    def nodes(self) -> int:
        return sum(worker.nodes for worker in self.workers)

    @property
    def winner(self) -> SearchWorker | None:
        """The worker that has the answer, or None."""
        done = [worker for worker in self.workers if worker.done]
        return min(done, key=lambda worker: worker.nodes) if done else None

    def run(self, until: Deadline, nodes: int | None) -> SearchWorker | None:
        """Search until the moment ``until``, or ``nodes`` are used in all; the winner, if any."""
        each = None if nodes is None else max(1, nodes // self._threads)
        if self._reached < FIRST_WORKER_NODES:
            self._step(
                [self.workers[0]], FIRST_WORKER_NODES if each is None else min(FIRST_WORKER_NODES, each), None
            )
        if self.winner is not None or self._over(until, each):
            return self.winner
        from concurrent.futures import ThreadPoolExecutor

        while len(self.workers) < self._threads:
            self._add()
        with ThreadPoolExecutor(self._threads) as pool:
            while self.winner is None and not self._over(until, each):
                goal = self._reached + max(100, int(self._rate * SLICE_SECONDS))
                self._step(self.workers, goal if each is None else min(goal, each), pool)
        return self.winner

    def _over(self, until: Deadline, each: int | None) -> bool:
        spent = each is not None and min(w.nodes for w in self.workers) >= each
        return spent or until.over

    def _step(self, workers: list[SearchWorker], goal: int, pool: ThreadPoolExecutor | None) -> None:
        began, before = perf_counter(), self._reached
        if pool is None or len(workers) == 1:
            for worker in workers:
                worker.advance(goal)
        else:
            for result in [pool.submit(worker.advance, goal) for worker in workers]:
                result.result()
        self._reached = goal
        self._rate = (goal - before) / max(perf_counter() - began, 1e-4)
