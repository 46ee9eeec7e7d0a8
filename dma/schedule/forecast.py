"""When the steps of a straight chain begin and its transfers end, without contention.

A straight chain is a sequence of steps without a branch or loop between them. The machine is that of
``chipmodel.machine.simulate`` with one transfer after another and an NPU, DMA engine and Psram without other
users: no bank conflicts, no refresh, no CPU. There the two agree to the cycle; with several DMA channels
transfers end earlier than forecast here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import groupby
from typing import NamedTuple

from chipmodel.hardware.chip import Chip
from chipmodel.model.identity import Same
from chipmodel.model.schedule import Direction, Late, Schedule, Traffic, Transfer, steps
from chipmodel.passes.liveness import scopes
from chipmodel.records import dataclass
from chipmodel.timing.transfer import transfer_cycles
from dma.schedule.operands import TransferNeed


class ChainTransfer(NamedTuple):
    """A transfer of ``cycles`` core cycles, with the positions of ``chipmodel.model.schedule.Transfer``."""

    direction: Direction
    issue: int
    due: int
    cycles: int


@dataclass(frozen=True, slots=True)
class ChainForecast:
    """Core cycles from the beginning of the run; ``ready`` and ``starts`` by step, the others by transfer."""

    ready: tuple[int, ...]
    """When the step has waited for loads issued earlier, and issues the loads that it waits for itself."""
    starts: tuple[int, ...]
    """When the step's compute starts, and loads for later steps are issued."""
    reached: tuple[int, ...]
    """When the sequencer begins to wait for the transfer."""
    ends: tuple[int, ...]
    end: int
    """When the last step has ended, including the waits that follow it."""


def forecast(first: int, computes: Sequence[int], transfers: Sequence[ChainTransfer]) -> ChainForecast:
    """Forecast the steps ``first``, ``first + 1`` ... of ``computes`` cycles, the DMA engine being idle
    before.

    ``transfers`` are in the order of ``Schedule.transfers``: those of one position and direction are issued
    and waited for in that order. The order of events at a position is that of ``chipmodel.passes.lower``.
    """
    walk = ForecastWalk(transfers)
    times = [walk.step(here, cycles) for here, cycles in enumerate(computes, first)]
    ready, starts = (tuple(column) for column in zip(*times, strict=True)) if times else ((), ())
    return ChainForecast(ready, starts, tuple(walk.reached), tuple(walk.ends), walk.clock)


class ForecastWalk:
    """The machine at cycle ``clock``, which runs one step after another."""

    def __init__(self, transfers: Sequence[ChainTransfer]) -> None:
        self.transfers = transfers
        self.clock = self.dma_free = 0
        self.reached = [0] * len(transfers)
        self.ends = [0] * len(transfers)
        self.at: dict[int, _Transfers] = defaultdict(lambda: _Transfers([], [], [], [], []))
        for index, (direction, issue, due, _) in enumerate(transfers):
            if direction == "store":
                self.at[issue].stores.append(index)
                self.at[due].stored.append(index)
            elif issue == due:
                self.at[issue].at_once.append(index)
            else:
                self.at[issue].later.append(index)
                self.at[due].before.append(index)

    def step(self, here: int, cycles: int) -> tuple[int, int]:
        """Run the step ``here``; return when it is ready, and when its compute starts."""
        if here not in self.at:
            self.clock += cycles
            return self.clock - cycles, self.clock - cycles
        at = self.at[here]
        self.wait(at.before)
        ready = self.clock
        self.start(at.at_once)
        self.wait(at.at_once)
        self.start(at.later)
        starts = self.clock
        self.clock += cycles
        self.start(at.stores)
        self.wait(at.stored)
        return ready, starts

    def start(self, transfers: Iterable[int]) -> None:
        for index in transfers:
            self.dma_free = max(self.dma_free, self.clock) + self.transfers[index].cycles
            self.ends[index] = self.dma_free

    def wait(self, transfers: Iterable[int]) -> None:
        for index in transfers:
            self.reached[index] = self.clock
            self.clock = max(self.clock, self.ends[index])


class _Transfers(NamedTuple):
    """The transfers of a position: loads waited for there that were issued ``before``, loads issued and
    waited for ``at_once``, loads for ``later`` steps, stores issued, and stores waited for."""

    before: list[int]
    at_once: list[int]
    later: list[int]
    stores: list[int]
    stored: list[int]


class TransferTimes:
    """``chipmodel.timing.transfer.transfer_cycles`` of ``chip``, with a cache."""

    def __init__(self, chip: Chip) -> None:
        self.chip = chip
        self.known = _known_times(Same(chip))

    def __call__(self, traffic: Traffic, size: int, runs: int = 1) -> int:
        key = traffic, size, runs
        if key not in self.known:
            self.known[key] = transfer_cycles(self.chip, *key)
        return self.known[key]

    def of(self, moved: Transfer | TransferNeed) -> int:
        """Core cycles of a transfer, issued already or not."""
        return self(moved.traffic, moved.bytes, moved.part.runs)


@lru_cache(maxsize=4)
def _known_times(_: Same[Chip]) -> dict[tuple[Traffic, int, int], int]:
    """Shared by all schedules on a chip."""
    return {}


def late_weights(schedule: Schedule, chip: Chip, jitter: int = 0) -> tuple[Late, ...]:
    """Return the weights for which ``load_end + jitter <= start`` fails, and by how many core cycles, in
    linear order.

    ``start`` is when the step would start if its weights were there. No transfer of ``schedule`` may cross
    the border of a straight chain. With no jitter and without contention, the cycles are those that the
    simulator counts as waits for weights, once for each time that the step runs.
    """
    run_of = scopes(schedule.body).region
    listed = list(steps(schedule.body))
    cycles_of = TransferTimes(chip)
    transfers: dict[int, list[Transfer]] = defaultdict(list)
    for transfer in schedule.transfers:
        transfers[run_of[transfer.issue]].append(transfer)
    result: list[Late] = []
    for number, group in groupby(listed, key=lambda step: run_of[step.position]):
        inside, moved = list(group), transfers[number]
        timed = [ChainTransfer(t.direction, t.issue, t.due, cycles_of.of(t)) for t in moved]
        run = forecast(inside[0].position, [step.cycles for step in inside], timed)
        for transfer, reached, end in zip(moved, run.reached, run.ends, strict=True):
            cycles = end + jitter - reached
            if transfer.part.weights and cycles > 0:
                result.append(Late(listed[transfer.due].op, transfer.due, cycles))
    return tuple(sorted(result, key=lambda late: late.position))
