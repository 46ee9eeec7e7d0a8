"""``resident-knapsack``: some weights of a loop stay for all of its iterations, the rest is
``prefetch-greedy``.

A slice that stays is loaded once, before the loop, and takes its bytes throughout it. Which ones do is a
knapsack: of what the loop's ops leave, the slices that save most DMA cycles; the most frequent ops of
inner loops weigh most. Outer loops choose first. What is chosen is kept only where the forecast of the
expected cycles gets better, because memory that keeps weights cannot hold others ahead of their need.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from chipmodel.model.interval import Interval, merged
from chipmodel.model.nesting import Fork, Section, in_flight
from chipmodel.model.program import ops
from chipmodel.model.schedule import BufferSpec, Step, steps
from chipmodel.passes.liveness import scopes
from dma.schedule.expected_forecast import Expectation, Load, Odds
from dma.schedule.forecast import transfer_times
from dma.schedule.policy import Issued, Room, queue_order
from dma.schedule.steps import Emission, Need
from dma.streamers import ping_pong_across, sync, weight_pipeline
from dma.streamers.ping_pong_across import odds_of
from dma.streamers.prefetch_greedy import SOURCE, early, field
from dma.streamers.region_borders import Borders, Way

NAME = "resident-knapsack"
GRAINS = 2048
"""Sizes in a knapsack are rounded up to this part of what it holds."""

Weights = tuple[list[Issued], dict[str, BufferSpec]]


class Item(NamedTuple):
    """Something to keep: its ``bytes``, and the ``cycles`` that it saves."""

    bytes: int
    cycles: float


def knapsack(items: Sequence[Item], capacity: int) -> list[int]:
    """The items, by number, that save most within ``capacity`` bytes, with sizes rounded up to grains of
    ``capacity / GRAINS`` bytes; of equal savings the fewest grains. O(items * GRAINS)."""
    grain = max(1, -(-capacity // GRAINS))
    room = max(capacity, 0) // grain
    best = [0.0] * (room + 1)
    taken: list[list[bool]] = []
    for size, cycles in items:
        grains = -(-size // grain)
        takes = [False] * (room + 1)
        for used in range(room, grains - 1, -1):
            if best[used - grains] + cycles > best[used]:
                best[used] = best[used - grains] + cycles
                takes[used] = True
        taken.append(takes)
    result: list[int] = []
    left = best.index(max(best))
    for number in range(len(items) - 1, -1, -1):
        if taken[number][left]:
            result.append(number)
            left -= -(-items[number].bytes // grain)
    return result[::-1]


@dataclass(frozen=True, slots=True)
class Stay:
    """A need that is loaded in ``way`` and stays for the loop at ``loop``."""

    need: Need
    way: Way
    loop: Interval


class Loops:
    """What every loop of an emission can keep. ``left[p]``: bytes that are free at position ``p`` beside the
    slice that is read there."""

    def __init__(self, room: Room, emission: Emission, free: Mapping[str, int], odds: Odds) -> None:
        self.root: Section = scopes(emission.body).section
        self.odds = odds
        gathers = {op.name for op in ops(room.program.body) if op.gathers}
        weights = [need for need in emission.needs if need.kind == "weights"]
        self.needs = [need for need in weights if need.op not in gathers]
        self.borders = Borders(self.root, sorted({need.first for need in weights}), odds.arms)
        self.cycles_of = transfer_times(room.chip)
        self.left = [free[step.op] for step in steps(emission.body)]
        for need in weights:
            for position in range(need.first, need.last + 1):
                self.left[position] -= need.bytes
        self.known: dict[Stay, tuple[int, ...]] = {}
        self.runs: dict[int, float] = {}
        self.entered: dict[str, float] = {}
        self._count(self.root, 1.0)

    def _count(self, section: Section, times: float) -> None:
        """How often each position runs and each branch or loop is entered, on average."""
        self.runs.update(dict.fromkeys(range(section.extent.start, section.extent.stop), times))
        for fork in section.forks:
            self.entered[fork.name] = times
            shares = (self.odds.mean_iterations(fork.name),) if fork.repeats else self.odds.arms[fork.name]
            for arm, share in zip(fork.arms, shares, strict=True):
                self._count(arm, times * share)

    def every(self) -> list[Stay]:
        """Whatever could stay, each for the outermost loop that it may be loaded before."""
        result: list[Stay] = []
        for loop, ways in self.borders.loops():
            known = {stay.need.buffer for stay in result}
            inside = (n for n in self.needs if n.first in loop.extent and n.buffer not in known)
            result += [Stay(n, ways[0], loop.extent) for n in inside if ways and self._saved(loop, n) > 0]
        return result

    def stays(self) -> list[Stay]:
        """What stays, outer loops choosing before inner ones."""
        result: list[Stay] = []
        for loop, ways in self.borders.loops():
            if ways:
                known = {stay.need.buffer for stay in result}
                inside = [n for n in self.needs if n.first in loop.extent and n.buffer not in known]
                result += self._chosen(loop, ways[0], inside)
        return result

    def _chosen(self, loop: Fork, way: Way, needs: list[Need]) -> Iterator[Stay]:
        needs = [need for need in needs if self._saved(loop, need) > 0]
        stays = [Stay(need, way, loop.extent) for need in needs]
        if not self._takes(stays):
            held = {position for stay in stays for position in self.held(stay)}
            capacity = min((self.left[position] for position in held), default=0)
            offered = [Item(need.bytes, self._saved(loop, need)) for need in needs]
            stays = [stays[number] for number in knapsack(offered, capacity)]
            assert self._takes(stays), "a knapsack holds what fits at the fullest position"
        yield from stays

    def _saved(self, loop: Fork, need: Need) -> float:
        again = self.runs[need.first] - self.entered[loop.name]
        return again * self.cycles_of("load", need.bytes)

    def _takes(self, stays: Sequence[Stay]) -> bool:
        """Whether there is room for all of them, which they then take."""
        left = self.beside(stays)
        if left is not None:
            self.left = left
        return left is not None

    def beside(self, stays: Iterable[Stay], taken: Mapping[int, int] | None = None) -> list[int] | None:
        """What is left at each position beside ``stays`` and so many bytes ``taken``; None where there is no
        room for all of them. Where a slice that is read has none itself, nothing more is asked of it."""
        left = list(self.left)
        for position, size in (taken or {}).items():
            left[position] -= size
        for stay in stays:
            for position in self.held(stay):
                if not stay.need.first <= position <= stay.need.last:
                    left[position] -= stay.need.bytes
        short = any(now < min(before, 0) for now, before in zip(left, self.left, strict=True))
        return None if short else left

    def held(self, stay: Stay) -> tuple[int, ...]:
        """The positions at which its bytes are taken."""
        if stay not in self.known:
            self.known[stay] = tuple(self._held(stay))
        return self.known[stay]

    def _held(self, stay: Stay) -> Iterator[int]:
        taken = [stay.loop]
        for issue in stay.way:
            taken += in_flight(self.root, issue, stay.need.first)
        for interval in merged(taken):
            yield from range(interval.start, interval.stop)


def keep_some(room: Room, emission: Emission, others: list[Issued], free: Mapping[str, int]) -> Weights:
    """The weights with some that stay, or as ``prefetch_greedy.early`` has them where that is as quick."""
    plain = early(room, emission, others, free)
    odds = odds_of(room.program)
    if not odds.iterations:
        return plain
    loops = Loops(room, emission, free, odds)
    stays = loops.stays()
    if not stays:
        return plain
    listed = list(steps(emission.body))
    staying = kept(room, emission, others, without(loops, stays, listed, free), stays)
    expectation = Expectation(loops.root, [step.cycles for step in listed], odds)

    def cycles(weights: Weights) -> float:
        return expectation.cycles(
            Load(
                d.need.direction, (d.issue, *d.again), d.due, loops.cycles_of(d.need.direction, d.need.bytes)
            )
            for d in sorted([*others, *weights[0]], key=queue_order)
        )

    return min(plain, staying, key=cycles)


def without(
    loops: Loops, stays: Sequence[Stay], listed: Sequence[Step], free: Mapping[str, int]
) -> dict[str, int]:
    """What is ``free`` at each op beside ``stays``."""
    taken = [0] * len(listed)
    for stay in stays:
        for position in loops.held(stay):
            taken[position] += stay.need.bytes
    left = dict(free)
    for step in listed:
        left[step.op] = min(left[step.op], free[step.op] - taken[step.position])
    return left


def kept(
    room: Room, emission: Emission, others: list[Issued], free: Mapping[str, int], stays: Sequence[Stay]
) -> Weights:
    """``early``, but that ``stays`` stay; ``free`` is what they leave."""
    staying = {stay.need.buffer for stay in stays}
    rest = replace(emission, needs=[need for need in emission.needs if need.buffer not in staying])
    issued, buffers = early(room, rest, others, free)
    for need, way, loop in ((stay.need, stay.way, stay.loop) for stay in stays):
        issued.append(Issued(need, need.buffer, way[0], need.first, way[1:]))
        buffers[need.buffer] = BufferSpec(need.buffer, need.bytes, loop, "weights")
    return issued, buffers


KEEPING = field(keep_some)
POLICY = replace(
    sync.POLICY,
    name=NAME,
    title="prefetch-greedy; of a loop's weights the best stay for all iterations",
    source=SOURCE,
    rivals=(sync.POLICY, ping_pong_across.POLICY, weight_pipeline.POLICY, KEEPING),
)
