"""Which slices of a loop's weights stay for all of its iterations, for ``exact``.

The joint decision says how much of each op's weights should stay (``Residency.staying``): it has made room
for that, and the others are loaded through what is left. But slices come whole, and loads in an order; so
some sets of slices are compared by forecast, and a small number of slices in every combination.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache
from math import ceil

from chipmodel.model.program import ops
from chipmodel.passes.liveness import scopes
from dma.schedule.expected_forecast import LEAST_GAIN, PathForecast, path_transfers
from dma.schedule.operands import Emission, TransferNeed
from dma.schedule.probabilities import BranchProbabilities, branch_probabilities
from dma.schedule.streamer import IssuedTransfer, IssuePlan, MemoryBudget, queue_order
from dma.streamers.next_iteration import NextIterationLoad, NextIterationOptions, further_bytes
from dma.streamers.region_entries import IssuePositions
from dma.streamers.resident_knapsack import LoopResidency, ResidentSlice
from dma.streamers.weight_pipeline import Room

MAX_FORECAST_STEPS = 4_000
"""Steps of all schedules that are forecast for one choice, together."""
MAX_SETS = 64
"""Sets of slices that are forecast; up to six slices thus in every combination."""
BEST_SETS = 5
"""Sets, the best ones, for each of which loads for the next iteration are tried."""
WHOLE_SHARE = 0.99
"""If at least this share of an op's weights is to stay, all of them do: the rest is rounding."""

SliceSet = frozenset[int]
"""Slices by their numbers."""
IssueRest = Callable[[frozenset[int], Room], list[IssuedTransfer]]
"""Issues all transfers except the needs with these ids, with a number of bytes for weights at each op."""


def resident_bytes(memory: MemoryBudget) -> dict[str, int]:
    """Return bytes to be taken at each op by weights that stay, its own included."""
    body, shares = list(ops(memory.program.body)), memory.residency.staying
    loops = scopes(memory.program.body).loops if shares else ()
    taken = [0.0] * len(body)
    for at, op in enumerate(body):
        outermost = [loop for loop in loops if at in loop][-1:]
        for position in range(outermost[0].start, outermost[0].stop) if outermost else ():
            taken[position] += memory.program.block_bytes(op) * shares.get(op.name, 0.0)
    return {op.name: ceil(size) for op, size in zip(body, taken, strict=True)}


def issue_with_residents(
    memory: MemoryBudget, emission: Emission, room: Room, issue: IssueRest, thorough: bool
) -> IssuePlan:
    """Return the fastest of the plans that ``issue`` makes for different sets of slices that stay for their
    loop, and for loads for a loop's next iteration.

    ``room`` is for weights. Only the obvious sets are tried unless ``thorough``.
    """
    probabilities = branch_probabilities(memory.program)
    if not probabilities.iterations:
        return IssuePlan(issue(frozenset(), room), {})
    return decide_once(_ResidentSearch(memory, emission, room, issue, probabilities, thorough))


class _ResidentSearch:
    """A search for the best resident slices; those with equal room, steps and loads are equal."""

    def __init__(
        self,
        memory: MemoryBudget,
        emission: Emission,
        room: Room,
        issue: IssueRest,
        probabilities: BranchProbabilities,
        thorough: bool,
    ) -> None:
        self.memory, self.emission, self.room, self.issue = memory, emission, room, issue
        self.loops = LoopResidency(memory, emission, room, probabilities)
        self.stays = self.loops.candidates()
        computes = [step.cycles for step in self.loops.steps]
        self.max_sets = min(MAX_SETS, MAX_FORECAST_STEPS // len(computes)) if thorough else 0
        self.forecast = PathForecast(self.loops.root, computes, probabilities)
        loads = tuple(sorted(issue(frozenset(), room), key=queue_order))
        asked = tuple(_as_asked(memory, self.stays))
        program, chip = id(memory.program), id(memory.chip)
        self.key = (program, chip, thorough, loads, tuple(room), tuple(computes), asked)

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ResidentSearch) and self.key == other.key

    def result(self) -> IssuePlan:
        in_order = sorted(range(len(self.stays)), key=lambda n: self.stays[n].need.first)
        dearest = sorted(in_order, key=lambda n: -self._cycles_per_byte(self.stays[n].need))
        asked = _as_asked(self.memory, self.stays)
        offered = [_filled(order, self.fits) for order in (asked, in_order, dearest)]
        first = self.next_loads(frozenset())
        sets = best_slice_sets(
            len(self.stays), self.fits, lambda chosen: self.cycles(chosen, first), offered, self.max_sets
        )
        options = [(chosen, self.next_loads(chosen)) for chosen in (sets if self.max_sets else sets[:1])]
        best, loads = min(options, key=lambda option: self.cycles(*option))
        buffers = {self.stays[n].need.buffer: self.stays[n].buffer for n in best}
        return IssuePlan(self.transfers(best, loads), buffers)

    def fits(self, chosen: SliceSet, loads: Sequence[NextIterationLoad] = ()) -> bool:
        return self.loops.left_with((self.stays[n] for n in chosen), further_bytes(loads)) is not None

    def cycles(self, chosen: SliceSet, loads: Sequence[NextIterationLoad] = ()) -> float:
        """The forecast with ``chosen`` and ``loads``, without those loads that stay or do not fit then."""
        transfers = self.transfers(chosen, self._possible(chosen, loads))
        return self.forecast.cycles(path_transfers(transfers, self.loops.cycles_of))

    def transfers(self, chosen: SliceSet, loads: Sequence[NextIterationLoad]) -> list[IssuedTransfer]:
        stays = [self.stays[number] for number in sorted(chosen)]
        decided: list[tuple[TransferNeed, IssuePositions]] = [(s.need, s.issues) for s in stays]
        decided += [(load.need, load.issues) for load in loads]
        others = self.issue(frozenset(id(n) for n, _ in decided), self._left(stays, loads))
        once = (IssuedTransfer(n, n.buffer, issues[0], n.first, issues[1:]) for n, issues in decided)
        return [*others, *once]

    def next_loads(self, chosen: SliceSet) -> list[NextIterationLoad]:
        """Loads for the next iteration, added one by one where the forecast gets faster."""
        found: list[NextIterationLoad] = []
        cycles = self.cycles(chosen)
        resident = frozenset(self.stays[number].need.buffer for number in chosen)
        for options in NextIterationOptions(self.memory, self.emission, self.loops).choices(resident):
            tried = [[*found, load] for load in options if self.fits(chosen, [*found, load])]
            weighed = [(self.cycles(chosen, loads), number) for number, loads in enumerate(tried)]
            least, number = min(weighed, default=(cycles, 0))
            if least < cycles * (1 - LEAST_GAIN):
                cycles, found = least, tried[number]
        return found

    def _possible(self, chosen: SliceSet, loads: Sequence[NextIterationLoad]) -> list[NextIterationLoad]:
        resident = {self.stays[number].need.buffer for number in chosen}
        found: list[NextIterationLoad] = []
        for load in loads:
            if load.need.buffer not in resident and self.fits(chosen, [*found, load]):
                found.append(load)
        return found

    def _left(self, stays: Sequence[ResidentSlice], loads: Sequence[NextIterationLoad]) -> Room:
        """What is free at each step besides the slices that stay and the loads for the next iteration."""
        taken = Counter(further_bytes(loads))
        for load in loads:
            if load.need.kind == "weights":
                taken.update(dict.fromkeys(range(load.need.first, load.need.last + 1), load.bytes))
        for stay in stays:
            taken.update(dict.fromkeys(self.loops.held(stay), stay.need.bytes))
        return self.loops.left_at(taken, self.room)

    def _cycles_per_byte(self, need: TransferNeed) -> float:
        """DMA cycles saved for each byte that stays."""
        return self.loops.cycles_of.of(need) * self.loops.counts.at[need.first] / need.bytes


