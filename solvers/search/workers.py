"""Workers that search for the same thing in different orders, node by node, and restart ever more rarely.

A worker is a pure function of the model, the capacity, its seed and the number of nodes that it has used;
the winner is the one that needed fewest nodes, then the one of the lower number. So threads and the speed
of the machine have no influence on the answer, only a limit in seconds has.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from time import perf_counter

import numpy as np
import numpy.typing as npt

from solvers.search import state as k
from solvers.search.kernel import restart, run
from solvers.search.model import Model
from solvers.search.tables import Ints, rank, tables

Floats = npt.NDArray[np.float64]
SHARE = 4.0
"""Nodes of short rounds for each node of the next long one, at least."""
ALONE = 1000
"""Nodes that the first worker may use before it is worth starting another."""
SLICE_SECONDS = 0.04
SHORT, GROWTH = 300, 1.5
"""Nodes of a short round (or twice the number of items); how much longer each long one is than the last."""


class Worker:
    """One search, restarted with the items in another order and another taste for sections.

    Rounds are short, for luck is quick, but as many nodes go into ever longer ones, for proofs are not.
    """

    def __init__(self, model: Model, state: k.State, seed: int, number: int) -> None:
        self.state = state
        self.random = np.random.default_rng((seed, number))
        self.size = np.array([float(group.size) for group in model.groups])
        self.life = np.array([float(len(group.sections)) for group in model.groups])
        self.round = number
        self.left = 0.0
        self.short = float(max(SHORT, 2 * len(model.groups)))
        self.length = self.short
        self.debt = 0.0
        self.status = k.RUNNING

    @property
    def nodes(self) -> int:
        return int(self.state.c[k.NODES])

    @property
    def offsets(self) -> Ints:
        """Of all items, in units; of use once the status is FOUND."""
        return self.state.it[:, k.OFFSET]

    @property
    def done(self) -> bool:
        return self.status in (k.FOUND, k.EXHAUSTED)

    def advance(self, until: int) -> None:
        """Search until ``until`` nodes are used in all."""
        while not self.done and self.nodes < until:
            if self.left < 1 or self.status == k.NO_SPACE:
                self._restart()
            before = self.nodes
            if self.status == k.RUNNING:
                self.status = run(*self.state, int(min(self.left, until - before)))
            if self.nodes == before:
                self.state.c[k.NODES] += 1
            self.left -= self.nodes - before

    def _restart(self) -> None:
        rank(self.state, self._keys())
        self.state.c[k.TASTE] = self.random.integers(k.TASTES)
        self.state.c[k.SNUG] = self.random.random() < 0.25
        restart(*self.state)
        self.status = int(self.state.c[k.STATUS])
        self.round += 1
        self.left = self._length()

    def _length(self) -> float:
        """Of the next round: a long one once the short ones since the last took as many nodes."""
        if self.debt < SHARE * self.length:
            self.debt += self.short
            return self.short
        self.debt = 0.0
        self.length *= GROWTH
        return self.length

    def _keys(self) -> Floats:
        """By turns size, lifetime and area, largest first, blurred after the first time."""
        blur = self.random.uniform(0.3, 1.0, len(self.size))
        base = (self.size, self.life, self.size * self.life)[self.round % 3]
        return -base * blur if self.round > 2 else -base


class Race:
    """``threads`` workers, one answer."""

    def __init__(self, model: Model, capacity: int, seed: int, threads: int, rules: int = 15) -> None:
        self._model = model
        self._seed = seed
        self._threads = max(1, threads)
        self._blank = tables(model, capacity, rules)
        self.workers: list[Worker] = []
        self._add()
        self._reached = 0
        self._rate = 20_000.0

    def _add(self) -> None:
        self.workers.append(Worker(self._model, k.copy(self._blank), self._seed, len(self.workers)))

    @property
    def nodes(self) -> int:
        return sum(worker.nodes for worker in self.workers)

    @property
    def winner(self) -> Worker | None:
        """The worker that has the answer, if any has."""
        done = [worker for worker in self.workers if worker.done]
        return min(done, key=lambda worker: worker.nodes) if done else None

    def run(self, until: float | None, nodes: int | None) -> Worker | None:
        """Until ``perf_counter()`` time ``until``, or ``nodes`` are used in all; the winner, if any."""
        each = None if nodes is None else max(1, nodes // self._threads)
        if self._reached < ALONE:
            self._step([self.workers[0]], ALONE if each is None else min(ALONE, each), None)
        if self.winner is not None or self._over(until, each):
            return self.winner
        while len(self.workers) < self._threads:
            self._add()
        with ThreadPoolExecutor(self._threads) as pool:
            while self.winner is None and not self._over(until, each):
                goal = self._reached + max(100, int(self._rate * SLICE_SECONDS))
                self._step(self.workers, goal if each is None else min(goal, each), pool)
        return self.winner

    def _over(self, until: float | None, each: int | None) -> bool:
        spent = each is not None and min(w.nodes for w in self.workers) >= each
        return spent or (until is not None and perf_counter() >= until)

    def _step(self, workers: list[Worker], goal: int, pool: ThreadPoolExecutor | None) -> None:
        began, before = perf_counter(), self._reached
        if pool is None or len(workers) == 1:
            for worker in workers:
                worker.advance(goal)
        else:
            for result in [pool.submit(worker.advance, goal) for worker in workers]:
                result.result()
        self._reached = goal
        self._rate = (goal - before) / max(perf_counter() - began, 1e-4)
