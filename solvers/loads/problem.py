"""The problem of issuing the loads of a straight-line segment of steps, in integers, and its simulation.

The machine is that of ``dma.schedule.forecast``: one DMA queue, in order, and at each step the events of
``chipmodel.passes.lower``. A step waits for the loads that it needs; issues its own loads that were not
issued before, and waits for them; issues loads for later steps; computes; issues stores, and waits for those
that are due.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple


class StreamSlice(NamedTuple):
    """``bytes`` of weights that the steps ``first`` to ``last`` read; the load takes ``cycles``."""

    bytes: int
    first: int
    last: int
    cycles: int


class StreamMove(NamedTuple):
    """A fixed transfer of ``cycles``: issued at step ``issue``, waited for at step ``due``."""

    direction: Literal["load", "store"]
    issue: int
    due: int
    cycles: int


class StreamRun(NamedTuple):
    """In cycles from the beginning: when each step's compute starts, and when everything has ended."""

    starts: tuple[int, ...]
    end: int


@dataclass(frozen=True, slots=True)
class StreamProblem:
    """Steps 0, 1 ... of ``computes`` cycles; ``space`` is what each leaves for weights, in bytes.

    ``slices`` are in the order in which they are needed. A slice is issued at its first reader or at an
    earlier step, and takes its bytes from there to its last reader. A step's own slices may exceed the space,
    but then nothing else may be in memory at that step. ``fixed`` moves precede slices of the same positions.
    Raises ValueError where a number is out of range.
    """

    computes: tuple[int, ...]
    space: tuple[int, ...]
    slices: tuple[StreamSlice, ...]
    fixed: tuple[StreamMove, ...] = ()
    readers: tuple[int, ...] = field(init=False)
    """Bytes that each step's own slices take."""
    spare: tuple[int, ...] = field(init=False)
    """Bytes left at each step for slices of later steps."""

    def __post_init__(self) -> None:
        count = len(self.computes)
        if len(self.space) != count or min(self.computes, default=0) < 0:
            raise ValueError("every step has compute cycles, none negative, and space")
        for each in self.slices:
            in_order = 0 <= each.first <= each.last < count
            if not (in_order and each.bytes > 0 and each.cycles >= 0):
                raise ValueError(f"{each} is no slice of {count} steps")
        for move in self.fixed:
            if not (0 <= move.issue < count and move.issue <= move.due and move.cycles >= 0):
                raise ValueError(f"{move} is no transfer of {count} steps")
        if any(a.first > b.first for a, b in zip(self.slices, self.slices[1:], strict=False)):
            raise ValueError("slices are in the order in which they are needed")
        readers = _covered(count, [(s.first, s.last + 1, s.bytes) for s in self.slices])
        object.__setattr__(self, "readers", tuple(readers))
        spare = (max(0, space - own) for space, own in zip(self.space, readers, strict=True))
        object.__setattr__(self, "spare", tuple(spare))

    def taken(self, positions: Sequence[int]) -> list[int]:
        """Bytes of weights at each step with the loads issued at ``positions``."""
        pairs = zip(self.slices, positions, strict=True)
        return _covered(len(self.computes), [(p, s.last + 1, s.bytes) for s, p in pairs])

    def peak(self, positions: Sequence[int]) -> int:
        """The most bytes of weights at any step."""
        return max(self.taken(positions), default=0)

    def fits(self, positions: Sequence[int]) -> bool:
        """Whether every load is issued in time, and where there is space for it."""
        if len(positions) != len(self.slices):
            return False
        if not all(0 <= p <= s.first for s, p in zip(self.slices, positions, strict=True)):
            return False
        return all(
            taken <= max(space, own)
            for taken, space, own in zip(self.taken(positions), self.space, self.readers, strict=True)
        )


def _covered(count: int, spans: Sequence[tuple[int, int, int]]) -> list[int]:
    """For each step the sum of the sizes of the spans (start, stop, size) that cover it."""
    change = [0] * (count + 1)
    for start, stop, size in spans:
        change[start] += size
        change[stop] -= size
    level, result = 0, list[int]()
    for each in change[:-1]:
        level += each
        result.append(level)
    return result


def queue(problem: StreamProblem, positions: Sequence[int]) -> list[tuple[StreamMove, int]]:
    """Return all transfers in the order of the queue, with the slice's index, or -1 for a fixed one."""
    moves = [(move, -1) for move in problem.fixed]
    for index, (each, position) in enumerate(zip(problem.slices, positions, strict=True)):
        moves.append((StreamMove("load", position, each.first, each.cycles), index))
    return sorted(moves, key=_queue_position)


def _queue_position(entry: tuple[StreamMove, int]) -> tuple[int, bool, int]:
    move, _ = entry
    return move.issue, move.direction == "store", move.due


def run(problem: StreamProblem, positions: Sequence[int]) -> StreamRun:
    """Simulate the segment with the slices' loads issued at ``positions``."""
    waiting = queue(problem, positions)
    waiting.reverse()
    loads: dict[int, int] = {}
    stores: dict[int, int] = {}
    clock = free = 0
    starts: list[int] = []
    for here, cycles in enumerate(problem.computes):
        clock = max(clock, loads.get(here, 0))
        awaited = False
        while waiting and _is_awaited(waiting[-1][0], here):
            free = max(free, clock) + waiting.pop()[0].cycles
            awaited = True
        clock = max(clock, free) if awaited else clock
        while waiting and waiting[-1][0].issue == here and waiting[-1][0].direction == "load":
            move = waiting.pop()[0]
            free = max(free, clock) + move.cycles
            loads[move.due] = free
        starts.append(clock)
        clock += cycles
        while waiting and waiting[-1][0].issue == here:
            move = waiting.pop()[0]
            free = max(free, clock) + move.cycles
            stores[move.due] = max(free, stores.get(move.due, 0))
        clock = max(clock, stores.get(here, 0))
    return StreamRun(tuple(starts), clock)


def _is_awaited(move: StreamMove, here: int) -> bool:
    return move.direction == "load" and move.issue == move.due == here
