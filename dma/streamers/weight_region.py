"""When the weight slices of a straight run of steps are loaded: positions for ``weight-pipeline``.

Slices are loaded in the order in which they are needed. First as early as memory allows: if the run has no
other transfers, no step could then start earlier. From there, each load is put off to the last position from
which it still arrives at the same time, or ``jitter`` before it is waited for: if the run has no other
transfers, no slice could then take memory for a shorter time, nor all of them a smaller region, without a
step that starts later. Both passes are linear in steps and transfers, except for sorting.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

from dma.schedule.forecast import RunForecast, RunTransfer, forecast


class WeightSlice(NamedTuple):
    """Weights of ``bytes`` that the steps ``first`` to ``last`` read; their load takes ``cycles``."""

    bytes: int
    first: int
    last: int
    cycles: int


@dataclass(frozen=True, slots=True)
class StraightRun:
    """Steps ``first``, ``first + 1`` ... of ``computes`` cycles, without a branch or loop between them.

    ``room`` are the bytes that each step leaves for weights; a slice may exceed them at the steps that read
    it. ``fixed`` transfers are decided already and go before weights of the same positions.
    """

    first: int
    computes: tuple[int, ...]
    room: tuple[int, ...]
    slices: tuple[WeightSlice, ...]
    fixed: tuple[RunTransfer, ...]


def issue_positions(run: StraightRun, jitter: int = 0) -> list[int]:
    """The position at which each slice's load is issued, at the latest at the slice's first reader."""
    positions, timing = _fastest(run)
    return _put_off(run, jitter, positions, timing)


def forecast_of(run: StraightRun, positions: Sequence[int]) -> RunForecast:
    """The forecast with the loads issued at ``positions``. Its transfers are the fixed ones, then the
    slices."""
    loads = zip(run.slices, positions, strict=True)
    transfers = [*run.fixed, *(RunTransfer("load", p, s.first, s.cycles) for s, p in loads)]
    order = sorted(
        range(len(transfers)), key=lambda i: (transfers[i].issue, transfers[i].due, transfers[i].direction)
    )
    timing = forecast(run.first, run.computes, [transfers[i] for i in order])
    reached, ends = [0] * len(transfers), [0] * len(transfers)
    for place, index in enumerate(order):
        reached[index], ends[index] = timing.reached[place], timing.ends[place]
    return RunForecast(timing.ready, timing.starts, tuple(reached), tuple(ends), timing.end)


def earliest(run: StraightRun, ahead: int) -> list[int]:
    """The first positions at which the slices fit, each at most ``ahead`` slices before it is needed."""
    loaded = list(accumulate((s.bytes for s in run.slices), initial=0))
    gone = _used_up(run)
    full: list[tuple[int, int]] = []
    """Pairs of a step and the bytes of weights that may have been loaded by then, since the start. Both grow
    along the list, because a later step with fewer bytes makes an earlier one with more irrelevant."""
    seen, position = run.first, run.first
    result: list[int] = []
    for index, each in enumerate(run.slices):
        for step in range(seen, each.first):
            limit = run.room[step - run.first] + loaded[gone[step - run.first]]
            while full and full[-1][1] >= limit:
                full.pop()
            full.append((step, limit))
        seen = max(seen, each.first)
        blocking = bisect_left(full, loaded[index + 1], key=lambda entry: entry[1])
        position = max(position, full[blocking - 1][0] + 1 if blocking else run.first)
        if index >= ahead:
            position = max(position, run.slices[index - ahead].first)
        result.append(position)
    return result


def _used_up(run: StraightRun) -> list[int]:
    """Before each step, how many slices have had their last reader."""
    result: list[int] = []
    index = 0
    for step in range(run.first, run.first + len(run.computes)):
        while index < len(run.slices) and run.slices[index].last < step:
            index += 1
        result.append(index)
    return result


def _fastest(run: StraightRun) -> tuple[list[int], RunForecast]:
    """The fastest of several forecasts that load further and further ahead. Loading less far ahead can be
    faster only where other transfers wait for the weights."""
    count = len(run.slices)
    most = best = earliest(run, count)
    timing = forecast_of(run, most)
    ahead = 1
    while run.fixed and ahead < count:
        positions = earliest(run, ahead)
        if positions == most:
            break
        tried = forecast_of(run, positions)
        if tried.end < timing.end:
            best, timing = positions, tried
        ahead *= 4
    return best, timing


def _put_off(run: StraightRun, jitter: int, positions: list[int], timing: RunForecast) -> list[int]:
    """Later positions with which nothing ends later than before, or than it is waited for: if possible with
    other transfers issued before the loads, otherwise in the present order."""
    queue = sorted(range(len(run.fixed)), key=lambda i: _queue_place(run.fixed[i]))
    places = [_queue_place(run.fixed[i]) for i in queue]
    before: list[int] = []
    for each, position in zip(run.slices, positions, strict=True):
        before.append(bisect_right(places, _queue_place(RunTransfer("load", position, each.first, 0))))
    later = _LatestPositions(run, jitter, positions, timing, queue, [len(queue)] * len(before)).positions()
    if later is None:
        later = _LatestPositions(run, jitter, positions, timing, queue, before).positions()
    assert later is not None, "the given positions are in time themselves"
    return later


def _queue_place(move: RunTransfer) -> tuple[int, int, int]:
    """The place of a transfer in the DMA engine's queue: loads due at once, loads for later, stores."""
    kind = 2 if move.direction == "store" else int(move.due > move.issue)
    return move.issue, kind, move.due


