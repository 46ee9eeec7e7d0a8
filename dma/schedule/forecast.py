"""When the steps of a straight stretch begin and its transfers end, where nothing contends.

It is the machine of ``chipmodel.machine.simulate`` with one transfer after another and an NPU, DMA and Psram
that nobody else uses: no meetings on banks, no refresh, no CPU. There the two agree to the cycle; several DMA
channels make transfers end earlier than said here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

from chipmodel.chip.chip import Chip
from chipmodel.model.schedule import Direction, Late, Schedule, Transfer, steps
from chipmodel.passes.liveness import scopes
from dma.timing.transfer import transfer_cycles


class Move(NamedTuple):
    """A transfer of ``cycles`` core cycles, with the positions of ``chipmodel.model.schedule.Transfer``."""

    direction: Direction
    issue: int
    due: int
    cycles: int


@dataclass(frozen=True, slots=True)
class Forecast:
    """Core cycles from the beginning of the stretch; ``ready`` and ``starts`` by step, the rest by move."""

    ready: tuple[int, ...]
    """When the step has waited for what was issued before, and issues what it needs at once."""
    starts: tuple[int, ...]
    """When the step's compute starts, and loads for later steps are issued."""
    reached: tuple[int, ...]
    """When the sequencer comes to wait for the move."""
    ends: tuple[int, ...]
    end: int
    """When the last step has ended, with the waits that follow it."""


def forecast(first: int, computes: Sequence[int], moves: Sequence[Move]) -> Forecast:
    """The run of steps ``first``, ``first + 1`` ... of ``computes`` cycles, the DMA engine being idle before.

    ``moves`` are in the order of ``Schedule.transfers``: those of one position and direction are issued
    and waited for in that order. The order of events at a position is that of ``chipmodel.passes.lower``.
    """
    return _Run(first, moves).run(computes)


class _Run:
    def __init__(self, first: int, moves: Sequence[Move]) -> None:
        self.first = first
        self.moves = moves
        self.clock = self.dma_free = 0
        self.reached = [0] * len(moves)
        self.ends = [0] * len(moves)
        self.before: dict[int, list[int]] = defaultdict(list)
        """By position, loads due that were issued before; the next three, what is issued there."""
        self.at_once: dict[int, list[int]] = defaultdict(list)
        self.later: dict[int, list[int]] = defaultdict(list)
        self.stores: dict[int, list[int]] = defaultdict(list)
        self.stored: dict[int, list[int]] = defaultdict(list)
        for index, (direction, issue, due, _) in enumerate(moves):
            if direction == "store":
                self.stores[issue].append(index)
                self.stored[due].append(index)
            elif issue == due:
                self.at_once[issue].append(index)
            else:
                self.later[issue].append(index)
                self.before[due].append(index)

    def run(self, computes: Sequence[int]) -> Forecast:
        ready: list[int] = []
        starts: list[int] = []
        for here, cycles in enumerate(computes, self.first):
            self.wait(self.before.get(here, ()))
            ready.append(self.clock)
            self.start(self.at_once.get(here, ()))
            self.wait(self.at_once.get(here, ()))
            self.start(self.later.get(here, ()))
            starts.append(self.clock)
            self.clock += cycles
            self.start(self.stores.get(here, ()))
            self.wait(self.stored.get(here, ()))
        return Forecast(tuple(ready), tuple(starts), tuple(self.reached), tuple(self.ends), self.clock)

    def start(self, moves: Iterable[int]) -> None:
        for index in moves:
            self.dma_free = max(self.dma_free, self.clock) + self.moves[index].cycles
            self.ends[index] = self.dma_free

    def wait(self, moves: Iterable[int]) -> None:
        for index in moves:
            self.reached[index] = self.clock
            self.clock = max(self.clock, self.ends[index])


def transfer_times(chip: Chip) -> Callable[[Direction, int], int]:
    """``dma.timing.transfer.transfer_cycles`` of ``chip``, which remembers what it was asked."""
    known: dict[tuple[Direction, int], int] = {}

    def cycles(direction: Direction, size: int) -> int:
        if (direction, size) not in known:
            known[direction, size] = transfer_cycles(chip, direction, size)
        return known[direction, size]

    return cycles


def late_weights(schedule: Schedule, chip: Chip, jitter: int = 0) -> tuple[Late, ...]:
    """Where ``load_end + jitter <= start`` fails, by how many core cycles, in linear order.

    ``start`` is when the step would go on were its weights there. No transfer of ``schedule`` may cross
    the border of a straight stretch. With no jitter, and where nothing contends, the cycles are those that
    the simulator counts as waits for weights, once for each run of the step.
    """
    control = scopes(schedule.body).region
    listed = list(steps(schedule.body))
    cycles_of = transfer_times(chip)
    transfers: dict[int, list[Transfer]] = defaultdict(list)
    for transfer in schedule.transfers:
        transfers[control[transfer.issue]].append(transfer)
    result: list[Late] = []
    for stretch, group in groupby(listed, key=lambda step: control[step.position]):
        inside, moved = list(group), transfers[stretch]
        moves = [Move(t.direction, t.issue, t.due, cycles_of(t.direction, t.bytes)) for t in moved]
        run = forecast(inside[0].position, [step.cycles for step in inside], moves)
        for transfer, reached, end in zip(moved, run.reached, run.ends, strict=True):
            cycles = end + jitter - reached
            if transfer.part.weights and cycles > 0:
                result.append(Late(listed[transfer.due].op, transfer.due, cycles))
    return tuple(sorted(result, key=lambda late: late.position))
