"""Which tensors are in SharedMemory at a border, and what moves between two of them.

A *border* lies between two runs. Where a plan has a border, all before it has ended and nothing after it has
begun. There each tensor that crosses it is whole in SharedMemory, or it is loaded again later. Only the
``TRACKED`` largest are followed; others cost nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

from solvers.fluid.problem import FluidProblem, FluidTensor

TRACKED = 2
"""Tensors that cross a border and are followed (assumed: few networks have more large ones)."""


class Move(NamedTuple):
    """What is in SharedMemory at two borders, as bits of the tracked tensors and in bytes, and DMA cycles."""

    before: int
    after: int
    loads: int
    stores: int
    before_bytes: int
    after_bytes: int
    through_bytes: int
    """Bytes of tensors that are there before and after."""
    own_bytes: int
    """Bytes of tensors there before or after that the runs between read or make, and do not write over."""
    other_bytes: int
    """Bytes of other tensors that are there after."""
    passing_bytes: int
    """Least bytes that the runs between read or write of tensors that are there neither before nor after."""
    passing_loads: int
    """Those of ``loads`` of such tensors."""
    passing_stores: int
    """Those of ``stores`` of such tensors."""
    passing_behind: int
    """Those of ``behind`` of such tensors, which are loaded again."""
    first_loads: int
    """Those of ``loads`` that the first run reads."""
    behind: int
    """DMA cycles of stores that may be still to come before: of tensors that are not there, and results."""
    behind_after: int
    """The same after."""
    taken_bytes: int
    """Bytes of the largest tensor, part of ``own_bytes``, whose memory what the first run makes may take row
    by row, if that is there after."""
    taking_bytes: int
    """Bytes of what then takes its memory."""
    taken_alike: int
    """1 where as much of the one is needed as is left of the other to make."""
    again_bytes: int
    """Those of ``passing_bytes`` that every slice of the first run reads."""
    overlap_bytes: int
    """``FluidTensor.overlaps`` of the first run, of passing tensors."""
    within: int
    """The most DMA cycles of the first run's time for which no room is needed beside what is kept."""
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
    own: dict[int, int]
    """Least bytes of each tensor that they read or write, but for those that they may write over."""
    inputs: dict[int, int]
    """DMA cycles to load each program input for the first time."""
    results: dict[int, int]
    """DMA cycles to store each result of the program."""


