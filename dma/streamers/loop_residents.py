"""Weights that stay for all iterations of a loop: which ones, and when they are loaded.

A slice that stays is loaded once, before the loop, and takes its bytes throughout it. Which ones stay is a
knapsack problem: of the memory that the loop's ops leave, the slices that save most DMA cycles; frequent
ops of inner loops save most. Outer loops choose first.

Source: chipmodel.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import accumulate, pairwise
from operator import add
from typing import NamedTuple

import numpy as np

from chipmodel.geometry.interval import Interval, merged
from chipmodel.model.nesting import Fork, Section, in_flight
from chipmodel.model.program import ops
from chipmodel.model.schedule import BufferSpec, steps
from chipmodel.passes.liveness import scopes
from dma.schedule.forecast import TransferTimes
from dma.schedule.operands import Emission, TransferNeed
from dma.schedule.path_forecast import path_cycles, path_transfers
from dma.schedule.probabilities import branch_probabilities, execution_counts, numbers_along
from dma.schedule.streamer import IssuedTransfer, IssuePlan, MemoryBudget

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


def loop_entries(
    section: Section, firsts: Sequence[int], before: int | None = None
) -> Iterator[tuple[Fork, int]]:
    """Yield every loop, outer before inner ones, with the step that issues what is loaded once for it.

    Every path to the loop runs that step: of the straight steps before the loop the last of ``firsts``, at
    which weights are first read, or their first step. A loop that nothing precedes is left out.
    """
    start = section.extent.start
    for fork in section.forks:
        if start < fork.extent.start:
            before = max((each for each in firsts if start <= each < fork.extent.start), default=start)
        if fork.repeats and len(fork.extent) and before is not None:
            yield fork, before
        for arm in fork.arms:
            yield from loop_entries(arm, firsts, None if fork.repeats else before)
        start = fork.extent.stop


class ResidentSlice(NamedTuple):
    """A weight slice that is loaded at ``issue`` and stays for the loop at ``loop``."""

    need: TransferNeed
    issue: int
    loop: Interval

    @property
    def transfer(self) -> IssuedTransfer:
        """The load of the slice."""
        return IssuedTransfer(self.need, self.need.buffer, self.issue, self.need.first)

    @property
    def buffer(self) -> BufferSpec:
        """The buffer of the slice, held for the loop."""
        return BufferSpec(self.need.buffer, self.need.bytes, self.loop, "weights")

    def held(self, root: Section) -> tuple[Interval, ...]:
        """The positions at which its bytes are taken."""
        return merged([self.loop, *in_flight(root, self.issue, self.need.first)])


class LoopResidency:
    """The weights that the loops of an emission can keep, and the forecasts of plans that do."""

    def __init__(self, memory: MemoryBudget, emission: Emission) -> None:
        self.root: Section = scopes(emission.body).section
        self.emission = emission
        self.cycles_of = TransferTimes(memory.chip)
        self.probabilities = branch_probabilities(memory.program)
        self.counts = execution_counts(self.root, self.probabilities)
        gathers = {op.name for op in ops(memory.program.body) if op.gathers}
        weights = [need for need in emission.needs if need.kind == "weights"]
        self.weights = sorted(weights, key=lambda need: need.first)
        self.needs = [need for need in weights if need.op not in gathers]
        self.computes = [step.cycles for step in steps(emission.body)]
        self.path = numbers_along(memory.program, None)

    def beside_slices(self, room: Sequence[int], ahead: bool = False) -> list[int]:
        """The bytes of ``room`` that are free besides the slice that is read at each step, and with ``ahead``
        besides the one that is read next."""
        left = [*room]
        for need in self.weights:
            for position in range(need.first, need.last + 1):
                left[position] -= need.bytes
        for need, following in pairwise(self.weights) if ahead else ():
            for position in range(need.first, following.first):
                left[position] -= following.bytes
        return left

    def chosen(self, left: list[int], slices: bool = False) -> list[ResidentSlice]:
        """The slices that stay in the bytes ``left`` at each step, outer loops choosing before inner ones;
        with ``slices`` also while they are read, for which ``beside_slices`` leaves their bytes."""
        result: list[ResidentSlice] = []
        known: set[str] = set()
        for loop, issue in loop_entries(self.root, [need.first for need in self.weights]):
            inside = (need for need in self.needs if need.first in loop.extent and need.buffer not in known)
            stays = [
                ResidentSlice(need, issue, loop.extent) for need in inside if self._saved(loop, need) > 0
            ]
            whole = self._left_with(left, stays, slices)
            if whole is None:
                held = merged([span for stay in stays for span in stay.held(self.root)])
                capacity = min((min(left[span.start : span.stop]) for span in held), default=0)
                offered = [KnapsackItem(stay.need.bytes, self._saved(loop, stay.need)) for stay in stays]
                stays = [stays[number] for number in knapsack(offered, capacity)]
                whole = self._left_with(left, stays, slices)
            assert whole is not None, "a knapsack holds what fits at the fullest position"
            left = whole
            result += stays
            known |= {stay.need.buffer for stay in stays}
        return result

    def _saved(self, loop: Fork, need: TransferNeed) -> float:
        """DMA cycles saved where ``need`` stays for ``loop``, in one run of the program."""
        repeated = self.counts.at[need.first] - self.counts.entered[loop.name]
        return repeated * self.cycles_of.of(need)

    def _left_with(
        self, before: Sequence[int], stays: Sequence[ResidentSlice], slices: bool
    ) -> list[int] | None:
        """What ``stays`` leave of the bytes at each step; None where they do not fit. A step at which not
        even the slice that is read fits (negative bytes) is left as it is."""
        change = [0] * (len(before) + 1)
        for need, _, _ in stays:
            change[need.first] += 0 if slices else need.bytes
            change[need.last + 1] -= 0 if slices else need.bytes
        for stay in stays:
            for span in stay.held(self.root):
                change[span.start] -= stay.need.bytes
                change[span.stop] += stay.need.bytes
        left = [*map(add, before, accumulate(change))]
        short = any(now < min(was, 0) for now, was in zip(left, before, strict=True))
        return None if short else left

    def taken(self, stays: Sequence[ResidentSlice]) -> Counter[int]:
        """The bytes that ``stays`` take at each step."""
        found = Counter[int]()
        for stay in stays:
            for span in stay.held(self.root):
                found.update(dict.fromkeys(range(span.start, span.stop), stay.need.bytes))
        return found

    def without(self, stays: Sequence[ResidentSlice]) -> Emission:
        """The emission of what does not stay."""
        staying = {stay.need.buffer for stay in stays}
        return replace(
            self.emission, needs=[need for need in self.emission.needs if need.buffer not in staying]
        )

    def fastest(self, plans: Sequence[IssuePlan], others: Sequence[IssuedTransfer]) -> IssuePlan:
        """The plan for weights with the fewest cycles along the likeliest path, beside the ``others``."""

        def cycles(plan: IssuePlan) -> int:
            transfers = [*path_transfers([*others, *plan.transfers], self.cycles_of)]
            return path_cycles(self.root, self.computes, self.path, transfers)

        return min(plans, key=cycles) if len(plans) > 1 else plans[0]


def with_stays(rest: IssuePlan, stays: Sequence[ResidentSlice]) -> IssuePlan:
    """Return a plan for the rest of the weights with those that stay."""
    buffers = {stay.need.buffer: stay.buffer for stay in stays}
    return IssuePlan([*rest.transfers, *(stay.transfer for stay in stays)], rest.buffers | buffers)