class _LatestPositions:
    """A pass from the last step to the first, which finds the latest time at which each transfer may begin so
    that it and all after it in the queue end in time."""

    def __init__(
        self,
        run: StraightRun,
        jitter: int,
        earliest: Sequence[int],
        timing: RunForecast,
        queue: Sequence[int],
        most: Sequence[int],
    ) -> None:
        """``queue`` are the fixed transfers in the engine's order; slice ``j`` may come after the first
        ``most[j]`` of them."""
        self.run, self.timing, self.earliest, self.most = run, timing, earliest, most
        self.fixed = [run.fixed[i] for i in queue]
        self.limits = [max(timing.ends[i], timing.reached[i]) for i in queue]
        count = len(run.fixed)
        times = zip(timing.ends[count:], timing.reached[count:], strict=True)
        self.deadlines = [max(end, reached - jitter) for end, reached in times]
        self.free = list(accumulate(self.fixed, self.after, initial=0))
        self.awaited: dict[int, int] = {}
        for move, limit in zip(self.fixed, self.limits, strict=True):
            if move.direction == "load" and move.issue < move.due:
                self.awaited[move.due] = max(limit, self.awaited.get(move.due, 0))
        self.left = len(self.fixed)
        self.slice = len(run.slices) - 1
        self.latest = timing.end
        self.result = [0] * len(run.slices)

    def positions(self) -> list[int] | None:
        """The latest positions; None where a slice would have to be loaded before there is room for it."""
        first = self.run.first
        for here in range(first + len(self.run.computes) - 1, first - 1, -1):
            self.pass_fixed((here, 2, 0))
            while self.left and _queue_place(self.fixed[self.left - 1]) > (here, 1, 0):
                self.put_later(here, self.fixed[self.left - 1].due)
                self.pass_one()
            self.put_later(here, here + 1)
            if self.slice >= 0 and self.run.slices[self.slice].first == here:
                self.put(here, self.at_once(here))
            self.pass_fixed((here, 0, 0))
            if self.slice >= 0 and self.earliest[self.slice] >= here:
                return None
        return self.result

    def after(self, free: int, move: RunTransfer) -> int:
        """When the engine has done ``move``, if it had only fixed transfers to do."""
        here = move.issue - self.run.first
        issued = self.timing.ready[here] if move.due == move.issue else self.timing.starts[here]
        if move.direction == "store":
            issued = self.timing.starts[here] + self.run.computes[here]
        return max(free, issued) + move.cycles

    def pass_fixed(self, place: tuple[int, int, int]) -> None:
        while self.left and _queue_place(self.fixed[self.left - 1]) >= place:
            self.pass_one()

    def pass_one(self) -> None:
        self.left -= 1
        self.latest = min(self.latest, self.limits[self.left]) - self.fixed[self.left].cycles

    def at_once(self, here: int) -> int:
        """When the load of the current slice would begin if its first reader, ``here``, issued it: once that
        has waited for all others, with which in the given forecast it may have waited for this one too."""
        if self.earliest[self.slice] == here:
            return self.timing.ready[here - self.run.first]
        return max(self.timing.reached[len(self.fixed) + self.slice], self.awaited.get(here, 0))

    def put_later(self, here: int, due: int) -> None:
        """Issue ``here`` as many slices as possible that are first read at ``due`` or later."""
        start = self.timing.starts[here - self.run.first]
        while self.slice >= 0 and self.run.slices[self.slice].first >= due:
            if not self.put(here, start):
                return

    def put(self, here: int, issued: int) -> bool:
        """Issue the current slice ``here``, at the time ``issued``, and return whether that is in time."""
        index = self.slice
        begin = min(self.latest, self.deadlines[index]) - self.run.slices[index].cycles
        if self.left > self.most[index] or begin < max(issued, self.free[self.left]):
            return False
        self.result[index] = here
        self.latest = begin
        self.slice -= 1
        return True
