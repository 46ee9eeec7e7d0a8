"""The loads of a straight stretch of steps, in integers: what may be decided, and how it runs.

The machine is that of ``dma.schedule.forecast``: one queue, in order, and at each step the events of
``chipmodel.passes.lower``. A step waits for the loads due that were issued before; issues what it loads at
once and waits for that; issues loads for later steps; computes; issues stores and waits for those that are
due.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple


class StreamSlice(NamedTuple):
    """``bytes`` that the steps ``first`` to ``last`` read; the load takes ``cycles`` and may be issued from
    step ``since`` on."""

    bytes: int
    first: int
    last: int
    cycles: int
    since: int = 0


class StreamMove(NamedTuple):
    """A transfer that is decided already, of ``cycles``: issued at step ``issue``, waited for at ``due``."""

    direction: Literal["load", "store"]
    issue: int
    due: int
    cycles: int


class StreamRun(NamedTuple):
    """Cycles from the beginning: when each step's compute starts, and when all has ended."""

    starts: tuple[int, ...]
    end: int


@dataclass(frozen=True, slots=True)
class StreamProblem:
    """Steps 0, 1 ... of ``computes`` cycles; ``room`` is what each leaves for weights, in bytes.

    ``slices`` are in the order in which they are needed. A slice is issued at its first reader or at a step
    before, and takes its bytes from there to its last reader; readers may take more than the room, but
    then nothing else lies beside them. ``fixed`` moves go before slices of the same positions.
    Raises ValueError where a number is out of range.
    """

    computes: tuple[int, ...]
    room: tuple[int, ...]
    slices: tuple[StreamSlice, ...]
    fixed: tuple[StreamMove, ...] = ()
    readers: tuple[int, ...] = field(init=False)
    """Bytes that each step's own slices take."""
    spare: tuple[int, ...] = field(init=False)
    """Bytes beside them for slices of later steps."""

    def __post_init__(self) -> None:
        count = len(self.computes)
        if len(self.room) != count or min(self.computes, default=0) < 0:
            raise ValueError("every step has compute cycles, none negative, and room")
        for each in self.slices:
            in_order = 0 <= each.since <= each.first <= each.last < count
            if not (in_order and each.bytes > 0 and each.cycles >= 0):
                raise ValueError(f"{each} is no slice of {count} steps")
        for move in self.fixed:
            if not (0 <= move.issue < count and move.issue <= move.due and move.cycles >= 0):
                raise ValueError(f"{move} is no transfer of {count} steps")
        if any(a.first > b.first for a, b in zip(self.slices, self.slices[1:], strict=False)):
            raise ValueError("slices are in the order in which they are needed")
        readers = _covered(count, [(s.first, s.last + 1, s.bytes) for s in self.slices])
        object.__setattr__(self, "readers", tuple(readers))
        spare = (max(0, room - own) for room, own in zip(self.room, readers, strict=True))
        object.__setattr__(self, "spare", tuple(spare))

    def taken(self, positions: Sequence[int]) -> list[int]:
        """Bytes of weights at each step with the loads issued at ``positions``."""
        pairs = zip(self.slices, positions, strict=True)
        return _covered(len(self.computes), [(p, s.last + 1, s.bytes) for s, p in pairs])

    def peak(self, positions: Sequence[int]) -> int:
        """The most bytes of weights at any step."""
        return max(self.taken(positions), default=0)

    def fits(self, positions: Sequence[int]) -> bool:
        """Whether every load is issued in time, and only where there is room for it."""
        if len(positions) != len(self.slices):
            return False
        if not all(s.since <= p <= s.first for s, p in zip(self.slices, positions, strict=True)):
            return False
        return all(
            taken <= max(room, own)
            for taken, room, own in zip(self.taken(positions), self.room, self.readers, strict=True)
        )


def _covered(count: int, spans: Sequence[tuple[int, int, int]]) -> list[int]:
    """Sums over half-open spans of steps."""
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
    """All transfers in the engine's order, with the slice's index, or -1 for a fixed one."""
    moves = [(move, -1) for move in problem.fixed]
    for index, (each, position) in enumerate(zip(problem.slices, positions, strict=True)):
        moves.append((StreamMove("load", position, each.first, each.cycles), index))
    return sorted(moves, key=_place)


def _place(entry: tuple[StreamMove, int]) -> tuple[int, bool, int]:
    move, _ = entry
    return move.issue, move.direction == "store", move.due


def run(problem: StreamProblem, positions: Sequence[int]) -> StreamRun:
    """What happens when, with the slices' loads issued at ``positions``."""
    waiting = queue(problem, positions)
    waiting.reverse()
    loads: dict[int, int] = {}
    stores: dict[int, int] = {}
    clock = free = 0
    starts: list[int] = []
    for here, cycles in enumerate(problem.computes):
        clock = max(clock, loads.get(here, 0))
        at_once = False
        while waiting and _at_once(waiting[-1][0], here):
            free = max(free, clock) + waiting.pop()[0].cycles
            at_once = True
        clock = max(clock, free) if at_once else clock
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


def _at_once(move: StreamMove, here: int) -> bool:
    return move.direction == "load" and move.issue == move.due == here
