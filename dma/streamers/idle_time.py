"""Weights in the DMA engine's idle time: what comes before other transfers begin, and what they wait for.

A load that was issued early keeps the transfers behind it waiting, and the steps that need them at once. So a
slice of weights is cut where the engine has other work, and goes on in its next idle time; what has not come
by then is loaded by the step that reads it.

Source: chipmodel.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import accumulate, pairwise
from typing import NamedTuple

import numpy as np

from chipmodel.geometry.interval import Interval
from chipmodel.geometry.share import WHOLE, by_channels
from chipmodel.model.nesting import in_flight
from chipmodel.model.program import Op, Program, ops
from chipmodel.model.scopes import scopes
from dma.schedule.forecast import ChainTransfer, TransferTimes
from dma.schedule.operands import Emission, TransferNeed
from dma.schedule.probabilities import branch_probabilities
from dma.schedule.streamer import IssuedTransfer, IssuePlan, MemoryBudget
from dma.streamers.likely_chains import LikelyChain, likely_chains
from dma.streamers.weight_pipeline import Room, timed_chains
from dma.streamers.weight_region import StepChain, WeightSlice, put_off
from solvers.fluid.borders import NEVER

SET_UPS = 4
"""Cycles of so many single bytes, in which a piece comes at least (assumed): each has a set-up."""


class WeightPiece(NamedTuple):
    """So many bytes of a slice of weights, by its number, that are loaded from a position on."""

    number: int
    bytes: int
    position: int


def idle_pieces(chain: StepChain, units: Sequence[int], cycles: Callable[[int], int]) -> list[WeightPiece]:
    """Return the pieces of all slices of ``chain`` in the order in which they are loaded.

    A piece of slice ``i`` has a multiple of ``units[i]`` bytes, and takes ``cycles`` of its bytes.
    """
    return _IdleTime(chain, units, cycles).pieces()


class _IdleTime:
    """A walk over the steps of a chain, as ``dma.schedule.forecast`` has it, that fills idle time."""

    def __init__(self, chain: StepChain, units: Sequence[int], cycles: Callable[[int], int]) -> None:
        self.chain, self.units, self.cycles = chain, units, cycles
        count = len(chain.computes)
        self.at_once: list[list[ChainTransfer]] = [[] for _ in range(count)]
        self.later: list[list[ChainTransfer]] = [[] for _ in range(count)]
        self.stores: list[list[ChainTransfer]] = [[] for _ in range(count)]
        for move in chain.fixed:
            loads = self.later if move.due > move.issue else self.at_once
            (self.stores if move.direction == "store" else loads)[move.issue - chain.first].append(move)
        self.free = np.array(chain.room, np.int64)
        """Bytes for weights at each step, beside those that it reads."""
        for each in chain.slices:
            self.free[each.first - chain.first : each.last + 1 - chain.first] -= each.bytes
        self.due: list[list[int]] = [[] for _ in range(count)]
        """When transfers end that a step waits for before it begins; the next one, after it."""
        self.due_after: list[list[int]] = [[] for _ in range(count)]
        self.clock = self.engine = self.slice = self.loaded = 0
        self.found: list[WeightPiece] = []
        self.least = SET_UPS * cycles(1)
        self.idle = self.idle_until()
        self.ends, self.computed = chain.ends(), list(accumulate(chain.computes, initial=0))
        arms = [arm.start - chain.first for arm in chain.arms]
        self.branches = [
            sorted(start for start, arm in zip(arms, chain.arms, strict=True) if each.first in arm)
            for each in chain.slices
        ]
        """The steps with which the arms begin in which each slice is read."""

    def pieces(self) -> list[WeightPiece]:
        """Return them; see ``idle_pieces``."""
        for here, computes in enumerate(self.chain.computes):
            self.clock = max(self.clock, *self.due[here], 0)
            ends = [self.move(move.cycles) for move in self.at_once[here]]
            while self._is_read(here):
                ends.append(self.load(here, self.chain.slices[self.slice].bytes - self.loaded))
            self.clock = max(self.clock, *ends, 0)
            for move in self.later[here]:
                self.due[move.due - self.chain.first].append(self.move(move.cycles))
            self.fill(here)
            self.clock += computes
            for move in self.stores[here]:
                self.due_after[move.due - self.chain.first].append(self.move(move.cycles))
            self.clock = max(self.clock, *self.due_after[here], 0)
        return self.found

    def _is_read(self, here: int) -> bool:
        left = self.slice < len(self.chain.slices)
        return left and self.chain.slices[self.slice].first == here + self.chain.first

    def move(self, cycles: int) -> int:
        """Let the engine do a transfer; return when it ends."""
        self.engine = max(self.engine, self.clock) + cycles
        return self.engine

    def load(self, here: int, size: int) -> int:
        """Load so many more bytes of the next slice; return when they have come."""
        each = self.chain.slices[self.slice]
        self.found.append(WeightPiece(self.slice, size, here + self.chain.first))
        self.free[here : each.first - self.chain.first] -= size
        self.loaded += size
        end = self.move(self.cycles(size))
        self.due[each.first - self.chain.first].append(end)
        if self.loaded == each.bytes:
            self.slice, self.loaded = self.slice + 1, 0
        return end

    def fill(self, here: int) -> None:
        """Load what has room and comes before the engine has other work. That waits for what earlier steps
        read anyway, and so may stores that begin after this step for what the next one reads."""
        cycles, first = self.idle[here]
        until, first = self.clock + cycles, max(first, here + 2 if self.stores[here] else 0)
        while self.slice < len(self.chain.slices):
            each = self.chain.slices[self.slice]
            if each.first >= self.ends[here]:
                return
            rest, all_cycles = each.bytes - self.loaded, self.cycles(each.bytes - self.loaded)
            waits = each.first - self.chain.first < first
            busy = max(self.engine, self.clock)
            idle = min(all_cycles if waits else until - busy, self.before_branch(here) - busy)
            between = self.free[here : each.first - self.chain.first]
            room = int(between.min()) if len(between) else 0
            size = rest if rest <= room and all_cycles <= idle else self.part(min(rest, room), idle)
            if not size:
                return
            self.load(here, size)

    def before_branch(self, here: int) -> int:
        """When a run comes to a branch after this step in which the next slice is read; never for none."""
        for start in self.branches[self.slice]:
            if start > here:
                return self.clock + self.computed[start] - self.computed[here]
        return NEVER

    def part(self, most: int, idle: int) -> int:
        """The bytes of a piece that comes in ``idle`` cycles; 0 for none."""
        unit = self.units[self.slice]
        low, high = 0, most // unit if idle >= self.least else 0
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if self.cycles(middle * unit) <= idle else (low, middle - 1)
        return low * unit if low and self.cycles(low * unit) >= self.least else 0

    def idle_until(self) -> list[tuple[int, int]]:
        """For each step the cycles from its begin on up to the engine's other work, if no step waits, and the
        first step that may begin after that work does."""
        count = len(self.chain.computes)
        found, left, first = [(0, 0)] * count, 0, count
        for step in reversed(range(count)):
            if self.stores[step]:
                left, first = 0, step + 1
            left += self.chain.computes[step]
            found[step] = left, first
            if self.at_once[step] or self.later[step]:
                left, first = 0, step
        return found


def in_idle_time(
    memory: MemoryBudget,
    emission: Emission,
    others: list[IssuedTransfer],
    room: Room,
) -> IssuePlan:
    """Issue weights in pieces that keep no other transfer waiting (``dma.streamers.idle_time``), where there
    is time before likely arms that read them."""
    issued: list[IssuedTransfer] = []
    cycles, by_name = TransferTimes(memory.chip), _by_name(memory.program)
    root, room = scopes(emission.body).section, [*room]
    own = bytes_at_steps(emission, weight_spans(emission))
    chains = likely_chains(root, branch_probabilities(memory.program).likely)
    asked = memory.chip, emission, others, room, [each.positions for each in chains]
    for number, needs, whole in timed_chains(*asked):
        chain = _beside_others(whole, chains[number], own, room)
        units = [_unit(memory.program, by_name[need.part.name]) or need.bytes for need in needs]
        pieces = idle_pieces(chain, units, partial(cycles, "weights"))
        sizes: list[list[int]] = [[] for _ in needs]
        for piece in pieces:
            sizes[piece.number].append(piece.bytes)
        made, cut = _cut(by_name, needs, chain, cycles, units, sizes)
        for need, here in zip(made, put_off(cut, [piece.position for piece in pieces]), strict=True):
            issue = chains[number].positions[here - chain.first]
            issued.append(IssuedTransfer(need, need.buffer, issue, need.first))
            for span in in_flight(root, issue, need.first) if chain.arms else ():
                for at in range(span.start, span.stop):
                    room[at] -= need.bytes
    return IssuePlan(issued, {})


Span = tuple[Interval, int]
"""Steps for which so many bytes are taken."""


def weight_spans(emission: Emission) -> Iterator[Span]:
    """Yield those of the weights that steps read."""
    for need in emission.needs:
        if need.kind == "weights":
            yield Interval(need.first, need.last + 1), need.bytes


def bytes_at_steps(emission: Emission, spans: Iterable[Span]) -> list[int]:
    """Return the bytes that all ``spans`` take at each step."""
    change = [0] * (len(emission.straight_chain) + 1)
    for span, size in spans:
        change[span.start] += size
        change[span.stop] -= size
    return list(accumulate(change))


def _beside_others(chain: StepChain, likely: LikelyChain, own: Room, room: Room) -> StepChain:
    """The chain with its arms; before a branch there is no more room than in the arms beside it."""
    rooms = [*chain.room]
    for before, arm in likely.beside:
        left = min((room[at] - own[at] for at in range(arm.start, arm.stop)), default=rooms[before])
        rooms[before] = min(rooms[before], own[likely.positions[before]] + left)
    arms = tuple(Interval(chain.first + arm.start, chain.first + arm.stop) for arm in likely.arms)
    return replace(chain, room=tuple(rooms), arms=arms)


def _cut(
    by_name: Mapping[str, Op],
    needs: Sequence[TransferNeed],
    chain: StepChain,
    cycles: TransferTimes,
    units: Sequence[int],
    cut: Sequence[Sequence[int]],
) -> tuple[list[TransferNeed], StepChain]:
    """Loads and ``chain`` with slices of weights in pieces of these sizes."""
    found: list[TransferNeed] = []
    slices: list[WeightSlice] = []
    for need, whole, unit, sizes in zip(needs, chain.slices, units, cut, strict=True):
        if len(sizes) == 1:
            found.append(need)
            slices.append(whole)
            continue
        for piece in _pieces(by_name[need.part.name], need, unit, sizes):
            found.append(piece)
            slices.append(WeightSlice(piece.bytes, whole.first, whole.last, cycles.of(piece)))
    return found, replace(chain, slices=tuple(slices))


def _by_name(program: Program) -> dict[str, Op]:
    return {each.name: each for op in ops(program.body) for each in (op, *op.cascade)}


def _unit(program: Program, op: Op) -> int:
    """The bytes of one output channel of the weights; 0 where these cannot be cut."""
    block, channels = program.block_bytes(op), op.work.channels
    return 0 if op.gathers or block % channels else block // channels


def _pieces(op: Op, need: TransferNeed, unit: int, sizes: Sequence[int]) -> Iterator[TransferNeed]:
    """The pieces of a slice: the last one fills the op's buffer, the others end with theirs."""
    total, share = op.work.channels, need.part.share
    first = 0 if share == WHOLE else share.channels.start
    edges = list(accumulate(sizes, initial=0))
    for number, (start, stop) in enumerate(pairwise(edges), 1):
        channels = Interval(first + start // unit, first + stop // unit)
        piece = replace(
            need, part=replace(need.part, share=by_channels(channels, total)), bytes=stop - start, at=start
        )
        last = number == len(sizes)
        yield piece if last else replace(piece, buffer=f"{need.buffer}.{number}", within=need.buffer)
