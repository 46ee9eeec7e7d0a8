"""Where the first weights of a Region may be asked for before the Region begins.

A *way in* is a set of positions of which every path that comes to the Region passes exactly one, behind
what it did with the Region's buffers before: the step of the last weights in front of the border (where
Algorithm 3 of S2 would issue the next ones), such a step in every arm of an ``if`` in front, or a step in
front of a branch or loop that is passed over. For a loop's body it is two such sets, one in front of the
loop and one at the end of the body, for the iteration that follows.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from chipmodel.model.interval import Interval
from chipmodel.model.nesting import Fork, Section

Way = tuple[int, ...]
"""Positions that issue a load."""
Item = Interval | Fork
"""A straight stretch, or a branch or loop with steps in it."""
MOST_WAYS = 3
"""Ways in that are looked at for one border."""


@dataclass(frozen=True, slots=True)
class Frame:
    """A section is an arm of ``items[index]``, or its body where that is a loop."""

    items: Sequence[Item]
    index: int
    likely: bool = True
    """Whether no other arm with weights is likelier."""

    @property
    def fork(self) -> Fork:
        """The branch or loop."""
        found = self.items[self.index]
        assert isinstance(found, Fork)
        return found


@dataclass(frozen=True, slots=True)
class Border:
    """The Region ``extent`` reads weights at ``first``; they may be issued in any of ``ways``."""

    extent: Interval
    first: int
    ways: tuple[Way, ...]


class Borders:
    """``firsts`` are the positions at which weights are first read, each once, ascending."""

    def __init__(self, root: Section, firsts: Sequence[int], odds: Mapping[str, Sequence[float]]) -> None:
        self.root = root
        self.firsts = firsts
        self.odds = odds

    def regions(self) -> Iterator[Border]:
        """Every Region that reads weights, in order."""
        yield from self._regions(self.root, ())

    def loops(self) -> Iterator[tuple[Fork, tuple[Way, ...]]]:
        """Every loop, outer ones before inner ones, with the ways to issue what is loaded once for it."""
        yield from self._loops(self.root, ())

    def _regions(self, section: Section, frames: tuple[Frame, ...]) -> Iterator[Border]:
        listed = items(section)
        for index, item in enumerate(listed):
            if isinstance(item, Fork):
                likeliest = self._likeliest(item)
                for number, arm in enumerate(item.arms):
                    frame = Frame(listed, index, item.repeats or number == likeliest)
                    yield from self._regions(arm, (*frames, frame))
                continue
            first = self._first(item)
            if first is None:
                continue
            ways = self._into(listed, index, frames)
            if item.start < first:
                ways.append((item.start,))
            yield Border(item, first, tuple(way for way in ways if first not in way))

    def _loops(self, section: Section, frames: tuple[Frame, ...]) -> Iterator[tuple[Fork, tuple[Way, ...]]]:
        listed = items(section)
        for index, item in enumerate(listed):
            if isinstance(item, Fork):
                if item.repeats:
                    yield item, tuple(self._before(listed, index, frames))
                for arm in item.arms:
                    yield from self._loops(arm, (*frames, Frame(listed, index)))

    def _likeliest(self, fork: Fork) -> int | None:
        """The number of the likeliest arm that reads weights."""
        odds = self.odds.get(fork.name, (1.0,) * len(fork.arms))
        inside = [n for n, arm in enumerate(fork.arms) if self._first(arm.extent) is not None]
        return max(inside, key=lambda number: (odds[number], -number), default=None)

    def _into(self, listed: Sequence[Item], index: int, frames: tuple[Frame, ...]) -> list[Way]:
        """Into the stretch ``listed[index]``."""
        if index or not frames:
            return self._before(listed, index, frames)
        frame = frames[-1]
        outside = self._before(frame.items, frame.index, frames[:-1]) if frame.likely else []
        if not frame.fork.repeats:
            return outside
        again = self._before(listed, len(listed), ())
        return [(*way, *back) for way in outside[:2] for back in again[:2]][:MOST_WAYS]

    def _before(self, listed: Sequence[Item], index: int, frames: tuple[Frame, ...]) -> list[Way]:
        """In front of ``listed[index]``, the latest way first."""
        if not index:
            if not frames or frames[-1].fork.repeats or not frames[-1].likely:
                return []
            return self._before(frames[-1].items, frames[-1].index, frames[:-1])
        item = listed[index - 1]
        if not isinstance(item, Fork):
            last = self._last(item)
            if last is not None:
                return [(last,)]
            return [(item.start,), *self._before(listed, index - 1, frames)][:MOST_WAYS]
        ways: list[Way] = []
        if not item.repeats:
            ends = [self._before(inside, len(inside), ()) for inside in map(items, item.arms)]
            if all(ends):
                ways.append(tuple(position for end in ends for position in end[0]))
        return [*ways, *self._before(listed, index - 1, frames)][:MOST_WAYS]

    def _first(self, extent: Interval) -> int | None:
        at = bisect_left(self.firsts, extent.start)
        return self.firsts[at] if at < len(self.firsts) and self.firsts[at] in extent else None

    def _last(self, extent: Interval) -> int | None:
        at = bisect_left(self.firsts, extent.stop) - 1
        return self.firsts[at] if at >= 0 and self.firsts[at] in extent else None


def items(section: Section) -> list[Item]:
    """The stretches and forks of ``section`` that have steps, in order."""
    result: list[Item] = []
    at = section.extent.start
    for fork in section.forks:
        if len(fork.extent):
            result += [Interval(at, fork.extent.start)] if at < fork.extent.start else []
            result.append(fork)
            at = fork.extent.stop
    return result + ([Interval(at, section.extent.stop)] if at < section.extent.stop else [])
