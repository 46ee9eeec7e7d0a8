"""Sums over a problem that its steps have in common."""

from __future__ import annotations

from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solvers.fluid.problem import FluidProblem
from solvers.fluid.residents import Residents

Integers = NDArray[np.int64]


class FluidAmounts:
    """DMA cycles of bytes, and of what the runs before and after a border load and store."""

    def __init__(self, problem: FluidProblem) -> None:
        self.problem, self.count = problem, len(problem.ops)
        self.residents = Residents(problem)
        self.set_ups = sum(op.set_up for op in problem.ops)
        """Cycles of set-ups that may have been moved ahead without any bytes."""
        every = self.set_ups + self.loaded(sum(op.weights for op in problem.ops))
        every += sum(sum(t.loads) + t.store + t.stored for t in problem.tensors)
        self.most = max(1, min(int(self.cycles_in(np.array(problem.capacity))), every))
        """DMA cycles that may be moved ahead anywhere."""
        self.loads_after = self._loads_after()
        """The most DMA cycles of all loads of the runs after each border, which may come before it."""

    def _loads_after(self) -> list[int]:
        loads = [op.set_up + 2 * self.loaded(op.weights) + 2 for op in self.problem.ops]
        for tensor in self.problem.tensors:
            for run, cycles in zip(tensor.reads, tensor.loads, strict=True):
                loads[run] += cycles
        return list(accumulate(reversed(loads), initial=0))[::-1]

    def cycles_in(self, size: Integers) -> Integers:
        """Return the most DMA cycles whose data lie in ``size`` bytes, with their set-ups."""
        each = self.problem.most_each
        return size * each.numerator // each.denominator + 1 + self.set_ups

    def loaded(self, size: Any) -> Any:
        """Return DMA cycles to load ``size`` bytes of weights, one number or several, rounded down."""
        return size * self.problem.each.numerator // self.problem.each.denominator

    def results(self, run: int) -> int:
        """Return DMA cycles to store the program's results that the last run makes; 0 for other runs."""
        if run + 1 < self.count:
            return 0
        return sum(tensor.stored for tensor in self.residents.making[run])

    def last_stores(self, run: int) -> int:
        """Return the least cycles for a second stripe of a run in a group and for the results that are stored
        after its last one, or for all results after a single one."""
        striped = self.problem.ops[run].striped
        return min(self.results(run), (striped[0] if striped else 0) + self.problem.last_part)
