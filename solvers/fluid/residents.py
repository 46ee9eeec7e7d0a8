"""Which tensors may be in SharedMemory at a border; the kernel finds what moves between two of them.

A *border* lies between two runs. Where a plan has a border, all before it has ended and nothing after it has
begun. There each tensor that crosses it is whole in SharedMemory, or it is loaded again later. Only the
largest are followed, of those beside which not everything has room anyway; others cost nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import accumulate, chain

import numpy as np
from numpy.typing import NDArray

from solvers.fluid.problem import FluidProblem, FluidTensor

Integers = NDArray[np.int64]

TRACKED = 2
"""Tensors that cross a border and are followed, the largest ones (assumed)."""
NEIGHBOURS = 6
"""Runs before and after one that may be in one cascade with it."""
ROOM_SHARE = (7, 8)
"""The share of memory that is looked at: of the tensors that are followed, plans in less memory follow the
same (``chipmodel.pipeline.by_ways.SHARES``)."""
FURTHER = (24, 10)
"""The third and the fourth of them are followed if they take more than these parts of the memory, as the time
doubles with each (assumed)."""
UNREAD = 1 << 60
"""In place of the first run that reads a tensor."""


class Residents:
    """The tracked tensors of every border."""

    def __init__(self, problem: FluidProblem) -> None:
        self.problem = problem
        every = _crossing(problem)
        size = problem.followed_in or problem.capacity
        least = [0] * TRACKED + [size // part for part in FURTHER]
        staying = _with_room(problem, size)
        free = (
            [t for t in each if id(t) not in staying and not (problem.keeps and t.held is not None)]
            for each in every
        )
        self.tracked = [
            [t for t, size in zip(crossing, least, strict=False) if t.bytes > size] for crossing in free
        ]
        self.untracked = [
            {id(t): t for t in crossing if id(t) not in {*map(id, tracked)}}
            for crossing, tracked in zip(every, self.tracked, strict=True)
        ]
        """The other tensors that cross each border, by identity."""
        self.written = [
            [t for t in tracked if t.store and t.reads[0] < border]
            for border, tracked in enumerate(self.tracked)
        ]
        """Tracked tensors that may have been stored, and loaded for the reader before each border."""

    def sets(self, border: int) -> int:
        """Return how many numbers states of ``border`` may have."""
        return 1 << len(self.tracked[border]) + len(self.written[border])

    @cached_property
    def arrays(self) -> tuple[Integers, ...]:
        """What the compiled kernel takes (``solvers/columns/residents.h``): facts of all tensors; then the
        tensors that are tracked at each border, those that are not, what each run reads, with the cycles to
        load it, and what it makes and completes, each with where a border's or a run's own begin; last the
        DMA cycles to store the results that are complete before each border."""
        tensors, runs = self.problem.tensors, range(len(self.problem.ops))
        number = {id(tensor): at for at, tensor in enumerate(tensors)}
        reads, made, completed = ([list[tuple[int, ...]]() for _ in runs] for _ in range(3))
        results = [0] * len(runs)
        for at, tensor in enumerate(tensors):
            for run, cycles in zip(tensor.reads, tensor.loads, strict=True):
                reads[run].append((at, cycles, 0 if run in tensor.absorbed else cycles))
            if tensor.made is not None:
                made[tensor.made].append((at,))
            if tensor.complete is not None and tensor.stored:
                completed[tensor.complete].append((at,))
                results[tensor.complete] += tensor.stored
        tracked = [[(number[id(tensor)],) for tensor in border] for border in self.tracked]
        untracked = [[(number[id(tensor)],) for tensor in border.values()] for border in self.untracked]
        lists = tracked, untracked, reads, made, completed
        rows = (_numbers([*chain(*chain(*each))]) for each in lists)
        begins = (_numbers([*accumulate(map(len, each), initial=0)]) for each in lists)
        before = _numbers([*accumulate(results, initial=0)])
        return _numbers([*chain(*map(_facts, tensors))]), *chain(*zip(rows, begins, strict=True)), before


def _facts(tensor: FluidTensor) -> tuple[int, ...]:
    """The numbers of a tensor that the kernel takes; -1 for runs where there is none."""
    first = _first(tensor) if tensor.reads else tensor.made
    made, first, last = (-1 if run is None else run for run in (tensor.made, first, tensor.last))
    later = (-1 if run is None else run for run in (tensor.complete, tensor.held, tensor.until))
    read = tensor.reads[0] if tensor.reads else UNREAD
    needed = int(bool(tensor.reads or tensor.stored))
    return tensor.bytes, made, first, last, tensor.store, tensor.stored, *later, read, needed


def _numbers(numbers: Sequence[int]) -> Integers:
    return np.array(numbers, np.int64)


def _with_room(problem: FluidProblem, size: int) -> set[int]:
    """The tensors, by identity, that stay at no cost: while they are needed there is room for all weights
    that come later and for all tensors of neighbours that may be one cascade."""
    if problem.repeats:
        return set()
    count, later = len(problem.ops), accumulate((op.weights for op in reversed(problem.ops)), initial=0)
    needed = [*later][:0:-1]
    lives = {id(t): (_first(t), max(t.reads)) for t in problem.tensors if t.made is not None and t.reads}
    for tensor in problem.tensors:
        first, last = lives.get(id(tensor), (0, count))
        for run in range(max(0, first - NEIGHBOURS), min(count, last + NEIGHBOURS + 1)):
            needed[run] += tensor.bytes
    most = size * ROOM_SHARE[0] // ROOM_SHARE[1]
    return {name for name, (first, last) in lives.items() if max(needed[first : last + 1]) <= most}


def _crossing(problem: FluidProblem) -> list[list[FluidTensor]]:
    """The tensors that cross each border, the largest first."""
    found: list[list[FluidTensor]] = [[] for _ in range(len(problem.ops) + 1)]
    for tensor in sorted(problem.tensors, key=lambda tensor: -tensor.bytes):
        if tensor.last is not None:
            for border in range(_first(tensor) + 1, tensor.last + 1):
                found[border].append(tensor)
    return found


def _first(tensor: FluidTensor) -> int:
    """The run that makes it, or that reads it first."""
    return tensor.reads[0] if tensor.made is None else tensor.made
