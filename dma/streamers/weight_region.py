"""When the weight slices of a straight chain of steps are loaded: positions for ``weight-pipeline``.

Slices are loaded in the order in which they are needed. First as early as memory allows: if the chain has no
other transfers, no step could then start earlier. From there, each load is put off to the last position from
which it still arrives at the same time, or ``jitter`` before it is waited for: if the chain has no other
transfers, no slice could then take memory for a shorter time, nor all of them a smaller region, without a
step that starts later. Both passes are linear in steps and transfers, except for sorting.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

from chipmodel.geometry.interval import Interval
from chipmodel.records import dataclass
from dma.schedule.forecast import ChainForecast, ChainTransfer, forecast


class WeightSlice(NamedTuple):
    """Weights of ``bytes`` that the steps ``first`` to ``last`` read; their load takes ``cycles``."""

    bytes: int
    first: int
    last: int
    cycles: int


@dataclass(frozen=True, slots=True)
class StepChain:
    """Steps ``first``, ``first + 1`` ... of ``computes`` cycles, without a loop between them.

    ``room`` are the bytes that each step leaves for weights; a slice may exceed them at the steps that read
    it. ``fixed`` transfers are decided already and go before weights of the same positions. Steps of ``arms``
    load nothing that is read outside of them, as a run may take another arm.
    """

    first: int
    computes: tuple[int, ...]
    room: tuple[int, ...]
    slices: tuple[WeightSlice, ...]
    fixed: tuple[ChainTransfer, ...]
    arms: tuple[Interval, ...] = ()
    """Inner ones before those around them."""

    def ends(self) -> list[int]:
        """For each step the one before which whatever it loads is read."""
        count = len(self.computes)
        found = [self.first + count] * count
        for arm in reversed(self.arms):
            found[arm.start - self.first : arm.stop - self.first] = [arm.stop] * len(arm)
        return found


def issue_positions(chain: StepChain, jitter: int = 0) -> list[int]:
    """Return the position at which each slice's load is issued, at the latest at the slice's first reader."""
    positions = earliest(chain)
    return _put_off(chain, jitter, positions, forecast_of(chain, positions))


def put_off(chain: StepChain, positions: Sequence[int]) -> list[int]:
    """Return the last positions at which loads may be issued so that nothing ends later than with these."""
    return _put_off(chain, 0, [*positions], forecast_of(chain, positions))


def forecast_of(chain: StepChain, positions: Sequence[int]) -> ChainForecast:
    """Return the forecast with loads issued at ``positions``: the fixed transfers, then the slices."""
    loads = zip(chain.slices, positions, strict=True)
    transfers = [*chain.fixed, *(ChainTransfer("load", p, s.first, s.cycles) for s, p in loads)]
    order = sorted(
        range(len(transfers)), key=lambda i: (transfers[i].issue, transfers[i].due, transfers[i].direction)
    )
    timing = forecast(chain.first, chain.computes, [transfers[i] for i in order])
    reached, ends = [0] * len(transfers), [0] * len(transfers)
    for place, index in enumerate(order):
        reached[index], ends[index] = timing.reached[place], timing.ends[place]
    return ChainForecast(timing.ready, timing.starts, tuple(reached), tuple(ends), timing.end)


def earliest(chain: StepChain) -> list[int]:
    """Return the first positions at which the slices fit."""
    result: list[int] = []
    position = chain.first
    for end, full in _ends(chain):
        blocking = bisect_left(full, end, key=lambda entry: entry[1])
        position = max(position, full[blocking - 1][0] + 1 if blocking else chain.first)
        result.append(position)
    return result


def _ends(chain: StepChain) -> Iterator[tuple[int, list[tuple[int, int]]]]:
    """For each slice the bytes of weights loaded with it, since the start, and what blocks them: pairs of a
    step and the bytes that may have been loaded by then. Both grow along the list, because a later step with
    fewer bytes makes an earlier one with more irrelevant."""
    loaded = list(accumulate((s.bytes for s in chain.slices), initial=0))
    gone = _used_up(chain)
    full: list[tuple[int, int]] = []
    seen = chain.first
    for index, each in enumerate(chain.slices):
        for step in range(seen, each.first):
            limit = chain.room[step - chain.first] + loaded[gone[step - chain.first]]
            while full and full[-1][1] >= limit:
                full.pop()
            full.append((step, limit))
        seen = max(seen, each.first)
        yield loaded[index + 1], full


def _used_up(chain: StepChain) -> list[int]:
    """Before each step, how many slices have had their last reader."""
    result: list[int] = []
    index = 0
    for step in range(chain.first, chain.first + len(chain.computes)):
        while index < len(chain.slices) and chain.slices[index].last < step:
            index += 1
        result.append(index)
    return result


def _put_off(chain: StepChain, jitter: int, positions: list[int], timing: ChainForecast) -> list[int]:
    """Later positions with which nothing ends later than before, or than it is waited for: if possible with
    other transfers issued before the loads, otherwise in the present order."""
    queue = sorted(range(len(chain.fixed)), key=lambda i: _queue_place(chain.fixed[i]))
    places = [_queue_place(chain.fixed[i]) for i in queue]
    before: list[int] = []
    for each, position in zip(chain.slices, positions, strict=True):
        before.append(bisect_right(places, _queue_place(ChainTransfer("load", position, each.first, 0))))
    later = _LatestPositions(chain, jitter, positions, timing, queue, [len(queue)] * len(before)).positions()
    if later is None:
        later = _LatestPositions(chain, jitter, positions, timing, queue, before).positions()
    assert later is not None, "the given positions are in time themselves"
    return later


def _queue_place(move: ChainTransfer) -> tuple[int, int, int]:
    """The place of a transfer in the DMA engine's queue: loads due at once, loads for later, stores."""
    kind = 2 if move.direction == "store" else int(move.due > move.issue)
    return move.issue, kind, move.due


