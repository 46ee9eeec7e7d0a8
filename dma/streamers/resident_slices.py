"""Which slices of a loop's weights stay for all of its iterations, for ``exact``.

The joint decision says how much of each op's weights should (``Residency.staying``): it has made room for
that, and others stream through what is left. Slices come whole, though, and loads in an order; so some sets
of slices are tried by forecast, and a small number of slices in every combination.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from math import ceil

from chipmodel.model.program import ops
from chipmodel.model.schedule import BufferSpec, steps
from chipmodel.passes.liveness import scopes
from dma.schedule.expected_forecast import Expectation, Load, Odds
from dma.schedule.policy import Issued, Room, queue_order
from dma.schedule.steps import Emission, Need
from dma.streamers.next_iteration import Ahead, NextIterationLoads, taken_by
from dma.streamers.ping_pong_across import odds_of
from dma.streamers.resident_knapsack import Loops, Stay, Weights

MOST_STEPS = 4_000
"""Steps of all the schedules that are forecast, together."""
MOST_TRIED = 64
"""Sets of slices that are forecast; what is never more than a handful of slices, in every combination."""

FEW = 5
"""The best of them, for each of which it is tried what to load ahead."""
ALL = 0.99
"""Of which so much of the weights is to stay, all are."""

Chosen = frozenset[int]
Issue = Callable[[frozenset[int], Mapping[str, int], bool], list[Issued]]
"""Every decision but those about the needs of these ids, with so many bytes at each op for weights; True for
one that only a forecast will see."""


def held(room: Room) -> dict[str, int]:
    """Bytes that are to be taken at each op by weights that stay, its own included."""
    body, shares = list(ops(room.program.body)), room.residency.staying
    loops = scopes(room.program.body).loops if shares else ()
    taken = [0.0] * len(body)
    for at, op in enumerate(body):
        outermost = [loop for loop in loops if at in loop][-1:]
        for position in range(outermost[0].start, outermost[0].stop) if outermost else ():
            taken[position] += room.program.block_bytes(op) * shares.get(op.name, 0.0)
    return {op.name: ceil(size) for op, size in zip(body, taken, strict=True)}


def decide_stays(
    room: Room, emission: Emission, free: Mapping[str, int], issue: Issue, nodes: int
) -> Weights:
    """The quickest of the decisions that ``issue`` makes beside different sets of slices that stay for their
    loop, and loads for a loop's next iteration. ``free`` bytes are there for weights at each op, and
    ``issue`` searches so many ``nodes``; with none only the sets that suggest themselves are tried."""
    odds = odds_of(room.program)
    if not odds.iterations:
        return issue(frozenset(), free, False), {}
    return decided_alike(_Choice(room, emission, free, issue, odds, nodes))


class _Choice:
    """One that has as much room for the same steps and loads as another one decides alike."""

    def __init__(
        self,
        room: Room,
        emission: Emission,
        free: Mapping[str, int],
        issue: Issue,
        odds: Odds,
        nodes: int,
    ) -> None:
        self.room, self.emission, self.free, self.issue = room, emission, free, issue
        self.loops = Loops(room, emission, free, odds)
        self.stays = self.loops.every()
        self.steps = list(steps(emission.body))
        self.most = min(MOST_TRIED, MOST_STEPS // len(self.steps)) if nodes else 0
        computes = [step.cycles for step in self.steps]
        self.expectation = Expectation(self.loops.root, computes, odds)
        loads = tuple(sorted(issue(frozenset(), free, True), key=queue_order))
        asked = tuple(_as_asked(room, self.stays))
        program, chip = id(room.program), id(room.chip)
        self.key = (program, chip, nodes, loads, tuple(free.items()), tuple(computes), asked)

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Choice) and self.key == other.key

    def decided(self) -> Weights:
        in_order = sorted(range(len(self.stays)), key=lambda n: self.stays[n].need.first)
        dearest = sorted(in_order, key=lambda n: -self._worth(self.stays[n].need))
        asked = _as_asked(self.room, self.stays)
        offered = [_filled(order, self.fits) for order in (asked, in_order, dearest)]
        first = self.aheads(frozenset())
        sets = best_sets(
            len(self.stays), self.fits, lambda chosen: self.cycles(chosen, first), offered, self.most
        )
        ways = [(chosen, self.aheads(chosen)) for chosen in (sets if self.most else sets[:1])]
        best, aheads = min(ways, key=lambda way: self.cycles(*way))
        kept = (self.stays[number] for number in best)
        buffers = {s.need.buffer: BufferSpec(s.need.buffer, s.need.bytes, s.loop, "weights") for s in kept}
        return self.decisions(best, aheads, quickly=False), buffers

    def fits(self, chosen: Chosen, aheads: Sequence[Ahead] = ()) -> bool:
        return self.loops.beside((self.stays[n] for n in chosen), taken_by(aheads)) is not None

    def cycles(self, chosen: Chosen, aheads: Sequence[Ahead] = ()) -> float:
        """Forecast; of ``aheads`` without those that stay, or that find no room then."""
        moves = sorted(self.decisions(chosen, self._beside(chosen, aheads), quickly=True), key=queue_order)
        return self.expectation.cycles(
            Load(
                d.need.direction,
                (d.issue, *d.again),
                d.due,
                self.loops.cycles_of(d.need.direction, d.need.bytes),
            )
            for d in moves
        )

    def decisions(self, chosen: Chosen, aheads: Sequence[Ahead], quickly: bool) -> list[Issued]:
        some = [self.stays[number] for number in sorted(chosen)]
        decided = [(s.need, s.way) for s in some] + [(a.need, a.way) for a in aheads]
        others = self.issue(frozenset(id(n) for n, _ in decided), self._left(some, aheads), quickly)
        return [*others, *(Issued(need, need.buffer, way[0], need.first, way[1:]) for need, way in decided)]

    def aheads(self, chosen: Chosen) -> list[Ahead]:
        """One load after the other for the next iteration, where that is forecast to be quicker."""
        found: list[Ahead] = []
        cycles = self.cycles(chosen)
        staying = frozenset(self.stays[number].need.buffer for number in chosen)
        for ways in NextIterationLoads(self.room, self.emission, self.loops).choices(staying):
            tried = [[*found, ahead] for ahead in ways if self.fits(chosen, [*found, ahead])]
            weighed = [(self.cycles(chosen, some), number) for number, some in enumerate(tried)]
            least, number = min(weighed, default=(cycles, 0))
            if least < cycles * (1 - 1e-9):
                cycles, found = least, tried[number]
        return found

    def _beside(self, chosen: Chosen, aheads: Sequence[Ahead]) -> list[Ahead]:
        staying = {self.stays[number].need.buffer for number in chosen}
        found: list[Ahead] = []
        for ahead in aheads:
            if ahead.need.buffer not in staying and self.fits(chosen, [*found, ahead]):
                found.append(ahead)
        return found

    def _left(self, stays: Sequence[Stay], aheads: Sequence[Ahead]) -> dict[str, int]:
        """What is free at each op beside what stays and what is loaded ahead."""
        taken = Counter(taken_by(aheads))
        for ahead in aheads:
            if ahead.need.kind == "weights":
                taken.update(dict.fromkeys(range(ahead.need.first, ahead.need.last + 1), ahead.bytes))
        for stay in stays:
            taken.update(dict.fromkeys(self.loops.held(stay), stay.need.bytes))
        left = dict(self.free)
        for step in self.steps:
            left[step.op] = min(left[step.op], self.free[step.op] - taken[step.position])
        return left

    def _worth(self, need: Need) -> float:
        """DMA cycles for each byte that stays."""
        return self.loops.cycles_of("load", need.bytes) * self.loops.runs[need.first] / need.bytes


@lru_cache(maxsize=64)
def decided_alike(choice: _Choice) -> Weights:
    """What ``choice`` decides, once for all that are alike: many ways to cut come to the same."""
    return choice.decided()


def _as_asked(room: Room, stays: Sequence[Stay]) -> list[int]:
    """The first slices of each op up to what should stay of its weights, rounded to the nearest."""
    program, shares = room.program, room.residency.staying
    left = {op.name: program.block_bytes(op) * shares.get(op.name, 0.0) for op in ops(program.body)}
    wanted: list[int] = []
    for number, stay in enumerate(stays):
        if 2 * left[stay.need.op] >= stay.need.bytes:
            wanted.append(number)
        left[stay.need.op] -= stay.need.bytes
    return wanted


def _filled(order: Sequence[int], fits: Callable[[Chosen], bool]) -> Chosen:
    """Of ``order`` whatever there is room for, the first ones first."""
    chosen: Chosen = frozenset()
    for number in order:
        if fits(chosen | {number}):
            chosen |= {number}
    return chosen


def best_sets(
    count: int,
    fits: Callable[[Chosen], bool],
    cycles: Callable[[Chosen], float],
    offered: Sequence[Chosen] = (),
    most: int = MOST_TRIED,
) -> list[Chosen]:
    """Of the sets of numbers below ``count`` that fit a few with the least ``cycles``, the best one first: of
    all of them where those are no more than ``most``, and else of what single changes of the best of
    ``offered`` lead to.

    All numbers together are never left for less where they fit: whatever stays need not be loaded again.
    """
    everything = frozenset(range(count))
    known: dict[Chosen, float] = {}

    def weigh(chosen: Chosen) -> float:
        if chosen not in known:
            known[chosen] = cycles(chosen)
        return known[chosen]

    none: Chosen = frozenset()
    if fits(everything):
        return [min(everything, none, key=weigh)]
    if count <= most.bit_length() - 1:
        every = (frozenset(n for n in range(count) if bits >> n & 1) for bits in range(1 << count))
        return sorted((chosen for chosen in every if fits(chosen)), key=weigh)[:FEW]
    best: Chosen | None = min((none, *offered), key=weigh)
    while best is not None and len(known) < most:
        best = _better(best, count, fits, weigh, lambda: len(known) >= most)
    return sorted(known, key=weigh)[:FEW]


def _better(
    best: Chosen,
    count: int,
    fits: Callable[[Chosen], bool],
    weigh: Callable[[Chosen], float],
    tired: Callable[[], bool],
) -> Chosen | None:
    """The first change by one number, or by one for another, that lowers the cycles."""
    others = [number for number in range(count) if number not in best]
    added = [best | {number} for number in others]
    swapped = [best - {old} | {new} for old in sorted(best) for new in others]
    for chosen in (*added, *(best - {old} for old in sorted(best)), *swapped):
        if tired():
            return None
        if fits(chosen) and weigh(chosen) < weigh(best) * (1 - 1e-9):
            return chosen
    return None
