"""``resident-knapsack``: some weights of a loop stay for all of its iterations, the rest is
``prefetch-greedy``.

A slice that stays is loaded once, before the loop, and takes its bytes throughout it. Which ones stay is a
knapsack problem: of the memory that the loop's ops leave, the slices that save most DMA cycles; frequent
ops of inner loops save most. Outer loops choose first. Memory that keeps weights cannot hold others before
they are needed, so there are three plans: nothing stays, as much as fits, and as much as fits beside the
slice that is read next. The one with the best forecast of the expected cycles is kept.

Source: chipmodel.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from chipmodel.geometry.interval import Interval, merged
from chipmodel.model.nesting import Fork, Section, in_flight
from chipmodel.model.program import ops
from chipmodel.model.schedule import BufferSpec, steps
from chipmodel.passes.liveness import scopes
from chipmodel.records import dataclass
from dma.schedule.expected_forecast import PathForecast, path_transfers
from dma.schedule.forecast import TransferTimes
from dma.schedule.operands import Emission, TransferNeed
from dma.schedule.probabilities import BranchProbabilities, branch_probabilities, execution_counts
from dma.schedule.streamer import IssuedTransfer, IssuePlan, MemoryBudget, StreamerPortfolio
from dma.streamers import ping_pong_across, sync, weight_pipeline
from dma.streamers.prefetch_greedy import early, probe
from dma.streamers.region_entries import IssuePositions, RegionEntries
from dma.streamers.weight_pipeline import Room

NAME = "resident-knapsack"
CAPACITY_GRAINS = 2048
"""Sizes in a knapsack are rounded up to this part of its capacity, which bounds the time."""


class KnapsackItem(NamedTuple):
    """Something to keep: its ``bytes``, and the ``cycles`` that it saves."""

    bytes: int
    cycles: float


def knapsack(items: Sequence[KnapsackItem], capacity: int) -> list[int]:
    """Return the items, by number, that save most within ``capacity`` bytes, with sizes rounded up to grains
    of ``capacity / CAPACITY_GRAINS`` bytes; of equal savings the fewest grains. Dynamic programming in
    O(items * CAPACITY_GRAINS)."""
    grain = max(1, -(-capacity // CAPACITY_GRAINS))
    room = max(capacity, 0) // grain
    best = np.zeros(room + 1)
    taken = np.zeros((len(items), room + 1), np.bool_)
    for (size, cycles), takes in zip(items, taken, strict=True):
        grains = min(-(-size // grain), room + 1)
        with_it = best[: room + 1 - grains] + cycles
        takes[grains:] = with_it > best[grains:]
        best[grains:] = np.maximum(best[grains:], with_it)
    result: list[int] = []
    left = int(best.argmax())
    for number in range(len(items) - 1, -1, -1):
        if taken[number, left]:
            result.append(number)
            left -= -(-items[number].bytes // grain)
    return result[::-1]


@dataclass(frozen=True, slots=True)
class ResidentSlice:
    """A weight slice that is loaded at ``issues`` and stays for the loop at ``loop``."""

    need: TransferNeed
    issues: IssuePositions
    loop: Interval

    @property
    def transfer(self) -> IssuedTransfer:
        """The load of the slice."""
        return IssuedTransfer(self.need, self.need.buffer, self.issues[0], self.need.first, self.issues[1:])

    @property
    def buffer(self) -> BufferSpec:
        """The buffer of the slice, held for the loop."""
        return BufferSpec(self.need.buffer, self.need.bytes, self.loop, "weights")


class LoopResidency:
    """The weights that the loops of an emission can keep.

    ``left[p]`` are the bytes that are free at position ``p`` besides the slice that is read there, and with
    ``ahead`` besides the one that is read next.
    """

    def __init__(
        self,
        memory: MemoryBudget,
        emission: Emission,
        room: Room,
        probabilities: BranchProbabilities,
        ahead: bool = False,
    ) -> None:
        self.root: Section = scopes(emission.body).section
        gathers = {op.name for op in ops(memory.program.body) if op.gathers}
        weights = [need for need in emission.needs if need.kind == "weights"]
        self.needs = [need for need in weights if need.op not in gathers]
        firsts = sorted({need.first for need in weights})
        self.entries = RegionEntries(self.root, firsts, probabilities.arms)
        self.cycles_of = TransferTimes(memory.chip)
        self.steps = list(steps(emission.body))
        self.left = [*room]
        for need in weights:
            for position in range(need.first, need.last + 1):
                self.left[position] -= need.bytes
        for need, following in pairwise(sorted(weights, key=lambda need: need.first) if ahead else ()):
            for position in range(need.first, following.first):
                self.left[position] -= following.bytes
        self.counts = execution_counts(self.root, probabilities)
        self.held = cache(self._held)

    def candidates(self) -> list[ResidentSlice]:
        """Every slice that could stay, for the outermost loop that it may be loaded before."""
        result: list[ResidentSlice] = []
        for loop, options in self.entries.loops():
            known = {stay.need.buffer for stay in result}
            inside = (n for n in self.needs if n.first in loop.extent and n.buffer not in known)
            result += [
                ResidentSlice(n, options[0], loop.extent)
                for n in inside
                if options and self._saved(loop, n) > 0
            ]
        return result

    def chosen(self) -> list[ResidentSlice]:
        """The slices that stay, outer loops choosing before inner ones."""
        result: list[ResidentSlice] = []
        for loop, options in self.entries.loops():
            if options:
                known = {stay.need.buffer for stay in result}
                inside = [n for n in self.needs if n.first in loop.extent and n.buffer not in known]
                result += self._chosen(loop, options[0], inside)
        return result

    def _chosen(
        self, loop: Fork, issues: IssuePositions, needs: list[TransferNeed]
    ) -> Iterator[ResidentSlice]:
        needs = [need for need in needs if self._saved(loop, need) > 0]
        stays = [ResidentSlice(need, issues, loop.extent) for need in needs]
        if not self._take(stays):
            held = {position for stay in stays for position in self.held(stay)}
            capacity = min((self.left[position] for position in held), default=0)
            offered = [KnapsackItem(need.bytes, self._saved(loop, need)) for need in needs]
            stays = [stays[number] for number in knapsack(offered, capacity)]
            assert self._take(stays), "a knapsack holds what fits at the fullest position"
        yield from stays

    def _saved(self, loop: Fork, need: TransferNeed) -> float:
        """DMA cycles saved where ``need`` stays for ``loop``, in one run of the program."""
        repeated = self.counts.at[need.first] - self.counts.entered[loop.name]
        return repeated * self.cycles_of.of(need)

    def _take(self, stays: Sequence[ResidentSlice]) -> bool:
        """Take the bytes of ``stays`` if all of them fit."""
        left = self.left_with(stays)
        if left is not None:
            self.left = left
        return left is not None

    def left_with(
        self, stays: Iterable[ResidentSlice], taken: Mapping[int, int] | None = None
    ) -> list[int] | None:
        """The bytes left at each position with ``stays`` and with ``taken`` bytes; None where they do not
        fit. A position at which not even the slice that is read fits (negative bytes) is left as it is."""
        left = list(self.left)
        for position, size in (taken or {}).items():
            left[position] -= size
        for stay in stays:
            for position in self.held(stay):
                if not stay.need.first <= position <= stay.need.last:
                    left[position] -= stay.need.bytes
        short = any(now < min(before, 0) for now, before in zip(left, self.left, strict=True))
        return None if short else left

    def _held(self, stay: ResidentSlice) -> tuple[int, ...]:
        """The positions at which its bytes are taken."""
        taken = [stay.loop]
        for issue in stay.issues:
            taken += in_flight(self.root, issue, stay.need.first)
        return tuple(position for each in merged(taken) for position in range(each.start, each.stop))

    def left_at(self, taken: Mapping[int, int], room: Room) -> Room:
        """What is left of ``room`` with these bytes taken, by position."""
        return [size - taken.get(position, 0) for position, size in enumerate(room)]


def issue_with_residents(
    memory: MemoryBudget, emission: Emission, others: list[IssuedTransfer], room: Room
) -> IssuePlan:
    """Issue the weights with some that stay, or as ``prefetch_greedy.early`` does where that is as fast."""
    plain = early(memory, emission, others, room)
    probabilities = branch_probabilities(memory.program)
    if not probabilities.iterations:
        return plain
    plans = [plain]
    for ahead in (False, True):
        loops = LoopResidency(memory, emission, room, probabilities, ahead)
        if stays := loops.chosen():
            taken = Counter[int]()
            for stay in stays:
                taken.update(dict.fromkeys(loops.held(stay), stay.need.bytes))
            plans.append(_with_residents(memory, emission, others, loops.left_at(taken, room), stays))
    forecast = PathForecast(loops.root, [step.cycles for step in loops.steps], probabilities)

    def cycles(weights: IssuePlan) -> float:
        return forecast.cycles(path_transfers([*others, *weights.transfers], loops.cycles_of))

    return min(plans, key=cycles)


def _with_residents(
    memory: MemoryBudget,
    emission: Emission,
    others: list[IssuedTransfer],
    room: Room,
    stays: Sequence[ResidentSlice],
) -> IssuePlan:
    """Issue ``stays`` once and the other weights as ``early`` does; ``room`` is what ``stays`` leave."""
    staying = {stay.need.buffer for stay in stays}
    rest = replace(emission, needs=[need for need in emission.needs if need.buffer not in staying])
    issued, buffers = early(memory, rest, others, room)
    issued += [stay.transfer for stay in stays]
    return IssuePlan(issued, buffers | {stay.need.buffer: stay.buffer for stay in stays})


PROBE = probe(issue_with_residents, name=NAME)
PORTFOLIO = StreamerPortfolio(
    NAME, (sync.STREAMER, ping_pong_across.STREAMER, weight_pipeline.STREAMER, PROBE)
)
