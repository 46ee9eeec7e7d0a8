"""Sums over a problem that its steps have in common."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import accumulate
from math import ceil, prod
from operator import add, mul
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solvers.fluid.problem import FluidProblem, FluidTensor
from solvers.fluid.residents import TRACKED, Residents
from solvers.fluid.stripes import UNBOUNDED, Separations, Turns

Integers = NDArray[np.int64]


RATE_UNITS = 1 << 12
"""Cycles of a byte are rounded up to one of so many parts of a cycle, so that products have 64 bits."""


class Fitting:
    """How many of several sizes, each so many times, have room together."""

    def __init__(self, sizes: list[tuple[int, int]]) -> None:
        self.sizes, times = np.array([*sorted(sizes), (UNBOUNDED, 1)], np.int64).T
        self.sums = np.cumsum([0, *(self.sizes * times)[:-1]])
        self.counts = np.cumsum([0, *times[:-1]])

    def count(self, room: Integers) -> Integers:
        """Return the most of them that ``room`` bytes hold."""
        at = np.maximum(np.searchsorted(self.sums, room, side="right") - 1, 0)
        more: Integers = np.maximum(room - self.sums[at], 0) // np.maximum(self.sizes[at], 1)
        return self.counts[at] + more


class FluidAmounts:
    """DMA cycles of bytes, and of what the runs before and after a border load and store."""

    def __init__(self, problem: FluidProblem) -> None:
        self.problem, self.count = problem, len(problem.ops)
        self.residents = Residents(problem)
        self.separations, self.turns = Separations(problem), Turns(self.residents)
        self.further, self._further_of = cache(self._further), [cache(op.further) for op in problem.ops]
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
        rates = (problem.most_each, *(self.rate(run) for run in reversed(runs)))
        rate_later = [_rounded_up(each) for each in accumulate(rates, max)][::-1]
        self.rate_later = [rate_later[border] for border in later]
        """The most DMA cycles of a byte that is loaded after each border."""
        self.loaded_later = [Fitting(self._sizes_ahead(*each)) for each in zip(borders, later, strict=True)]
        stored_before = [Fitting(sizes) for sizes in self._sizes_stored_before()]
        self.stored_before = [stored_before[border] for border in before]
        stores = (self.times[t.made] * (t.store + t.stored) for t in problem.tensors if t.made is not None)
        every = self.loads_after[0] + sum(stores)
        # Bytes that are stored early take room instead of loads, but each of these stores has a set-up.
        room = int(self.ahead_in(np.array(problem.capacity), 0)) + TRACKED * problem.set_up
        self.most = max(1, min(room, every))
        """DMA cycles that may be moved ahead anywhere."""

    def _loads_after(self) -> list[int]:
        ops = self.problem.ops
        loads = [self.weights_alone(run) + self.loaded(op.weights) + 2 for run, op in enumerate(ops)]
        for tensor in self.problem.tensors:
            for run, cycles in zip(tensor.reads, tensor.loads, strict=True):
                loads[run] += cycles
        every = map(mul, reversed(loads), reversed(self.times))
        return list(accumulate(every, initial=0))[::-1]

    def _sizes_ahead(self, border: int, later: int) -> list[tuple[int, int]]:
        """The least bytes of each load of the runs from ``later`` on that may come before a border, and how
        often it comes: of weights, and of tensors that are made by then."""
        sizes = [
            (self._least_bytes(cycles), self._times_read(tensor, run))
            for tensor in self.problem.tensors
            if tensor.made is None or tensor.made < border
            for run, cycles in zip(tensor.reads, tensor.loads, strict=True)
            if cycles and run >= later
        ]
        for run, op in enumerate(self.problem.ops[later:], later):
            if op.weights and op.set_up and not op.most_loaded:  # of several, what is there may save one
                size = 1 + (op.weights - 1) % max(1, self.problem.capacity)
                sizes.append((size, self.times[run]))
        return sizes

    def _times_read(self, tensor: FluidTensor, run: int) -> int:
        """How often a run reads the same tensor: one that is there before the runs that repeat, and after."""
        made, last = -1 if tensor.made is None else tensor.made, tensor.reads[-1]
        return prod(n for start, stop, n in self.problem.repeats if made < start <= run < stop <= last)

    def _sizes_stored_before(self) -> list[list[tuple[int, int]]]:
        """The least bytes of each store of the runs before each border, and how often it comes."""
        sizes: list[list[tuple[int, int]]] = [[] for _ in range(self.count)]
        for tensor in self.problem.tensors:
            if tensor.made is not None:
                stores = (each for each in (tensor.store, tensor.stored) if each)
                sizes[tensor.made] += [(self._least_bytes(each), self.times[tensor.made]) for each in stores]
        return list(accumulate(sizes, add, initial=list[tuple[int, int]]()))

    def _least_bytes(self, cycles: int) -> int:
        """The least bytes of a transfer of so many cycles."""
        each = self.problem.most_each
        return max(0, cycles - self.problem.set_up) * each.denominator // max(1, each.numerator)

    def ahead_in(self, size: Integers, border: int) -> Integers:
        """Return the most DMA cycles that ``size`` bytes of what is loaded after ``border`` save there.

        A load that has not begun, or has ended with a part of its bytes, saves no set-up: the rest is another
        load. So only those count that are there as a whole, and one that is on its way.
        """
        return self._moved(size, self.loaded_later[border], self.rate_later[border])

    def behind_in(self, size: Integers, border: int) -> Integers:
        """Return the most DMA cycles of stores at ``border`` whose data lie in ``size`` bytes."""
        return self._moved(size, self.stored_before[border], self.problem.most_each)

    def moved_by(self, size: Integers, run: int) -> Integers:
        """Return the most DMA cycles in which ``size`` bytes of what ``run`` loads and stores are moved."""
        each = _rounded_up(max(self.problem.most_each, self.rate(run)))
        transfers = 1 + len(self.residents.reading[run]) + len(self.residents.making[run])
        return size * each.numerator // each.denominator + 1 + self.problem.set_up * transfers

    def moved_beside(self, size: Integers, run: int) -> Integers:
        """Return the most DMA cycles of loads for ``run`` and later ones, and of stores, while it computes in
        parts that leave ``size`` bytes of room in all, without set-ups of further parts."""
        each, capacity = self.rate_later[run], self.problem.capacity
        one = np.minimum(size, capacity)
        others = self.loaded_later[run + 1].count(one) + self.stored_before[run].count(one)
        own = len(self.residents.reading[run]) + len(self.residents.making[run])
        own += -(-self.problem.ops[run].weights // max(1, capacity))
        moved: Integers = np.minimum(size, UNBOUNDED) * each.numerator // each.denominator + 1
        return moved + self.problem.set_up * (own + others)

    def _moved(self, size: Integers, fitting: Fitting, each: Fraction) -> Integers:
        set_ups = self.problem.set_up * (fitting.count(size) + 1)
        return size * each.numerator // each.denominator + 1 + set_ups

    def least_cycles(self, start: int, stop: int) -> int:
        """Return the least NPU cycles of runs that repeat, once, with those that repeat inside of them."""
        inside = [each for each in self.problem.repeats if start < each[0] and each[1] < stop]
        times = (prod(n for first, end, n in inside if first <= run < end) for run in range(start, stop))
        ops = zip(times, self.problem.ops[start:stop], strict=True)
        return sum(count * (op.cycles + min(0, op.alone)) for count, op in ops)

    def rate(self, run: int) -> Fraction:
        """Return DMA cycles of each byte of a run's weights, with its share of the set-ups of many loads."""
        op = self.problem.ops[run]
        return self.problem.each + (Fraction(op.set_up, op.most_loaded) if op.most_loaded else 0)

    def weights_alone(self, run: int) -> int:
        """Return DMA cycles to load the weights of a run that is no part of a group: in as many loads, at
        least, as they are times larger than memory, or than what one brings."""
        op = self.problem.ops[run]
        if op.most_loaded:
            return int(op.weights * self.rate(run))
        return op.set_up * -(-op.weights // max(1, self.problem.capacity)) + int(self.loaded(op.weights))

    def loaded(self, size: Any) -> Any:
        """Return DMA cycles to load ``size`` bytes of weights, one number or several, rounded down."""
        return size * self.problem.each.numerator // self.problem.each.denominator

    def loaded_inputs(self, run: int, size: Integers) -> Integers:
        """Return the least DMA cycles to load ``size`` bytes of what a run reads, without set-ups."""
        rates = (
            Fraction(max(0, cycles - self.problem.set_up), tensor.read_bytes[tensor.reads.index(run)])
            for tensor, cycles in self.residents.reading[run]
            if tensor.read_bytes and tensor.read_bytes[tensor.reads.index(run)]
        )
        each = int(min(rates, default=Fraction(0)) * RATE_UNITS)
        return size * each // RATE_UNITS

    def results(self, run: int) -> int:
        """Return DMA cycles to store the program's results that the last run makes; 0 for other runs."""
        if run + 1 < self.count:
            return 0
        return sum(tensor.stored for tensor in self.residents.making[run])

    def joined(self, run: int) -> tuple[int, int]:
        """Return the first run of the longest group that may have ``run``, and the run after its last one."""
        ops = self.problem.ops
        start = next(at for at in range(run, -1, -1) if not ops[at].joins)
        return start, next((at for at in range(run + 1, self.count) if not ops[at].joins), self.count)

    def _further(self, start: int, counts: tuple[int, ...]) -> int:
        """NPU cycles of further stripes of the runs from ``start`` on in a group, which have at least so
        many, with what the results take that nothing can hide."""
        stop = start + len(counts)
        last = self.last_part(stop - 1) if counts[-1] > 1 else self.last_stores(stop - 1)
        return last + sum(of(n) for of, n in zip(self._further_of[start:stop], counts, strict=True))

    def last_part(self, run: int) -> int:
        """Return the least cycles to store results after a run in a group that has several stripes."""
        return min(self.results(run), self.problem.last_part)

    def last_stores(self, run: int) -> int:
        """Return the least cycles for a second stripe of a run in a group and for the results that are stored
        after its last one, or for all results after a single one."""
        again = self.problem.ops[run].further(2)
        return min(self.results(run), again + self.problem.last_part)


def _rounded_up(rate: Fraction) -> Fraction:
    return rate if rate.denominator <= RATE_UNITS else Fraction(ceil(rate * RATE_UNITS), RATE_UNITS)
