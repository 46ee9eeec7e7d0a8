"""Which tensors are in SharedMemory at a border, and what moves between two of them.

A *border* lies between two runs. Where a plan has a border, all before it has ended and nothing after it has
begun. There each tensor that crosses it is whole in SharedMemory, or it is loaded again later. Only the
largest are followed; others cost nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate, chain, combinations
from typing import NamedTuple

from solvers.fluid.problem import FluidProblem, FluidTensor

TRACKED = 2
"""Tensors that cross a border and are followed, the largest ones (assumed)."""
FURTHER = (24, 10)
"""The third and the fourth of them are followed if they take more than these parts of the memory, as the time
doubles with each (assumed)."""


class Move(NamedTuple):
    """The states of two borders by number (``Residents.states``), their bytes, and DMA cycles."""

    before: int
    after: int
    loads: int
    stores: int
    """For results, and tensors that are made and not there after."""
    leaving: int
    """For tensors that were there before, in SharedMemory alone, and are not there after."""
    before_bytes: int
    after_bytes: int
    behind: int
    """DMA cycles of stores that may be still to come before: of tensors that are not there, and results."""
    passing_behind: int
    """Those of tensors that are loaded again, and are not there after."""
    behind_after: int
    """The same as ``behind`` after."""
    early: int
    """DMA cycles of stores that may have come before, of tensors that leave meanwhile or later."""
    early_after: int
    """The same after."""


class State(NamedTuple):
    """What is in SharedMemory at a border: a bit for each tracked tensor, then one for each of those that
    have been read before, set if it is nowhere else."""

    number: int
    there: dict[int, int]
    """The bytes of each tensor that is there, by identity."""
    dirty: frozenset[int]
    """Those that have not been stored."""


@dataclass(frozen=True, slots=True)
class _Transit:
    """Tensors that the runs between two borders read or make, by identity."""

    new: frozenset[int]
    read: dict[int, int]
    """DMA cycles to load each tensor that was there before."""
    inputs: int
    """DMA cycles to load all program inputs for the first time."""
    results: int
    """DMA cycles to store all results of the program."""


class Residents:
    """The tracked tensors of every border."""

    def __init__(self, problem: FluidProblem) -> None:
        self.problem, count = problem, len(problem.ops)
        self.crossing = [_crossing(problem, border) for border in range(count + 1)]
        """The largest first."""
        size = problem.followed_in or problem.capacity
        least = [0] * TRACKED + [size // part for part in FURTHER]
        self.tracked = [
            [t for t, size in zip(crossing, least, strict=False) if t.bytes > size]
            for crossing in self.crossing
        ]
        self.untracked = [
            {id(t): t for t in crossing[len(tracked) :]}
            for crossing, tracked in zip(self.crossing, self.tracked, strict=True)
        ]
        """The other tensors that cross each border, by identity."""
        self.written = [
            [t for t in tracked if t.store and t.reads[0] < border]
            for border, tracked in enumerate(self.tracked)
        ]
        """Tracked tensors that may have been stored, and loaded for the reader before each border."""
        self.reading: list[list[tuple[FluidTensor, int]]] = [[] for _ in problem.ops]
        """For each run the tensors that it reads, and the cycles to load what it reads of them."""
        self.making: list[list[FluidTensor]] = [[] for _ in problem.ops]
        for tensor in problem.tensors:
            for run, cycles in zip(tensor.reads, tensor.loads, strict=True):
                self.reading[run].append((tensor, cycles))
            if tensor.made is not None:
                self.making[tensor.made].append(tensor)

        results = (sum(tensor.stored for tensor in made) for made in self.making)
        self.results_before = list(accumulate(results, initial=0))
        """DMA cycles to store the results that are made before each border."""

    def sets(self, border: int) -> int:
        """Return how many numbers states of ``border`` may have."""
        return 1 << len(self.tracked[border]) + len(self.written[border])

    def states(self, border: int) -> Iterator[State]:
        """Yield what may be in SharedMemory at ``border``."""
        for there in self._sets_there(border):
            for dirty in _subsets([id(t) for t in self.written[border] if id(t) in there]):
                yield self._state(border, there, dirty)

    def _sets_there(self, border: int) -> Iterator[dict[int, int]]:
        """The sets of tracked tensors that may be there, as ``State.there``."""
        tracked = self.tracked[border]
        staying = sum(1 << bit for bit, t in enumerate(tracked) if t.held is not None and border <= t.held)
        for bits in range(1 << len(tracked)):
            if not staying & ~bits:
                yield {id(t): t.bytes for bit, t in enumerate(tracked) if bits >> bit & 1}

    def _state(self, border: int, there: dict[int, int], dirty: frozenset[int]) -> State:
        """The state where ``dirty`` has those of the tensors there that have been read before: one that has
        not been is in SharedMemory alone."""
        written = {id(t): bit for bit, t in enumerate(self.written[border])}
        tracked = self.tracked[border]
        number = sum(1 << bit for bit, t in enumerate(tracked) if id(t) in there)
        number += sum(1 << len(tracked) + bit for each, bit in written.items() if each in dirty)
        unread = (id(t) for t in tracked if id(t) in there and border <= t.reads[0])
        return State(number, there, (dirty & written.keys()).union(unread))

    def early(self, border: int, state: State) -> int:
        """Return the DMA cycles of stores before ``border`` that may count after it: tensors that are there
        may be stored long before they leave, if they are needed after the next run."""
        return sum(t.store for t in self.tracked[border] if id(t) in state.dirty and t.last != border)

    def _behind(self, border: int, there: dict[int, int]) -> int:
        """DMA cycles of stores that may be still to come at a border. What was loaded again has been stored,
        so these are of tensors that cross it and are not there."""
        away = sum(tensor.store for tensor in self.crossing[border] if id(tensor) not in there)
        return self.results_before[border] + away

    def moves(self, start: int, stop: int) -> Iterator[Move]:
        """Yield what may be in SharedMemory at both borders, with the transfers that this takes."""
        between, ends = self._between(start, stop), self.tracked[stop]
        afters = [*self._sets_there(stop)]
        for before in self.states(start):
            away = {id(t) for t in self.tracked[start]} - before.there.keys()
            loaded = {t: between.read[t] for t in away & between.read.keys()}
            dirty = before.dirty | between.new
            for there in afters:
                if not (away & there.keys()) <= between.read.keys():
                    continue  # Nobody loads what would come back.
                after = self._state(stop, there, dirty & there.keys())
                gone = [t for t in ends if id(t) not in there]
                yield Move(
                    before.number,
                    after.number,
                    between.inputs + sum(loaded.values()),
                    between.results + sum(t.store for t in gone if id(t) in between.new),
                    sum(t.store for t in gone if id(t) in before.dirty),
                    sum(before.there.values()),
                    sum(there.values()),
                    self._behind(start, before.there),
                    sum(t.store for t in self.tracked[start] if loaded.get(id(t)) and id(t) not in there),
                    self._behind(stop, there),
                    sum(t.store for t in ends if id(t) in before.dirty),
                    self.early(stop, after),
                )

    def _between(self, start: int, stop: int) -> _Transit:
        read: dict[int, int] = {}
        inputs = 0
        alone = start + 1 == stop
        for run in range(start, stop):
            for tensor, loaded in self.reading[run]:
                cycles = 0 if alone and run in tensor.absorbed else loaded
                if _first(tensor) < start:
                    read[id(tensor)] = max(read.get(id(tensor), 0), cycles)
                elif tensor.made is None and tensor.reads[0] == run:
                    inputs += cycles
        made = [tensor for run in range(start, stop) for tensor in self.making[run]]
        return _Transit(frozenset(map(id, made)), read, inputs, sum(tensor.stored for tensor in made))


def _subsets(names: list[int]) -> Iterator[frozenset[int]]:
    return map(frozenset, chain.from_iterable(combinations(names, n) for n in range(len(names) + 1)))


def _crossing(problem: FluidProblem, border: int) -> list[FluidTensor]:
    crossing = [t for t in problem.tensors if t.last is not None and _first(t) < border <= t.last]
    return sorted(crossing, key=lambda tensor: -tensor.bytes)


def _first(tensor: FluidTensor) -> int:
    """The run that makes it, or that reads it first."""
    return tensor.reads[0] if tensor.made is None else tensor.made
