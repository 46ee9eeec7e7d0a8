"""Sums over a problem that its steps have in common."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate
from math import prod
from typing import NamedTuple

import numpy as np

from solvers.fluid.problem import FluidProblem, FluidTensor
from solvers.fluid.residents import FURTHER, TRACKED, Integers, Residents

UNBOUNDED = 1 << 40
"""More bytes than there are."""


class Fitting:
    """How many of several sizes, each so many times, have room together."""

    def __init__(self, sizes: Integers, times: Integers, problem: FluidProblem) -> None:
        """``sizes`` in order, the smallest first."""
        self.sizes = np.append(sizes, UNBOUNDED)
        self.sums = np.append(0, np.cumsum(sizes * times))
        self.counts = np.append(0, np.cumsum(times))
        rates = problem.set_up, problem.most_each.numerator, problem.most_each.denominator
        steps = (len(self.sizes), *rates), self.sizes, self.sums, self.counts
        self.array: Integers = np.concatenate(steps)
        """What the compiled kernel takes: ``Moved`` in ``ways.h``."""

    def count(self, room: Integers) -> Integers:
        """Return the most of them that ``room`` bytes hold."""
        at = np.maximum(np.searchsorted(self.sums, room, side="right") - 1, 0)
        more: Integers = np.maximum(room - self.sums[at], 0) // np.maximum(self.sizes[at], 1)
        return self.counts[at] + more


class TransferSize(NamedTuple):
    """The least bytes of a transfer, and how often it comes."""

    bytes: int
    times: int
    earliest: int
    """The border from which on it may come."""
    run: int
    """The run that it is of."""


def _in_order(transfers: Iterator[TransferSize]) -> Integers:
    """The fields of transfers, the smallest first."""
    return np.array(sorted(transfers), np.int64).reshape(-1, 4).T


class FluidAmounts:
    """DMA cycles of bytes, and of what the runs before and after a border load and store."""

    def __init__(self, problem: FluidProblem) -> None:
        self.problem, self.count = problem, len(problem.ops)
        self.residents = Residents(problem)
        self.followed = {id(tensor) for border in self.residents.tracked for tensor in border}
        runs, borders, repeats = range(self.count), range(self.count + 1), problem.repeats
        self.times = [prod(n for start, stop, n in repeats if start <= run < stop) for run in runs]
        """How often each run comes."""
        around = [[each for each in repeats if each[0] <= border <= each[1]] for border in borders]
        later = [min([border, *(start for start, _, _ in around[border])]) for border in borders]
        """The first run that may come after each border: where runs repeat, the first one of these."""
        before = [max([border, *(stop for _, stop, _ in around[border])]) for border in borders]
        loads_after = self._loads_after()
        self.loads_after = [loads_after[border] for border in later]
        """The most DMA cycles of all loads of the runs after each border, which may come before it."""
        sizes, times, earliest, run = _in_order(self._loads())
        self.loaded_later = [
            Fitting(sizes[there], times[there], problem)
            for border, first in zip(borders, later, strict=True)
            for there in ((earliest <= border) & (run >= first),)
        ]
        sizes, times, earliest, run = _in_order(self._stores())
        self.stored_before = [Fitting(sizes[run < end], times[run < end], problem) for end in before]
        stores = (
            self.times[t.made] * (t.store * self._may_move(t) + t.stored)
            for t in problem.tensors
            if t.made is not None
        )
        every = max(self.loads_after) + sum(stores)
        # Bytes that are stored early take room instead of loads, but each of these stores has a set-up.
        room = int(self.ahead_in(np.array(problem.capacity), 0)) + (TRACKED + len(FURTHER)) * problem.set_up
        self.most = max(1, min(room, every))
        """DMA cycles that may be moved ahead anywhere."""

    def _may_move(self, tensor: FluidTensor) -> bool:
        """Whether it is loaded in any way that is counted: of what no border follows nothing is."""
        return tensor.made is None or id(tensor) in self.followed

    def _loads_after(self) -> list[int]:
        """DMA cycles of the loads of the runs from each one on that may come before it: of tensors that are
        made by then."""
        problem, count = self.problem, self.count
        change = [0] * (count + 1)
        for run, op in enumerate(problem.ops):
            weights = self.times[run] * (self.weights_alone(run) + self.loaded(op.weights) + 2)
            change[0] += weights
            change[run + 1] -= weights
        for tensor in filter(self._may_move, problem.tensors):
            for run, cycles in zip(tensor.reads, tensor.loads, strict=True):
                # Of runs that repeat, later ones load what earlier ones have made.
                made = None if problem.repeats else tensor.complete
                change[0 if made is None else made + 1] += self.times[run] * cycles
                change[run + 1] -= self.times[run] * cycles
        return list(accumulate(change))

    def _loads(self) -> Iterator[TransferSize]:
        """The least bytes of each load of tensors and of weights."""
        for tensor in self.problem.tensors:
            earliest = 0 if tensor.complete is None else tensor.complete + 1
            for run, cycles in zip(tensor.reads, tensor.loads, strict=True):
                if cycles:
                    times = self._times_read(tensor, run)
                    yield TransferSize(self._least_bytes(cycles), times, earliest, run)
        for run, op in enumerate(self.problem.ops):
            if op.weights and op.set_up:
                # Of weights that take much of the memory two slices may be there.
                times = 2 if 2 * op.weights > self.problem.capacity else 1
                size = 1 + (op.weights - 1) % max(1, self.problem.capacity)
                yield TransferSize(min(size, op.weights // times), times * self.times[run], 0, run)

    def _times_read(self, tensor: FluidTensor, run: int) -> int:
        """How often a run reads the same tensor: one that is there before the runs that repeat, and after."""
        made, last = -1 if tensor.made is None else tensor.made, tensor.reads[-1]
        return prod(n for start, stop, n in self.problem.repeats if made < start <= run < stop <= last)

    def _stores(self) -> Iterator[TransferSize]:
        """The least bytes of each store."""
        for tensor in self.problem.tensors:
            if tensor.made is not None:
                for cycles in filter(None, (tensor.store, tensor.stored)):
                    times = self.times[tensor.made]
                    yield TransferSize(self._least_bytes(cycles), times, tensor.made + 1, tensor.made)

    def _least_bytes(self, cycles: int) -> int:
        """The least bytes of a transfer of so many cycles."""
        each = self.problem.most_each
        return max(0, cycles - self.problem.set_up) * each.denominator // max(1, each.numerator)

    def ahead_in(self, size: Integers, border: int) -> Integers:
        """Return the most DMA cycles that ``size`` bytes of what is loaded after ``border`` save there.

        A load that has not begun, or has ended with a part of its bytes, saves no set-up: the rest is another
        load. So only those count that are there as a whole, and one that is on its way.
        """
        return self._moved(size, self.loaded_later[border])

    def behind_in(self, size: Integers, border: int) -> Integers:
        """Return the most DMA cycles of stores at ``border`` whose data lie in ``size`` bytes."""
        return self._moved(size, self.stored_before[border])

    def _moved(self, size: Integers, fitting: Fitting) -> Integers:
        set_ups, each = self.problem.set_up * (fitting.count(size) + 1), self.problem.most_each
        return size * each.numerator // each.denominator + 1 + set_ups

    def weights_alone(self, run: int) -> int:
        """Return DMA cycles to load the weights of a run that is in no cascade: in as many loads, at least,
        as they are times larger than memory."""
        op = self.problem.ops[run]
        return op.set_up * -(-op.weights // max(1, self.problem.capacity)) + self.loaded(op.weights)

    def loaded(self, size: int) -> int:
        """Return DMA cycles to load ``size`` bytes of weights, rounded down."""
        return size * self.problem.each.numerator // self.problem.each.denominator
