"""Loads for a loop's next iteration, issued before the iteration at hand ends: its first slices of weights,
and the first stripes of what it reads from Psram. The first iteration's are issued before the loop.

Of an input that has a slice for every iteration, the next iteration's slice is meant. The last iteration
loads for one that never comes; behind the loop that is waited for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from chipmodel.model.interval import merged
from chipmodel.model.nesting import Fork, in_flight
from chipmodel.model.schedule import steps
from dma.schedule.policy import Room
from dma.schedule.steps import Emission, Need
from dma.streamers.region_borders import Way, items
from dma.streamers.resident_knapsack import Loops

MOST_FIRST = 3
"""Slices of weights of one loop that are looked at."""


@dataclass(frozen=True, slots=True)
class Ahead:
    """``need`` issued at all of ``way``, which takes ``bytes`` at the positions ``taken`` beside what is
    there for it already."""

    need: Need
    way: Way
    bytes: int
    taken: tuple[int, ...]


class NextIterationLoads:
    """What may be loaded ahead in the loops of an emission."""

    def __init__(self, room: Room, emission: Emission, loops: Loops) -> None:
        self.room, self.emission, self.loops = room, emission, loops
        self.steps = list(steps(emission.body))
        self.last_use: dict[str, int] = {}
        for need in emission.needs:
            self.last_use[need.buffer] = max(need.last, self.last_use.get(need.buffer, 0))
        self.stored = {need.part.name for need in emission.needs if need.direction == "store"}

    def choices(self, staying: frozenset[str]) -> Iterator[list[Ahead]]:
        """For each need in turn the ways to have it ahead; ``staying`` are buffers that are there anyhow."""
        for loop, ways in self.loops.borders.loops():
            for need in self._firsts(loop, staying) if ways else ():
                found = [self._ahead(need, (*ways[0], issue)) for issue in self._issues(loop, need)]
                if found:
                    yield found

    def _firsts(self, loop: Fork, staying: frozenset[str]) -> Iterator[Need]:
        head = items(loop.arms[0])[0]
        if isinstance(head, Fork):
            return
        inside = sorted((n for n in self.emission.needs if n.first in head), key=lambda n: n.first)
        lanes: set[str] = set()
        weights = 0
        for need in inside:
            if need.kind == "stripe" and need.direction == "load" and need.lane not in lanes:
                lanes.add(need.lane)
                if need.part.name in self.room.program.inputs and need.part.name not in self.stored:
                    yield need
            elif need.kind == "weights" and need.buffer not in staying and weights < MOST_FIRST:
                weights += 1
                if need in self.loops.needs:
                    yield need

    def _issues(self, loop: Fork, need: Need) -> list[int]:
        """The last step of an iteration, and from where on it computes as long as the load takes, or twice
        that."""
        tail = items(loop.arms[0])[-1]
        if isinstance(tail, Fork):
            return []
        earliest = max(tail.start, self.last_use[need.buffer] + 1)
        cycles = self.loops.cycles_of("load", need.bytes)
        found: list[int] = []
        for times in (0, 1, 2):
            at = tail.stop - 1
            left = times * cycles - self.steps[at].cycles
            while at > earliest and left > 0:
                at -= 1
                left -= self.steps[at].cycles
            found.append(at)
        return [at for at in dict.fromkeys(found) if at >= earliest]

    def _ahead(self, need: Need, way: Way) -> Ahead:
        intervals = merged(i for issue in way for i in in_flight(self.loops.root, issue, need.first))
        every = (position for i in intervals for position in range(i.start, i.stop))
        if need.kind == "weights":
            taken = (p for p in every if not need.first <= p <= need.last)
        else:
            taken = (p for p in every if self.steps[p].op != need.op)
        size = need.bytes if need.kind == "weights" else self.emission.buffers[need.buffer].bytes
        return Ahead(need, way, size, tuple(taken))


def taken_by(aheads: Sequence[Ahead]) -> dict[int, int]:
    """Bytes at each position for which there is no room already."""
    total: dict[int, int] = {}
    for ahead in aheads:
        for position in ahead.taken:
            total[position] = total.get(position, 0) + ahead.bytes
    return total
