"""When the weight slices of a straight stretch are loaded: positions for ``weight-pipeline``.

Slices are loaded in the order in which they are needed. First as early as memory allows: then no step of
a stretch that moves nothing else could start earlier. From that run, each load is put off to the last
position from which it still arrives when it did, or ``jitter`` before it is waited for: then no slice of
such a stretch could take the memory for less long, nor all of them a smaller region, without a step that
starts later. Both are linear in steps and transfers, but for sorting.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

from dma.schedule.forecast import Forecast, Move, forecast


class Slice(NamedTuple):
    """Weights of ``bytes`` that the steps ``first`` to ``last`` read; their load takes ``cycles``."""

    bytes: int
    first: int
    last: int
    cycles: int


@dataclass(frozen=True, slots=True)
class Stretch:
    """Steps ``first``, ``first + 1`` ... of ``computes`` cycles. ``room`` is what each leaves for weights, in
    bytes; a slice takes it where it is read whatever that says. ``fixed`` moves are decided already and
    go before weights of the same positions."""

    first: int
    computes: Sequence[int]
    room: Sequence[int]
    slices: Sequence[Slice]
    fixed: Sequence[Move]


def issue_positions(stretch: Stretch, jitter: int = 0) -> list[int]:
    """The position at which each slice's load is issued; nowhere after the slice's first reader."""
    positions, run = _leading(stretch)
    return _put_off(stretch, jitter, positions, run)


def run_of(stretch: Stretch, positions: Sequence[int]) -> Forecast:
    """The run with the loads issued at ``positions``. Its moves are the fixed ones, then the slices."""
    loads = zip(stretch.slices, positions, strict=True)
    moves = [*stretch.fixed, *(Move("load", p, s.first, s.cycles) for s, p in loads)]
    order = sorted(range(len(moves)), key=lambda i: (moves[i].issue, moves[i].due, moves[i].direction))
    run = forecast(stretch.first, stretch.computes, [moves[i] for i in order])
    reached, ends = [0] * len(moves), [0] * len(moves)
    for place, index in enumerate(order):
        reached[index], ends[index] = run.reached[place], run.ends[place]
    return Forecast(run.ready, run.starts, tuple(reached), tuple(ends), run.end)


def earliest(stretch: Stretch, ahead: int) -> list[int]:
    """The first positions at which the slices fit into the room at hand, each at most ``ahead`` slices
    before the slice that is needed."""
    loaded = list(accumulate((s.bytes for s in stretch.slices), initial=0))
    gone = _gone(stretch)
    full: list[tuple[int, int]] = []
    """Steps, and up to how many bytes of the stretch's weights may have been loaded by then: from below
    both grow, because a later step with less hides an earlier one with more."""
    seen, position = stretch.first, stretch.first
    result: list[int] = []
    for index, each in enumerate(stretch.slices):
        for step in range(seen, each.first):
            limit = stretch.room[step - stretch.first] + loaded[gone[step - stretch.first]]
            while full and full[-1][1] >= limit:
                full.pop()
            full.append((step, limit))
        seen = max(seen, each.first)
        blocking = bisect_left(full, loaded[index + 1], key=lambda entry: entry[1])
        position = max(position, full[blocking - 1][0] + 1 if blocking else stretch.first)
        if index >= ahead:
            position = max(position, stretch.slices[index - ahead].first)
        result.append(position)
    return result


def _gone(stretch: Stretch) -> list[int]:
    """Before each step, how many slices nobody reads any more."""
    result: list[int] = []
    index = 0
    for step in range(stretch.first, stretch.first + len(stretch.computes)):
        while index < len(stretch.slices) and stretch.slices[index].last < step:
            index += 1
        result.append(index)
    return result


def _leading(stretch: Stretch) -> tuple[list[int], Forecast]:
    """The quickest of a few runs that load ahead more and more. Only where other transfers wait behind
    the weights can less be quicker."""
    count = len(stretch.slices)
    most = best = earliest(stretch, count)
    run = run_of(stretch, most)
    ahead = 1
    while stretch.fixed and ahead < count:
        positions = earliest(stretch, ahead)
        if positions == most:
            break
        tried = run_of(stretch, positions)
        if tried.end < run.end:
            best, run = positions, tried
        ahead *= 4
    return best, run


def _put_off(stretch: Stretch, jitter: int, positions: list[int], run: Forecast) -> list[int]:
    """Later positions with which nothing ends later than it did, or than it is waited for: with leave to let
    other transfers go before, or, where that needs more time than there is, in the order at hand."""
    queue = sorted(range(len(stretch.fixed)), key=lambda i: _place(stretch.fixed[i]))
    places = [_place(stretch.fixed[i]) for i in queue]
    before: list[int] = []
    for each, position in zip(stretch.slices, positions, strict=True):
        before.append(bisect_right(places, _place(Move("load", position, each.first, 0))))
    later = _Backwards(stretch, jitter, positions, run, queue, [len(queue)] * len(before)).positions()
    if later is None:
        later = _Backwards(stretch, jitter, positions, run, queue, before).positions()
    assert later is not None, "the positions at hand are in time themselves"
    return later


def _place(move: Move) -> tuple[int, int, int]:
    """Where the DMA engine's queue has a move: loads due at once, loads for later, stores."""
    kind = 2 if move.direction == "store" else int(move.due > move.issue)
    return move.issue, kind, move.due