@lru_cache(maxsize=64)
def decide_once(search: _ResidentSearch) -> IssuePlan:
    """Return the result of ``search``, once for equal ones: many tilings lead to the same question."""
    return search.result()


def _as_asked(memory: MemoryBudget, stays: Sequence[ResidentSlice]) -> list[int]:
    """The first slices of each op, up to the share of its weights that should stay, rounded."""
    program, shares = memory.program, memory.residency.staying
    left = {op.name: program.block_bytes(op) * shares.get(op.name, 0.0) for op in ops(program.body)}
    wanted: list[int] = []
    for number, stay in enumerate(stays):
        if 2 * left[stay.need.op] >= stay.need.bytes:
            wanted.append(number)
        left[stay.need.op] -= stay.need.bytes
    return wanted


def _filled(order: Sequence[int], fits: Callable[[SliceSet], bool]) -> SliceSet:
    """The slices of ``order`` that fit, each added if it fits with those before."""
    chosen: SliceSet = frozenset()
    for number in order:
        if fits(chosen | {number}):
            chosen |= {number}
    return chosen


def best_slice_sets(
    count: int,
    fits: Callable[[SliceSet], bool],
    cycles: Callable[[SliceSet], float],
    offered: Sequence[SliceSet] = (),
    max_sets: int = MAX_SETS,
) -> list[SliceSet]:
    """Up to ``BEST_SETS`` sets of the numbers below ``count`` that fit, fewest ``cycles`` first.

    All sets are compared where they are at most ``max_sets``, otherwise those that single changes of the best
    of ``offered`` lead to. Where all numbers together fit, they are compared with none only: what stays need
    not be loaded again.
    """
    everything = frozenset(range(count))
    known: dict[SliceSet, float] = {}

    def weigh(chosen: SliceSet) -> float:
        if chosen not in known:
            known[chosen] = cycles(chosen)
        return known[chosen]

    none: SliceSet = frozenset()
    if fits(everything):
        return [min(everything, none, key=weigh)]
    if count <= max_sets.bit_length() - 1:
        every = (frozenset(n for n in range(count) if bits >> n & 1) for bits in range(1 << count))
        return sorted((chosen for chosen in every if fits(chosen)), key=weigh)[:BEST_SETS]
    best: SliceSet | None = min((none, *offered), key=weigh)
    while best is not None and len(known) < max_sets:
        best = _improved(best, count, fits, weigh, lambda: len(known) >= max_sets)
    return sorted(known, key=weigh)[:BEST_SETS]


def _improved(
    best: SliceSet,
    count: int,
    fits: Callable[[SliceSet], bool],
    cycles: Callable[[SliceSet], float],
    exhausted: Callable[[], bool],
) -> SliceSet | None:
    """The first change by one number, or by one for another, that lowers the cycles; None: none does."""
    others = [number for number in range(count) if number not in best]
    added = [best | {number} for number in others]
    removed = [best - {old} for old in sorted(best)]
    swapped = [best - {old} | {new} for old in sorted(best) for new in others]
    for chosen in (*added, *removed, *swapped):
        if exhausted():
            return None
        if fits(chosen) and cycles(chosen) < cycles(best) * (1 - LEAST_GAIN):
            return chosen
    return None
