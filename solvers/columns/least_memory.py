"""The least memory over borders: the path whose fullest way needs the fewest bytes.

Nothing leaves memory but inputs and outputs. Of paths for a number of bytes, those that compute the fewest
multiply-accumulates or take the NPU the fewest cycles are the shortest ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from solvers.columns.kernel import COLUMNS, ListedColumns, listed_ways
from solvers.columns.moves import border_of, moves
from solvers.columns.path import BorderWays, FastestPath
from solvers.core.deadline import Deadline
from solvers.fluid.amounts import FluidAmounts
from solvers.fluid.borders import NEVER
from solvers.fluid.problem import FluidProblem

AFTER, CYCLES, MACS, BYTES = 1, 3, 4, COLUMNS + 4
"""Columns of a table of ways."""


class MemoryPath(NamedTuple):
    """A path, and the multiply-accumulates that its ways compute."""

    macs: int
    path: FastestPath


class LeastMemorySearch:
    """All ways between borders, for paths in ever less memory. Raises TimeIsOver."""

    def __init__(self, problem: FluidProblem, columns: ListedColumns, deadline: Deadline) -> None:
        self.amounts, self.columns = FluidAmounts(problem), columns
        self.ways: list[list[BorderWays]] = [[] for _ in range(self.amounts.count + 1)]
        """Those that lead to each border."""
        for start in range(self.amounts.count):
            deadline.require("the least memory over borders")
            for stop in range(start + 1, min(self.amounts.count, start + columns.longest) + 1):
                if found := self._ways(start, stop):
                    self.ways[stop].append(found)
        tables = [way.table[:, BYTES] for ways in self.ways for way in ways]
        self.sizes: list[int] = np.unique(np.concatenate(tables)).tolist() if tables else []

    def _ways(self, start: int, stop: int) -> BorderWays | None:
        stretch = self.columns.stretch(start, stop)
        if stretch is None:
            alone = stop == start + 1 and self.columns.any_way(start, stop)
            return self._any_way(start) if alone else None
        border = border_of(self.amounts, stretch, start, stop, True)
        if border is None:
            return None
        table = listed_ways(self.columns, stretch, border)
        return BorderWays(start, stop, table, True) if len(table) else None

    def _any_way(self, run: int) -> BorderWays:
        """The way of an op that is not listed: it needs no memory that is known, but for what stays."""
        residents = self.amounts.residents
        held = max(sum(tensor.bytes for tensor in residents.untracked[b].values()) for b in (run, run + 1))
        cycles, rest = self.columns.least_cycles(run), (0,) * (BYTES - CYCLES - 1)
        rows = [
            (move.before, move.after, 0, cycles, *rest, held + max(move.before_bytes, move.after_bytes))
            for move in moves(residents, run, run + 1)
        ]
        return BorderWays(run, run + 1, np.array(rows, np.int64), False)

    def least(self, most_macs: int = NEVER) -> int | None:
        """Return the fewest bytes of a path of at most so many multiply-accumulates; None for none."""
        low, high = 0, len(self.sizes)
        while low < high:
            middle = (low + high) // 2
            found = self._shortest(self.sizes[middle], 1, 0)
            low, high = (low, middle) if found is not None and found.macs <= most_macs else (middle + 1, high)
        return self.sizes[low] if low < len(self.sizes) else None

    def within(self, size: int, most_macs: int = NEVER) -> FastestPath | None:
        """Return a path for so many bytes that takes the NPU few cycles, within a limit on
        multiply-accumulates; None for none."""
        for macs, cycles in ((0, 1), (64, 1), (1, 0)) if most_macs < NEVER else ((0, 1),):
            found = self._shortest(size, macs, cycles)
            if found is not None and found.macs <= most_macs:
                return found.path
        return None

    def _shortest(self, size: int, macs: int, cycles: int) -> MemoryPath | None:
        """The path for so many bytes with the least sum of what its ways compute and take, each so much."""
        costs = [np.full(self.amounts.residents.sets(b), NEVER, np.int64) for b in range(len(self.ways))]
        last: list[list[tuple[BorderWays, int] | None]] = [[None] * len(each) for each in costs]
        costs[0][0] = 0
        for border, ways in enumerate(self.ways):
            for way in ways:
                table = way.table
                cost = costs[way.start][table[:, 0]] + macs * table[:, MACS] + cycles * table[:, CYCLES]
                cost = np.where(table[:, BYTES] <= size, cost, NEVER)
                for state in np.unique(table[:, AFTER]).tolist():
                    number = int(np.where(table[:, AFTER] == state, cost, NEVER).argmin())
                    if cost[number] < costs[border][state]:
                        costs[border][state] = cost[number]
                        last[border][state] = way, number
        return self._path(last) if costs[-1][0] < NEVER else None

    def _path(self, last: list[list[tuple[BorderWays, int] | None]]) -> MemoryPath:
        steps = [*_back(last)][::-1]
        macs = sum(int(way.table[number, MACS]) for way, number in steps)
        cycles = sum(int(way.table[number, CYCLES]) for way, number in steps)
        return MemoryPath(macs, FastestPath(cycles, tuple(way.way(number) for way, number in steps)))


def _back(last: list[list[tuple[BorderWays, int] | None]]) -> Iterator[tuple[BorderWays, int]]:
    border, state = len(last) - 1, 0
    while border:
        step = last[border][state]
        assert step is not None
        yield step
        border, state = step[0].start, int(step[0].table[step[1], 0])