class Residents:
    """The tracked tensors of every border."""

    def __init__(self, problem: FluidProblem) -> None:
        self.problem, count = problem, len(problem.ops)
        self.crossing = [_crossing(problem, border) for border in range(count + 1)]
        """The largest first."""
        self.tracked = [crossing[:TRACKED] for crossing in self.crossing]
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

    def streamed(self, run: int, alone: bool) -> dict[int, int]:
        """Least bytes that a run reads or writes of each of its ``operands``."""
        own = self.operands(run, alone)
        read = {
            id(t): t.read_bytes[t.reads.index(run)] if t.read_bytes else 0
            for t, _ in self.reading[run]
            if id(t) in own
        }
        return read | {id(t): t.written for t in self.making[run]}

    def operands(self, run: int, alone: bool) -> dict[int, FluidTensor]:
        """Tensors with bytes of their own that a run reads or makes, but for what it may write over: in a
        group none."""
        read = (t for t, _ in self.reading[run] if not (alone and run in t.in_place))
        own = {id(t): t for t in read if not _is_part(t, run)}
        return own | {id(t): t for t in self.making[run]}

    def moves(self, start: int, stop: int) -> Iterator[Move]:
        """Yield what may be in SharedMemory at both borders, with the transfers that this takes."""
        begins, ends = self.tracked[start], self.tracked[stop]
        between = self._between(start, stop)
        for before in range(1 << len(begins)):
            kept = {id(t): t.bytes for bit, t in enumerate(begins) if before >> bit & 1}
            away = {id(t) for t in begins} - kept.keys()
            loaded = between.inputs | {t: between.read[t] for t in away & between.read.keys()}
            for after in range(1 << len(ends)):
                stores = self._stores(between, start, kept, away, after, ends)
                if stores is None:
                    continue
                there = {id(t): t.bytes for bit, t in enumerate(ends) if after >> bit & 1}
                held = kept | there
                passing = between.own.keys() - held.keys()
                yield Move(
                    before,
                    after,
                    sum(loaded.values()),
                    stores,
                    sum(kept.values()),
                    sum(there.values()),
                    sum(size for tensor, size in there.items() if tensor in kept),
                    sum(size for tensor, size in held.items() if tensor in between.own),
                    sum(size for tensor, size in there.items() if tensor not in between.own),
                    sum(between.own[tensor] for tensor in passing),
                    sum(cycles for tensor, cycles in loaded.items() if tensor in passing),
                    sum(c for t, c in between.results.items() if t in passing)
                    + sum(t.store for t in ends if id(t) in passing & between.new),
                    sum(t.store for t in begins if id(t) in passing & away & between.read.keys()),
                    self._first_loads(start, away),
                    self._behind(start, kept),
                    self._behind(stop, there),
                    *self._taken(start, kept, there),
                    sum(
                        between.own[id(t)]
                        for t, _ in self.reading[start]
                        if start in t.by_all_slices and id(t) in passing
                    ),
                    sum(
                        t.overlaps[t.reads.index(start)]
                        for t, _ in self.reading[start]
                        if t.overlaps and id(t) in passing
                    ),
                    sum(cycles for tensor, cycles in loaded.items() if tensor not in passing)
                    + self._stored_within(
                        start, [*begins, *ends], there.keys() | held.keys() & between.own.keys()
                    ),
                    sum(
                        t.store
                        for t in ends
                        if id(t) in kept and (stop if id(t) in there else start) <= t.reads[0]
                    ),
                    self.early(stop, after),
                )

    def _stored_within(self, run: int, tensors: list[FluidTensor], kept: Set[int]) -> int:
        """DMA cycles to store what is ``kept``, and the results that ``run`` reads."""
        stored = {id(t): t.store + t.stored for t in tensors if id(t) in kept}
        return sum((stored | {id(t): t.stored for t, _ in self.reading[run] if t.stored}).values())

    def _taken(self, run: int, kept: dict[int, int], there: dict[int, int]) -> tuple[int, int, int]:
        """``taken_bytes``, ``taking_bytes`` and ``taken_alike`` of a run."""
        made = sum(tensor.bytes for tensor in self.making[run] if id(tensor) in there)
        able = [t for t, _ in self.reading[run] if run in t.by_rows and id(t) in kept]
        if not made or not able:
            return 0, 0, 0
        most = max(able, key=lambda tensor: tensor.bytes)
        return most.bytes, made, int(all(run in tensor.evenly for tensor in able))

    def _between(self, start: int, stop: int) -> _Transit:
        read: dict[int, int] = {}
        inputs: dict[int, int] = {}
        own: dict[int, int] = {}
        alone = start + 1 == stop
        for run in range(start, stop):
            own |= self.streamed(run, alone)
            for tensor, loaded in self.reading[run]:
                cycles = 0 if alone and run in tensor.absorbed else loaded
                if _first(tensor) < start:
                    read[id(tensor)] = max(read.get(id(tensor), 0), cycles)
                elif tensor.made is None and tensor.reads[0] == run:
                    inputs[id(tensor)] = cycles
        made = [tensor for run in range(start, stop) for tensor in self.making[run]]
        new = frozenset(map(id, made))
        return _Transit(new, read, own, inputs, {id(t): t.stored for t in made if t.stored})

    def _first_loads(self, start: int, away: set[int]) -> int:
        new = (c for t, c in self.reading[start] if t.made is None and t.reads[0] == start)
        return sum(new) + sum(c for t, c in self.reading[start] if id(t) in away)

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
        stores = sum(between.results.values())
        for bit, tensor in enumerate(ends):
            there = after >> bit & 1
            if there and id(tensor) in away and id(tensor) not in between.read:
                return None
            # A tensor that was read before may have been in Psram before, and needs no store again.
            leaves = id(tensor) in kept and start <= tensor.reads[0]
            if not there and (id(tensor) in between.new or leaves):
                stores += tensor.store
        return stores


def _crossing(problem: FluidProblem, border: int) -> list[FluidTensor]:
    crossing = [t for t in problem.tensors if t.last is not None and _first(t) < border <= t.last]
    return sorted(crossing, key=lambda tensor: -tensor.bytes)


def _is_part(tensor: FluidTensor, run: int) -> bool:
    """Whether a tensor that ``run`` reads may be part of another one's bytes."""
    return tensor.until is not None and run > tensor.until


def _first(tensor: FluidTensor) -> int:
    """The run that makes it, or that reads it first."""
    return tensor.reads[0] if tensor.made is None else tensor.made
