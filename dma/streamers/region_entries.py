"""Positions at which the first weights of a Region may be issued before the Region begins.

A Region is a straight chain of steps (Wang et al. 2025). An *option* is a set of positions of which every
path to the Region passes exactly one, after its last use of the Region's buffers: the step of the last
weights before the border (where ping-pong would issue the next ones), a step of that kind in every arm of a
preceding ``if``, or a step before a branch or loop that is passed over. For a loop's body it is two of these
sets, one before the loop and one at the end of the body, for the next iteration."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence

from chipmodel.geometry.interval import Interval
from chipmodel.model.nesting import Fork, Section
from chipmodel.records import dataclass

IssuePositions = tuple[int, ...]
"""Positions that issue one load, each on other paths or for other iterations."""
ChainOrFork = Interval | Fork
"""A straight chain, or a branch or loop with steps in it."""
MAX_OPTIONS = 3
"""Options tried for one Region: each takes a forecast of the program."""


@dataclass(frozen=True, slots=True)
class EnclosingArm:
    """The arm or loop body that a section is: the one of the branch or loop ``items[index]``."""

    items: Sequence[ChainOrFork]
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
class RegionEntry:
    """A Region whose first weights are read at ``first``, and the options to issue them before."""

    extent: Interval
    first: int
    options: tuple[IssuePositions, ...]


class RegionEntries:
    """The entries of all Regions below ``root``.

    ``firsts`` are the positions at which weights are first read, each once, ascending; ``arm_probabilities``
    are those of each ``if``, by name.
    """

    def __init__(
        self, root: Section, firsts: Sequence[int], arm_probabilities: Mapping[str, Sequence[float]]
    ) -> None:
        self.root = root
        self.firsts = firsts
        self.arm_probabilities = arm_probabilities

    def regions(self) -> Iterator[RegionEntry]:
        """Every Region that reads weights, in order."""
        yield from self._regions(self.root, ())

    def loops(self) -> Iterator[tuple[Fork, tuple[IssuePositions, ...]]]:
        """Every loop, outer before inner ones, with the options to issue what is loaded once for it."""
        yield from self._loops(self.root, ())

    def _regions(self, section: Section, around: tuple[EnclosingArm, ...]) -> Iterator[RegionEntry]:
        listed = runs_and_forks(section)
        for index, item in enumerate(listed):
            if isinstance(item, Fork):
                likeliest = self._likeliest(item)
                for number, arm in enumerate(item.arms):
                    enclosing = EnclosingArm(listed, index, item.repeats or number == likeliest)
                    yield from self._regions(arm, (*around, enclosing))
                continue
            first = self._first(item)
            if first is None:
                continue
            options = self._options_for(listed, index, around)
            if item.start < first:
                options.append((item.start,))
            yield RegionEntry(item, first, tuple(option for option in options if first not in option))

    def _loops(
        self, section: Section, around: tuple[EnclosingArm, ...]
    ) -> Iterator[tuple[Fork, tuple[IssuePositions, ...]]]:
        listed = runs_and_forks(section)
        for index, item in enumerate(listed):
            if isinstance(item, Fork):
                if item.repeats:
                    yield item, tuple(self._before(listed, index, around))
                for arm in item.arms:
                    yield from self._loops(arm, (*around, EnclosingArm(listed, index)))

    def _likeliest(self, fork: Fork) -> int | None:
        """The number of the likeliest arm that reads weights; None if no arm does."""
        chances = self.arm_probabilities.get(fork.name, (1.0,) * len(fork.arms))
        inside = [n for n, arm in enumerate(fork.arms) if self._first(arm.extent) is not None]
        return max(inside, key=lambda number: (chances[number], -number), default=None)

    def _options_for(
        self, listed: Sequence[ChainOrFork], index: int, around: tuple[EnclosingArm, ...]
    ) -> list[IssuePositions]:
        """Options for the straight chain ``listed[index]``, if need be for two iterations."""
        if index or not around:
            return self._before(listed, index, around)
        arm = around[-1]
        outside = self._before(arm.items, arm.index, around[:-1]) if arm.likely else []
        if not arm.fork.repeats:
            return outside
        again = self._before(listed, len(listed), ())
        return [(*option, *back) for option in outside[:2] for back in again[:2]][:MAX_OPTIONS]

    def _before(
        self, listed: Sequence[ChainOrFork], index: int, around: tuple[EnclosingArm, ...]
    ) -> list[IssuePositions]:
        """Options before ``listed[index]``, the latest first."""
        if not index:
            if not around or around[-1].fork.repeats or not around[-1].likely:
                return []
            return self._before(around[-1].items, around[-1].index, around[:-1])
        item = listed[index - 1]
        if not isinstance(item, Fork):
            last = self._last(item)
            if last is not None:
                return [(last,)]
            return [(item.start,), *self._before(listed, index - 1, around)][:MAX_OPTIONS]
        options: list[IssuePositions] = []
        if not item.repeats:
            ends = [self._before(inside, len(inside), ()) for inside in map(runs_and_forks, item.arms)]
            if all(ends):
                options.append(tuple(position for end in ends for position in end[0]))
        return [*options, *self._before(listed, index - 1, around)][:MAX_OPTIONS]

    def _first(self, extent: Interval) -> int | None:
        at = bisect_left(self.firsts, extent.start)
        return self.firsts[at] if at < len(self.firsts) and self.firsts[at] in extent else None

    def _last(self, extent: Interval) -> int | None:
        at = bisect_left(self.firsts, extent.stop) - 1
        return self.firsts[at] if at >= 0 and self.firsts[at] in extent else None


def runs_and_forks(section: Section) -> list[ChainOrFork]:
    """Return the straight chains and forks of ``section`` that have steps, in order."""
    result: list[ChainOrFork] = []
    at = section.extent.start
    for fork in section.forks:
        if len(fork.extent):
            result += [Interval(at, fork.extent.start)] if at < fork.extent.start else []
            result.append(fork)
            at = fork.extent.stop
    return result + ([Interval(at, section.extent.stop)] if at < section.extent.stop else [])