class _Backwards:
    """From the last step to the first: the latest time at which the transfer at hand may begin, so that
    it and all behind it in the queue end in time."""

    def __init__(
        self,
        stretch: Stretch,
        jitter: int,
        earliest: Sequence[int],
        run: Forecast,
        queue: Sequence[int],
        most: Sequence[int],
    ) -> None:
        """``queue`` are the fixed moves in the engine's order; slice ``j`` may lie behind ``most[j]``."""
        self.stretch, self.run, self.earliest, self.most = stretch, run, earliest, most
        self.fixed = [stretch.fixed[i] for i in queue]
        self.limits = [max(run.ends[i], run.reached[i]) for i in queue]
        count = len(stretch.fixed)
        times = zip(run.ends[count:], run.reached[count:], strict=True)
        self.deadlines = [max(end, reached - jitter) for end, reached in times]
        self.free = list(accumulate(self.fixed, self.after, initial=0))
        self.awaited: dict[int, int] = {}
        for move, limit in zip(self.fixed, self.limits, strict=True):
            if move.direction == "load" and move.issue < move.due:
                self.awaited[move.due] = max(limit, self.awaited.get(move.due, 0))
        self.left = len(self.fixed)
        self.slice = len(stretch.slices) - 1
        self.latest = run.end
        self.result = [0] * len(stretch.slices)

    def positions(self) -> list[int] | None:
        """None where the memory would have to take a slice before there is room for it."""
        first = self.stretch.first
        for here in range(first + len(self.stretch.computes) - 1, first - 1, -1):
            self.pass_fixed((here, 2, 0))
            while self.left and _place(self.fixed[self.left - 1]) > (here, 1, 0):
                self.put_later(here, self.fixed[self.left - 1].due)
                self.pass_one()
            self.put_later(here, here + 1)
            if self.slice >= 0 and self.stretch.slices[self.slice].first == here:
                self.put(here, self.at_once(here))
            self.pass_fixed((here, 0, 0))
            if self.slice >= 0 and self.earliest[self.slice] >= here:
                return None
        return self.result

    def after(self, free: int, move: Move) -> int:
        """When the engine has done ``move``, if it had nothing but fixed moves to do."""
        here = move.issue - self.stretch.first
        issued = self.run.ready[here] if move.due == move.issue else self.run.starts[here]
        if move.direction == "store":
            issued = self.run.starts[here] + self.stretch.computes[here]
        return max(free, issued) + move.cycles

    def pass_fixed(self, place: tuple[int, int, int]) -> None:
        while self.left and _place(self.fixed[self.left - 1]) >= place:
            self.pass_one()

    def pass_one(self) -> None:
        self.left -= 1
        self.latest = min(self.latest, self.limits[self.left]) - self.fixed[self.left].cycles

    def at_once(self, here: int) -> int:
        """When the slice at hand would be loaded where it is issued by its first reader, ``here``: when that
        has waited for all others, which in the run at hand it may have done with this one."""
        if self.earliest[self.slice] == here:
            return self.run.ready[here - self.stretch.first]
        return max(self.run.reached[len(self.fixed) + self.slice], self.awaited.get(here, 0))

    def put_later(self, here: int, due: int) -> None:
        """Slices that are read at ``due`` or later, as many as may be issued ``here``."""
        start = self.run.starts[here - self.stretch.first]
        while self.slice >= 0 and self.stretch.slices[self.slice].first >= due:
            if not self.put(here, start):
                return

    def put(self, here: int, issued: int) -> bool:
        """The slice at hand, if it may be issued ``here``, at the time ``issued``."""
        index = self.slice
        begin = min(self.latest, self.deadlines[index]) - self.stretch.slices[index].cycles
        if self.left > self.most[index] or begin < max(issued, self.free[self.left]):
            return False
        self.result[index] = here
        self.latest = begin
        self.slice -= 1
        return True
