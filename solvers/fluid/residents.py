"""Which tensors are in SharedMemory at a border, and what moves between two of them.

A *border* lies between two runs. Where a plan has a border, all before it has ended and nothing after it has
begun. There each tensor that crosses it is whole in SharedMemory, or it is loaded again later. Only the
largest are followed; others cost nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

from solvers.fluid.problem import FluidProblem, FluidTensor

TRACKED = 2
"""Tensors that cross a border and are followed, the largest ones (assumed)."""
FURTHER = (24, 10)
"""The third and the fourth of them are followed if they take more than these parts of the memory, as the time
doubles with each (assumed)."""


class Move(NamedTuple):
    """What is in SharedMemory at two borders, as bits of the tracked tensors and in bytes, and DMA cycles."""

    before: int
    after: int
    loads: int
    stores: int
    before_bytes: int
    after_bytes: int
    behind: int
    """DMA cycles of stores that may be still to come before: of tensors that are not there, and results."""
    passing_behind: int
    """Those of tensors that are loaded again, and are not there after."""
    behind_after: int
    """The same as ``behind`` after."""
    early: int
    """DMA cycles of stores that may have come before, of tensors that leave meanwhile or, if none of the runs
    reads them, later (``Residents.early``)."""
    early_after: int
    """The same after."""


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
        least = [0] * TRACKED + [problem.capacity // part for part in FURTHER]
        self.tracked = [
            [t for t, size in zip(crossing, least, strict=False) if t.bytes > size]
            for crossing in self.crossing
        ]
        self.staying = [_staying(border, tracked) for border, tracked in enumerate(self.tracked)]
        """Those that stay at each border, as bits."""
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

    def early(self, border: int, there: int) -> int:
        """Return the DMA cycles of stores before ``border`` that may count after it: tensors that are
        ``there`` may be stored long before they leave. One counts no store after it has been read
        (``_stores``), or where it is not needed any more."""
        crossing = enumerate(self.tracked[border])
        return sum(
            t.store for bit, t in crossing if there >> bit & 1 and border <= t.reads[0] and t.last != border
        )

    def _behind(self, border: int, there: dict[int, int]) -> int:
        """DMA cycles of stores that may be still to come at a border. What was loaded again has been stored,
        so these are of tensors that cross it and are not there."""
        away = sum(tensor.store for tensor in self.crossing[border] if id(tensor) not in there)
        return self.results_before[border] + away

    def moves(self, start: int, stop: int) -> Iterator[Move]:
        """Yield what may be in SharedMemory at both borders, with the transfers that this takes."""
        begins, ends = self.tracked[start], self.tracked[stop]
        between = self._between(start, stop)
        for before in range(1 << len(begins)):
            if self.staying[start] & ~before:
                continue
            kept = {id(t): t.bytes for bit, t in enumerate(begins) if before >> bit & 1}
            away = {id(t) for t in begins} - kept.keys()
            loaded = {t: between.read[t] for t in away & between.read.keys()}
            for after in range(1 << len(ends)):
                if self.staying[stop] & ~after:
                    continue
                stores = self._stores(between, start, kept, away, after, ends)
                if stores is None:
                    continue
                there = {id(t): t.bytes for bit, t in enumerate(ends) if after >> bit & 1}
                yield Move(
                    before,
                    after,
                    between.inputs + sum(loaded.values()),
                    stores,
                    sum(kept.values()),
                    sum(there.values()),
                    self._behind(start, kept),
                    sum(t.store for t in begins if loaded.get(id(t)) and id(t) not in there),
                    self._behind(stop, there),
                    sum(
                        t.store
                        for t in ends
                        if id(t) in kept and (stop if id(t) in there else start) <= t.reads[0]
                    ),
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

    def _stores(
        self,
        between: _Transit,
        start: int,
        kept: dict[int, int],
        away: set[int],
        after: int,
        ends: list[FluidTensor],
    ) -> int | None:
        """DMA cycles to store; None where a tensor that nobody loads would come back."""
        stores = between.results
        for bit, tensor in enumerate(ends):
            there = after >> bit & 1
            if there and id(tensor) in away and id(tensor) not in between.read:
                return None
            # A tensor that was read before may have been in Psram before, and needs no store again.
            leaves = id(tensor) in kept and start <= tensor.reads[0]
            if not there and (id(tensor) in between.new or leaves):
                stores += tensor.store
        return stores


def _staying(border: int, tracked: list[FluidTensor]) -> int:
    return sum(1 << bit for bit, t in enumerate(tracked) if t.held is not None and border <= t.held)


def _crossing(problem: FluidProblem, border: int) -> list[FluidTensor]:
    crossing = [t for t in problem.tensors if t.last is not None and _first(t) < border <= t.last]
    return sorted(crossing, key=lambda tensor: -tensor.bytes)


def _first(tensor: FluidTensor) -> int:
    """The run that makes it, or that reads it first."""
    return tensor.reads[0] if tensor.made is None else tensor.made