class _LatestPositions:
    """A pass from the last step to the first, which finds the latest time at which each transfer may begin so
    that it and all after it in the queue end in time."""

    def __init__(
        self,
        chain: StepChain,
        jitter: int,
        earliest: Sequence[int],
        timing: ChainForecast,
        queue: Sequence[int],
        most: Sequence[int],
    ) -> None:
        """``queue``: fixed transfers in the engine's order; slice ``j`` may follow the first ``most[j]``."""
        self.chain, self.timing, self.earliest, self.most = chain, timing, earliest, most
        self.fixed = [chain.fixed[i] for i in queue]
        self.limits = [max(timing.ends[i], timing.reached[i]) for i in queue]
        count = len(chain.fixed)
        times = zip(timing.ends[count:], timing.reached[count:], strict=True)
        self.deadlines = [max(end, reached - jitter) for end, reached in times]
        self.free = list(accumulate(self.fixed, self.after, initial=0))
        self.ends = chain.ends()
        self.awaited: dict[int, int] = {}
        for move, limit in zip(self.fixed, self.limits, strict=True):
            if move.direction == "load" and move.issue < move.due:
                self.awaited[move.due] = max(limit, self.awaited.get(move.due, 0))
        self.left = len(self.fixed)
        self.slice = len(chain.slices) - 1
        self.latest = timing.end
        self.result = [0] * len(chain.slices)

    def positions(self) -> list[int] | None:
        """The latest positions; None where a slice would have to be loaded before there is room for it."""
        first = self.chain.first
        for here in range(first + len(self.chain.computes) - 1, first - 1, -1):
            self.pass_fixed((here, 2, 0))
            while self.left and _queue_place(self.fixed[self.left - 1]) > (here, 1, 0):
                self.put_later(here, self.fixed[self.left - 1].due)
                self.pass_one()
            self.put_later(here, here + 1)
            while self.slice >= 0 and self.chain.slices[self.slice].first == here:
                if not self.put(here, self.at_once(here)):
                    break
            self.pass_fixed((here, 0, 0))
            if self.slice >= 0 and self.earliest[self.slice] >= here:
                return None
        return self.result

    def after(self, free: int, move: ChainTransfer) -> int:
        """When the engine has done ``move``, if it had only fixed transfers to do."""
        here = move.issue - self.chain.first
        issued = self.timing.ready[here] if move.due == move.issue else self.timing.starts[here]
        if move.direction == "store":
            issued = self.timing.starts[here] + self.chain.computes[here]
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
            return self.timing.ready[here - self.chain.first]
        return max(self.timing.reached[len(self.fixed) + self.slice], self.awaited.get(here, 0))

    def put_later(self, here: int, due: int) -> None:
        """Issue ``here`` as many slices as possible that are first read at ``due`` or later."""
        start = self.timing.starts[here - self.chain.first]
        while self.slice >= 0 and self.chain.slices[self.slice].first >= due:
            if not self.put(here, start):
                return

    def put(self, here: int, issued: int) -> bool:
        """Issue the current slice ``here``, at the time ``issued``, and return whether that is in time."""
        index = self.slice
        begin = min(self.latest, self.deadlines[index]) - self.chain.slices[index].cycles
        if self.chain.slices[index].first >= self.ends[here - self.chain.first]:
            return False
        if self.left > self.most[index] or begin < max(issued, self.free[self.left]):
            return False
        self.result[index] = here
        self.latest = begin
        self.slice -= 1
        return True
