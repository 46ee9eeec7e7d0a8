"""Which tensors are in SharedMemory at a border, and what moves between two of them.

A *border* lies between two runs. Where a plan has a border, all before it has ended and nothing after it has
begun. There each tensor that crosses it is whole in SharedMemory, or it is loaded again later. Only the
largest are followed, of those beside which not everything has room anyway; others cost nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate, chain, combinations
from typing import NamedTuple

from solvers.fluid.problem import FluidProblem, FluidTensor

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
    at_once: int
    """DMA cycles of stores of tensors that leave when they are complete, and that the next run loads."""


class _State(NamedTuple):
    """What is in SharedMemory at a border: a bit for each tracked tensor, then one for each of those that
    have been read before, set if it is nowhere else."""

    number: int
    there: frozenset[int]
    """The tracked tensors that are there, by identity."""
    away: frozenset[int]
    dirty: frozenset[int]
    """Those there that have not been stored."""
    bytes: int
    behind: int
    """DMA cycles of stores that may be still to come."""


class _Arrival(NamedTuple):
    """Tracked tensors that are in SharedMemory at a border, whether they have been stored or not."""

    number: int
    there: frozenset[int]
    bytes: int
    behind: int
    gone: list[tuple[int, int]]
    """The tensors that are not there, and the cycles to store them."""
    written: list[tuple[int, int]]
    """Those there that have been read before, with the bits of ``_State.number`` for being nowhere else."""
    leaving: list[tuple[int, int]]
    """Those of all tracked tensors that are not there or may leave later, and the cycles to store them."""
    early: list[tuple[int, int, bool]]
    """Those there that are needed after the next run, the cycles to store them, and whether no run has read
    them: then they are in SharedMemory alone."""


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
        staying = _with_room(problem, size)
        free = (
            [t for t in each if id(t) not in staying and not (problem.keeps and t.held is not None)]
            for each in self.crossing
        )
        self.tracked = [
            [t for t, size in zip(crossing, least, strict=False) if t.bytes > size] for crossing in free
        ]
        self.untracked = [
            {id(t): t for t in crossing if id(t) not in {*map(id, tracked)}}
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
        self.completing: list[list[FluidTensor]] = [[] for _ in problem.ops]
        """For each run the results of the program that it completes."""
        for tensor in problem.tensors:
            for run, cycles in zip(tensor.reads, tensor.loads, strict=True):
                self.reading[run].append((tensor, cycles))
            if tensor.made is not None:
                self.making[tensor.made].append(tensor)
            if tensor.complete is not None and tensor.stored:
                self.completing[tensor.complete].append(tensor)
        results = (sum(tensor.stored for tensor in completed) for completed in self.completing)
        self.results_before = list(accumulate(results, initial=0))
        """DMA cycles to store the results that are complete before each border."""
        borders = range(count + 1)
        self._arrivals = [[self._arrival(at, bits) for bits in self._sets_there(at)] for at in borders]
        self._states = [self._states_at(border) for border in borders]
        """What may be in SharedMemory at each border."""

    def sets(self, border: int) -> int:
        """Return how many numbers states of ``border`` may have."""
        return 1 << len(self.tracked[border]) + len(self.written[border])

    def _sets_there(self, border: int) -> Iterator[int]:
        """The sets of tracked tensors that may be there, as bits."""
        tracked = self.tracked[border]
        staying = sum(1 << bit for bit, t in enumerate(tracked) if t.held is not None and border <= t.held)
        return (bits for bits in range(1 << len(tracked)) if not staying & ~bits)

    def _states_at(self, border: int) -> list[_State]:
        """What may be in SharedMemory at ``border``."""
        found: list[_State] = []
        unread = {id(t) for t in self.tracked[border] if border <= t.reads[0]}
        for each in self._arrivals[border]:
            away = frozenset(name for name, _ in each.gone)
            for dirty in _subsets(each.written):
                number = each.number + sum(bit for _, bit in dirty)
                alone = frozenset(unread & each.there).union(name for name, _ in dirty)
                found.append(_State(number, each.there, away, alone, each.bytes, each.behind))
        return found

    def _arrival(self, border: int, bits: int) -> _Arrival:
        tracked, written = self.tracked[border], self.written[border]
        there = [t for bit, t in enumerate(tracked) if bits >> bit & 1]
        names = frozenset(map(id, there))
        return _Arrival(
            bits,
            names,
            sum(t.bytes for t in there),
            # What was loaded again has been stored, so these are of tensors that cross it and are not there;
            # of those that are not followed no store is counted, so that none can be still to come.
            self.results_before[border] + sum(t.store for t in tracked if id(t) not in names),
            [(id(t), t.store) for t in tracked if id(t) not in names],
            [(id(t), 1 << len(tracked) + bit) for bit, t in enumerate(written) if id(t) in names],
            [(id(t), t.store) for t in tracked if id(t) not in names or t.last != border],
            [
                (id(t), t.store, border <= t.reads[0])
                for t in there
                if t.last != border and (t.held is None or border > t.held)
            ],
        )

    def moves(self, start: int, stop: int) -> Iterator[Move]:
        """Yield what may be in SharedMemory at both borders, with the transfers that this takes."""
        between = self._between(start, stop)
        results, read, new = between.results, between.read, between.new
        unfinished = {id(t) for t in self.tracked[start] if t.held is not None and start <= t.held}
        at_once = {id(t) for t in self.tracked[stop] if t.complete == stop - 1 and stop in t.reads}
        passing = {id(t): t.store for t in self.tracked[start] if read.get(id(t))}
        arrivals = [
            (each, results + sum(store for name, store in each.gone if name in new))
            for each in self._arrivals[stop]
        ]
        for before in self._states[start]:
            loads = between.inputs + sum(read[name] for name in before.away if name in read)
            back = before.away - read.keys()
            again = [(name, store) for name, store in passing.items() if name in before.away]
            dirty, finished, leaving = before.dirty | new, before.dirty - unfinished, before.dirty & at_once
            for after, stores in arrivals:
                if back & after.there:
                    continue  # Nobody loads what would come back.
                yield Move(
                    before.number,
                    after.number + sum(bit for name, bit in after.written if name in dirty),
                    loads,
                    stores,
                    sum(store for name, store in after.gone if name in before.dirty),
                    before.bytes,
                    after.bytes,
                    before.behind,
                    sum(store for name, store in again if name not in after.there),
                    after.behind,
                    sum(store for name, store in after.leaving if name in finished),
                    # A tensor may be stored long before it leaves, if it is needed after the next run.
                    sum(store for name, store, unread in after.early if unread or name in dirty),
                    sum(store for name, store in after.gone if name in leaving),
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
        results = chain.from_iterable(self.completing[start:stop])
        return _Transit(frozenset(map(id, made)), read, inputs, sum(tensor.stored for tensor in results))


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


def _subsets(each: list[tuple[int, int]]) -> Iterator[tuple[tuple[int, int], ...]]:
    return chain.from_iterable(combinations(each, n) for n in range(len(each) + 1))


def _crossing(problem: FluidProblem, border: int) -> list[FluidTensor]:
    crossing = [t for t in problem.tensors if t.last is not None and _first(t) < border <= t.last]
    return sorted(crossing, key=lambda tensor: -tensor.bytes)


def _first(tensor: FluidTensor) -> int:
    """The run that makes it, or that reads it first."""
    return tensor.reads[0] if tensor.made is None else tensor.made
