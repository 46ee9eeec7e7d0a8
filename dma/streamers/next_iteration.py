"""Loads for a loop's next iteration, issued before the current iteration ends: its first weight slices, and
the first stripes of what it reads from Psram. Those of the first iteration are issued before the loop.

For an input with a slice for every iteration, the next iteration's slice is loaded. The last iteration loads
for one that does not follow; this is waited for after the loop.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from chipmodel.geometry.interval import merged
from chipmodel.model.nesting import Fork, in_flight
from chipmodel.model.schedule import steps
from chipmodel.records import dataclass
from dma.schedule.operands import Emission, TransferNeed
from dma.schedule.streamer import MemoryBudget
from dma.streamers.region_entries import IssuePositions, runs_and_forks
from dma.streamers.resident_knapsack import LoopResidency

MAX_SLICES_PER_LOOP = 3
"""Weight slices of one loop that are tried: each takes several forecasts."""


@dataclass(frozen=True, slots=True)
class NextIterationLoad:
    """``need`` issued at all of ``issues``; it takes further ``bytes`` at the positions ``taken``."""

    need: TransferNeed
    issues: IssuePositions
    bytes: int
    taken: tuple[int, ...]


class NextIterationOptions:
    """The loads that may be issued an iteration early in the loops of an emission."""

    def __init__(self, memory: MemoryBudget, emission: Emission, loops: LoopResidency) -> None:
        self.memory, self.emission, self.loops = memory, emission, loops
        self.steps = list(steps(emission.body))
        self.last_use: dict[str, int] = {}
        for need in emission.needs:
            self.last_use[need.buffer] = max(need.last, self.last_use.get(need.buffer, 0))
        self.stored = {need.part.name for need in emission.needs if need.direction == "store"}

    def choices(self, resident: frozenset[str]) -> Iterator[list[NextIterationLoad]]:
        """For each need in turn the options to load it early; ``resident`` buffers are loaded once anyway."""
        for loop, options in self.loops.entries.loops():
            for need in self._firsts(loop, resident) if options else ():
                found = [self._load(need, (*options[0], issue)) for issue in self._issues(loop, need)]
                if found:
                    yield found

    def _firsts(self, loop: Fork, resident: frozenset[str]) -> Iterator[TransferNeed]:
        head = runs_and_forks(loop.arms[0])[0]
        if isinstance(head, Fork):
            return
        inside = sorted((n for n in self.emission.needs if n.first in head), key=lambda n: n.first)
        lanes: set[str] = set()
        weights = 0
        for need in inside:
            if need.kind == "stripe" and need.direction == "load" and need.lane not in lanes:
                lanes.add(need.lane)
                if need.part.name in self.memory.program.inputs and need.part.name not in self.stored:
                    yield need
            elif need.kind == "weights" and need.buffer not in resident and weights < MAX_SLICES_PER_LOOP:
                weights += 1
                if need in self.loops.needs:
                    yield need

    def _issues(self, loop: Fork, need: TransferNeed) -> list[int]:
        """The last step of an iteration, and those from which it computes once or twice a load's time."""
        tail = runs_and_forks(loop.arms[0])[-1]
        if isinstance(tail, Fork):
            return []
        earliest = max(tail.start, self.last_use[need.buffer] + 1)
        cycles = self.loops.cycles_of.of(need)
        found: list[int] = []
        for times in (0, 1, 2):
            at = tail.stop - 1
            left = times * cycles - self.steps[at].cycles
            while at > earliest and left > 0:
                at -= 1
                left -= self.steps[at].cycles
            found.append(at)
        return [at for at in dict.fromkeys(found) if at >= earliest]

    def _load(self, need: TransferNeed, issues: IssuePositions) -> NextIterationLoad:
        intervals = merged(i for issue in issues for i in in_flight(self.loops.root, issue, need.first))
        every = (position for i in intervals for position in range(i.start, i.stop))
        if need.kind == "weights":
            taken = (p for p in every if not need.first <= p <= need.last)
        else:
            taken = (p for p in every if self.steps[p].op != need.op)
        size = need.bytes if need.kind == "weights" else self.emission.buffers[need.buffer].bytes
        return NextIterationLoad(need, issues, size, tuple(taken))


def further_bytes(loads: Sequence[NextIterationLoad]) -> dict[int, int]:
    """Return bytes at each position that the loads take in addition to what is reserved for them already."""
    total: dict[int, int] = {}
    for load in loads:
        for position in load.taken:
            total[position] = total.get(position, 0) + load.bytes
    return total
